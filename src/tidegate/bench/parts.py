"""A benchmark part by part, and a bar that shows how far it has come."""

from collections.abc import Iterator
from contextlib import nullcontext

from rich.console import Console
from rich.progress import Progress


def run_parts(parts: Iterator[str], first: str, count: int, progress: Progress | None) -> None:
    """Do the `count` parts of a benchmark, the first of which is called `first`.

    `parts` does them, and yields the name of the next before it begins. They are shown by `progress`, or by a bar of
    its own on the standard error.
    """
    with nullcontext(progress) if progress else Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(first, total=count)
        for done, part in enumerate(parts, 1):
            shown.update(task, description=part, completed=done)
