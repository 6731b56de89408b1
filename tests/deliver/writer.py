"""A process that fills an inbox, to be killed: `python -m tests.deliver.writer URL RUN BATCHES ROWS PROGRESS`.

It notes in the file PROGRESS which batches are taken, and begins with the last of these: so does a stream that crashed
before it noted its last batch. Where the database is away, it waits.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.deliver.scenes import match
from tidegate.deliver.database import Database, UnreachableError
from tidegate.deliver.inbox import Inbox

Result = TypeVar("Result")


def rows(run: str, batch: int, count: int) -> list[dict[str, Any]]:
    """What a batch brings, the same at every replay: every fourth post is one of the batch before, for others."""
    posts = [f"{run}-{batch}-{number}" if number % 4 else f"{run}-{batch - 1}-{number + 1}" for number in range(count)]
    return [match(f"reader{number % 17}", post, f"{run}{number % 3}") for number, post in enumerate(posts)]


def write(url: str, run: str, batches: int, count: int, progress: Path) -> None:
    """Add all batches."""
    known = progress.read_text().split() if progress.exists() else ["0"]
    inbox = Inbox(patient(lambda: Database.open(url)))
    for batch in range(int(known[-1]), batches):
        brought = rows(run, batch, count)
        patient(lambda brought=brought, batch=batch: inbox.add(brought, run, batch))  # type: ignore[misc]
        with progress.open("a") as file:
            file.write(f"{batch}\n")


def patient(do: Callable[[], Result]) -> Result:
    """Do something as soon as the database is there."""
    while True:
        try:
            return do()
        except UnreachableError:
            time.sleep(0.05)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
