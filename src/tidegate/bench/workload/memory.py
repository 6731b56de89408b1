"""How much memory a process and all that it started take at most, watched from a thread."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Final

_EVERY_S: Final = 0.5
_KB_PER_GB: Final = 1e6
_PROC: Final = Path("/proc")
_SHARE: Final = re.compile(r"^Pss: +(\d+) kB$", re.MULTILINE)


@dataclass
class Peak:
    """The most that was seen."""

    gb: float = 0.0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch while the block runs; a page that n processes share counts as 1/n of one for each."""
    peak, over = Peak(), Event()

    def watch() -> None:
        while True:
            peak.gb = max(peak.gb, _held_kb(os.getpid()) / _KB_PER_GB)
            if over.wait(_EVERY_S):
                return

    thread = Thread(target=watch, name="memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _held_kb(process: int) -> int:
    """Return what a process and all below it hold; 0 where the system does not tell."""
    told = _SHARE.search(_content(_PROC / str(process) / "smaps_rollup"))
    tasks = (_PROC / str(process) / "task").glob("*/children")
    children = [int(child) for path in tasks for child in _content(path).split()]
    return (int(told[1]) if told else 0) + sum(_held_kb(child) for child in children)


def _content(path: Path) -> str:
    """What is in a file of the system's; nothing if the process has ended meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""
