"""What is asked for where: the (cell, term) keys under which conjunctions are filed (H₂ of PS²Stream, §IV-C).

A conjunction is filed in every cell its box overlaps, under its least frequent term. A post of which no term is heard
in its cell matches nothing. Depends on the lattice alone, not on which matcher has what.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.placed import Placed
from tidegate.kernels import njit
from tidegate.route.places.lattice import Lattice

_EMPTY = -1
KEY_BITS: Final = 31
"""Above them, a key has its cell."""
_TERM_BITS = np.int64(KEY_BITS)


class Heard(NamedTuple):
    """A set of keys, hashed with open addressing; goes into kernels as it is."""

    table: Int64
    """Keys `cell << 31 | term`, -1 where there is none; its length is a power of two."""

    @property
    def keys(self) -> Int64:
        """The keys, rising."""
        return np.sort(self.table[self.table != _EMPTY])

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self.table.nbytes


def hashed_keys(keys: Int64) -> Heard:
    """Return the set of these keys, each a cell above `KEY_BITS` and a term below."""
    return Heard(_table(keys))


def heard_on(lattice: Lattice, placed: Placed) -> Heard:
    """Return what these conjunctions ask for. Linear in the cells under their boxes."""
    return Heard(_hashed(rarest(placed.sets), lattice.spans(placed.boxes), lattice.columns))


def filed_on(lattice: Lattice, placed: Placed, heard: Heard) -> Int64:
    """Return by place in the table how many of these conjunctions, all of which are heard, are filed under its key."""
    return _counts(heard.table, rarest(placed.sets), lattice.spans(placed.boxes), lattice.columns)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def rarest(sets: Csr) -> Int32:
    """Return the least frequent term of each conjunction: that of the highest rank."""
    terms = np.empty(len(sets.offsets) - 1, np.int32)
    for row in range(len(terms)):
        terms[row] = sets.values[sets.offsets[row] : sets.offsets[row + 1]].max()
    return terms


@njit(cache=True, nogil=True)
def is_heard(heard: Heard, cell: int, term: int) -> bool:
    """Whether some conjunction is filed in this cell under this term."""
    return slot_of(heard, cell, term) >= 0  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def slot_of(heard: Heard, cell: int, term: int) -> int:
    """Return the place in the table of what is filed in this cell under this term, -1 if nothing is."""
    key = (np.int64(cell) << _TERM_BITS) | np.int64(term)
    slot = _slot(heard.table, key)
    return slot if heard.table[slot] == key else -1


@njit(cache=True, nogil=True)
def _slot(table: Int64, key: int) -> int:
    """Return where the key is, or the free place where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = ((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(29)) & mask
    while table[slot] != key and table[slot] != _EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _table(keys: Int64) -> Int64:
    size = 1
    while size < 2 * len(keys):
        size *= 2
    table = np.full(size, _EMPTY, np.int64)
    for key in keys:
        table[_slot(table, key)] = key
    return table


@njit(cache=True, nogil=True)
def _hashed(terms: Int32, spans: Int32, columns: int) -> Any:
    table = np.full(1024, _EMPTY, np.int64)
    count = 0
    for i in range(len(terms)):
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                key = (np.int64(row * columns + column) << _TERM_BITS) | np.int64(terms[i])
                slot = _slot(table, key)
                if table[slot] == key:
                    continue
                table[slot] = key
                count += 1
                if 2 * count > len(table):
                    grown = np.full(2 * len(table), _EMPTY, np.int64)
                    for old in table:
                        if old != _EMPTY:
                            grown[_slot(grown, old)] = old
                    table = grown
    return table


@njit(cache=True, nogil=True)
def _counts(table: Int64, terms: Int32, spans: Int32, columns: int) -> Int64:
    counts = np.zeros(len(table), np.int64)
    for i in range(len(terms)):
        for row in range(spans[i, 1], spans[i, 3] + 1):
            for column in range(spans[i, 0], spans[i, 2] + 1):
                counts[_slot(table, (np.int64(row * columns + column) << _TERM_BITS) | np.int64(terms[i]))] += 1
    return counts
