"""An index that changes: an immutable main index, a small tail, tombstones, merged in the background.

What is added is matched by the next call of `match`, what is removed by none. Entries are numbered in the order
of adding, and a number is never used again.
"""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.contract import Index, Matches
from tidegate.index.flat import Flat
from tidegate.index.sets import checked_highest
from tidegate.index.settled import Settled
from tidegate.index.tail import Tail
from tidegate.kernels import njit

_LOG = logging.getLogger(__name__)
_SMALLEST_MERGE = 1 << 16
_MERGE_SHARE = 0.1


class Live:
    """Thread-safe. Equal sets share one place in the main index, and are reported once per entry.

    >>> from tidegate.csr import from_rows
    >>> live = Live()
    >>> first, second = live.add(from_rows([[3, 1], [1]]))
    >>> live.remove([second])
    >>> live.match(from_rows([[1, 2, 3]])).sets.values.tolist() == [first]
    True
    """

    def __init__(self, index_class: type[Index] = Flat, *, merges_itself: bool = True) -> None:
        """Start empty; with `merges_itself`, many changes start a merge in the background."""
        self._index_class = index_class
        self._merges_itself = merges_itself
        self._lock = threading.RLock()
        nothing = np.empty(0, np.int32)
        # The main index and the sets it was built from: replaced together.
        self._main = Settled.build(Csr(np.zeros(1, np.int64), nothing), nothing, index_class)
        self._tail = Tail()
        self._tail_base = 0  # the entry number of the tail's first set
        self._alive = np.empty(64, np.int8)  # by entry
        self._removed = 0
        self._changes = 0  # since the last merge began
        self._merger: ThreadPoolExecutor | None = None
        self._merging: Future[None] | None = None

    def __len__(self) -> int:
        """Return the number of entries that are not removed."""
        with self._lock:
            return self._tail_base + self._tail.rows - self._removed

    def add(self, sets: Csr) -> Int32:
        """Add the sets; return their entry numbers. Duplicates of each other or of older entries are welcome."""
        highest = checked_highest(sets)
        with self._lock:
            first = self._tail_base + self._tail.rows
            if first + sets.rows >= 2**31:
                raise ConfigError("a live index numbers at most 2,147,483,647 entries in its life")
            self._tail.add(sets, highest)
            self._alive = with_room(self._alive, first + sets.rows)
            self._alive[first : first + sets.rows] = 1
            self._count_changes(sets.rows)
            return np.arange(first, first + sets.rows, dtype=np.int32)

    def remove(self, entries: Any) -> None:
        """Remove these entries at once. An entry that is unknown or already gone is an error, and nothing happens."""
        numbers = np.unique(np.asarray(entries, dtype=np.int64))
        with self._lock:
            known = self._tail_base + self._tail.rows
            inside = (numbers >= 0) & (numbers < known)
            gone = numbers[~inside] if not inside.all() else numbers[self._alive[numbers] == 0]
            if len(gone):
                raise ConfigError(f"entry {gone[0]} is not in the index: it was never added, or is already removed")
            self._alive[numbers] = 0
            self._removed += len(numbers)
            self._count_changes(len(numbers))

    def match(self, items: Csr) -> Matches:
        """Return for every item the entries whose sets it contains, each item as of some moment during the call."""
        with self._lock:
            (main, _), base, alive = self._main, self._tail_base, self._alive
            recent, looked_at = self._tail.match(items)
        settled = main.index.match(items)
        entries = _living_entries(settled.sets, main.entries, recent, base, alive)
        return Matches(Csr(*entries), settled.visited + looked_at, settled.candidates + looked_at)

    @property
    def nbytes(self) -> int:
        """Bytes of the main index; tail and fan-out not counted."""
        return self._main[0].index.nbytes

    @property
    def tail_rows(self) -> int:
        """How many entries wait in the tail."""
        return self._tail.rows

    def merge(self) -> None:
        """Fold all that was added and removed so far into a new main index; return when it is in place."""
        with self._lock:
            earlier = self._merging
        if earlier is not None:
            wait([earlier])
        self.start_merge().result()

    def start_merge(self) -> "Future[None]":
        """Begin a merge in the background, or return the one that is under way. Matching goes on meanwhile.

        A merge that fails leaves everything as it was; the next one tries again.
        """
        with self._lock:
            if self._merging is None or self._merging.done():
                self._merger = self._merger or ThreadPoolExecutor(1, thread_name_prefix="tidegate-merge")
                self._merging = self._merger.submit(self._merge)
            return self._merging

    def close(self) -> None:
        """Wait for a merge under way and end the background thread. The index can still be used."""
        with self._lock:
            merger, self._merger = self._merger, None
        if merger is not None:
            merger.shutdown(wait=True)

    def _count_changes(self, count: int) -> None:
        self._changes += count
        if self._merges_itself and self._changes > max(_SMALLEST_MERGE, _MERGE_SHARE * len(self)):
            self.start_merge()

    def _merge(self) -> None:
        with self._lock:
            (main, main_sets), recent, base = self._main, self._tail.sets, self._tail_base
            alive = self._alive.copy()
            self._changes = 0
        try:
            sets, entries = _living_sets(main_sets.terms, main.entries, recent, base, alive)
            merged = Settled.build(sets, entries, self._index_class)
        except Exception as error:
            # Nobody may ever ask this future for its result, and matching goes on without the merge.
            _LOG.warning("a merge of the live index failed, and nothing is lost: %s", error)
            raise
        with self._lock:
            # What was added since is still in the tail's end; what was removed since is dead in `_alive`.
            newer = self._tail.sets.slice(recent.rows, self._tail.rows)
            self._main, self._tail_base = merged, base + recent.rows
            self._tail = Tail()
            self._tail.add(newer, checked_highest(newer))


