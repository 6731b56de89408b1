"""Times that can be believed: warm, in turns, and every timed answer compared with another index's."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tidegate.csr import Csr, Int64
from tidegate.errors import TidegateError
from tidegate.index.contract import Index, Matches

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Matching:
    """What matching some items cost an index, and what it found."""

    microseconds: float
    """For one item, in the best round."""
    median: float
    """The same, in the median round."""
    found: Matches

    @property
    def visited(self) -> float:
        """Nodes touched for one item."""
        return self.found.visited / self.found.sets.rows

    @property
    def candidates(self) -> float:
        """Sets checked for one item."""
        return self.found.candidates / self.found.sets.rows

    @property
    def matched(self) -> float:
        """Distinct queries matched by one item."""
        return len(self.found.sets.values) / self.found.sets.rows


def timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Do the work; return the seconds it took, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def time_matching(
    indexes: Mapping[str, Index], items: Csr, rounds: int, few: Mapping[str, int] | None = None
) -> dict[str, Matching]:
    """Match the items `rounds` times with each index, and require that all found the same in the last round.

    The indexes take turns, so that a noisy minute of the machine falls on all of them, and each turn begins with
    an untimed pass, so that no index pays for the caches that another has filled. An index named in `few` gets
    only so many of the items.
    """
    given = {name: items.slice(0, min(items.rows, (few or {}).get(name, items.rows))) for name in indexes}
    found: dict[str, Matches] = {}
    seconds: dict[str, list[float]] = {name: [] for name in indexes}
    for _ in range(rounds):
        for name, index in indexes.items():
            index.match(given[name])
            start = time.perf_counter()
            found[name] = index.match(given[name])
            seconds[name].append(time.perf_counter() - start)
    busiest = max(indexes, key=lambda name: given[name].rows)
    for name in indexes:
        expected = found[busiest].sets.slice(0, given[name].rows)
        require_same(name, found[name].sets, busiest, expected)
    return {
        name: Matching(
            min(seconds[name]) / given[name].rows * 1e6,
            float(np.median(seconds[name])) / given[name].rows * 1e6,
            found[name],
        )
        for name in indexes
    }


def require_same(name: str, found: Csr, reference: str, expected: Csr) -> None:
    """Raise unless both found the same numbers, each once, for the same number of items."""
    is_same = found.rows == expected.rows and np.array_equal(sorted_pairs(found), sorted_pairs(expected))
    if not is_same:
        raise TidegateError(f"wrong answers: {name} and {reference} differ in what {expected.rows:,} items match")


def sorted_pairs(found: Csr) -> Int64:
    """Every (row, number) as one integer, sorted."""
    rows = np.repeat(np.arange(found.rows, dtype=np.int64), np.diff(found.offsets))
    return np.sort((rows << 32) | found.values)
