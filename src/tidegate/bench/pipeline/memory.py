"""What the Python workers hold in memory, and how much of it is one mapping that all of them share."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidegate.bench.report import Report

_PROC: Final = Path("/proc")
_MAPPING: Final = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")
_MB: Final = 1e6


@dataclass
class Held:
    """Bytes of one process: resident, and its proportional share where pages are shared."""

    resident: int = 0
    proportional: int = 0
    mapped: int = 0
    """Resident pages of the store's files."""
    mapped_proportional: int = 0


def report_memory(report: Report, store: Path, subscriptions: int) -> None:
    """Add the memory of every Python worker below this process that has a file of the store mapped."""
    held = {pid: found for pid in _descendants(os.getpid()) if (found := _held(pid, store)).mapped}
    report.section(
        f"Memory: {subscriptions:,} subscriptions, each Python worker that has them mapped",
        [
            {
                "worker": number,
                "resident, MB": one.resident / _MB,
                "proportional, MB": one.proportional / _MB,
                "of it segments, resident MB": one.mapped / _MB,
                "segments, proportional MB": one.mapped_proportional / _MB,
            }
            for number, one in enumerate(held.values(), 1)
        ],
        note="proportional: a page that n processes share counts as 1/n of a page, so the workers share one mapping",
    )


def _descendants(process: int) -> Iterator[int]:
    """All processes below one, where the system tells."""
    for path in sorted((_PROC / str(process) / "task").glob("*/children")):
        for child in map(int, _content(path).split()):
            yield child
            yield from _descendants(child)


def _held(process: int, store: Path) -> Held:
    """What a process holds."""
    held, in_store = Held(), False
    for line in _content(_PROC / str(process) / "smaps").splitlines():
        if mapping := _MAPPING.match(line):
            in_store = mapping[1].startswith(f"{store}/")
        elif line.startswith("Rss:"):
            held.resident += _bytes(line)
            held.mapped += _bytes(line) * in_store
        elif line.startswith("Pss:"):
            held.proportional += _bytes(line)
            held.mapped_proportional += _bytes(line) * in_store
    return held


def _content(path: Path) -> str:
    """What the system says; nothing of a process or thread that has ended meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _bytes(line: str) -> int:
    return 1024 * int(line.split()[1])