@njit(cache=True, nogil=True)
def _living_sets(sets: Csr, entries: Csr, recent: Csr, base: int, alive: NDArray[np.int8]) -> Any:
    """Every entry that is not removed, with its set: those of the main index, then those of the tail."""
    n_entries, n_values = 0, 0
    for number in range(len(sets.offsets) - 1):
        for i in range(entries.offsets[number], entries.offsets[number + 1]):
            if alive[entries.values[i]]:
                n_entries += 1
                n_values += sets.offsets[number + 1] - sets.offsets[number]
    for row in range(len(recent.offsets) - 1):
        if alive[base + row]:
            n_entries += 1
            n_values += recent.offsets[row + 1] - recent.offsets[row]
    offsets = np.zeros(n_entries + 1, np.int64)
    values = np.empty(n_values, np.int32)
    living = np.empty(n_entries, np.int32)
    made = 0
    for number in range(len(sets.offsets) - 1):
        for i in range(entries.offsets[number], entries.offsets[number + 1]):
            if alive[entries.values[i]]:
                living[made] = entries.values[i]
                made = _append_row(sets, number, offsets, values, made)
    for row in range(len(recent.offsets) - 1):
        if alive[base + row]:
            living[made] = base + row
            made = _append_row(recent, row, offsets, values, made)
    return Csr(offsets, values), living


@njit(cache=True, nogil=True)
def _append_row(source: Csr, row: int, offsets: Int64, values: Int32, made: int) -> int:
    end = offsets[made]
    for i in range(source.offsets[row], source.offsets[row + 1]):
        values[end] = source.values[i]
        end += 1
    offsets[made + 1] = end
    return made + 1


@njit(cache=True, nogil=True)
def _living_entries(settled: Csr, entries: Csr, recent: Csr, base: int, alive: NDArray[np.int8]) -> Any:
    """For every item, the living entries of its sets in the main index, then those of the tail."""
    most = len(recent.values)
    for i in range(len(settled.values)):
        most += entries.offsets[settled.values[i] + 1] - entries.offsets[settled.values[i]]
    offsets = np.zeros(len(settled.offsets), np.int64)
    values = np.empty(most, np.int32)
    end = 0
    for item in range(len(settled.offsets) - 1):
        for i in range(settled.offsets[item], settled.offsets[item + 1]):
            number = settled.values[i]
            for j in range(entries.offsets[number], entries.offsets[number + 1]):
                if alive[entries.values[j]]:
                    values[end] = entries.values[j]
                    end += 1
        for i in range(recent.offsets[item], recent.offsets[item + 1]):
            if alive[base + recent.values[i]]:
                values[end] = base + recent.values[i]
                end += 1
        offsets[item + 1] = end
    return offsets, values[:end]
