"""The register of an index by words and place: which entries it has, with their terms and, in degrees, their boxes.

Numbers rise with every entry and are never used again. Rows are those of the entries that were alive when all was
last written anew, and then those that came since; so a row is found by counting bits.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.index.box_words import Words
from tidegate.index.placed import Degrees, Placed
from tidegate.intrinsics import popcount, prefetch
from tidegate.kernels import njit

_WORD: Final = 64
_ONE: Final = np.uint64(1)
_PLACE: Final = np.uint64(_WORD - 1)


class Boxes(NamedTuple):
    """What the kernels read."""

    alive: Words
    """A bit by number."""
    settled: Words
    """A bit by number below `first`: whether the entry has a row in `old`."""
    before: Int32
    """By word of `settled`: how many bits are set in the words before it."""
    old: Degrees
    new: Degrees
    """By number from `first` on."""
    first: int


class Register:
    """Entries by number."""

    _new_offsets: Int64
    _new_values: Int32
    _new_boxes: Degrees

    def __init__(self) -> None:
        """Start empty."""
        self.numbered = 0
        """How many entries there ever were."""
        self._removed = 0
        self._alive: Words = np.zeros(1, np.uint64)
        self._settle(Placed(Csr(np.zeros(1, np.int64), np.empty(0, np.int32)), np.empty((0, 4))), np.empty(0, np.int32))

    @property
    def settled(self) -> int:
        """How many entries there were when all was last written anew."""
        return self._old.rows

    @property
    def added(self) -> int:
        """How many entries came since."""
        return self.numbered - self._first

    @property
    def living(self) -> int:
        """How many entries there are now."""
        return self.numbered - self._removed

    @property
    def boxes(self) -> Boxes:
        """What the kernels read, until entries are added or removed."""
        return Boxes(self._alive, self._settled, self._before, self._old.boxes, self._new_boxes, self._first)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (*self._old.sets, self._new_offsets, self._new_values, *self.boxes[:-1])
        return sum(array.nbytes for array in arrays)

    def add(self, placed: Placed) -> Int32:
        """Append entries; return their numbers."""
        rows, first, last = self.added, self.numbered, self.numbered + placed.rows
        if last >= 2**31:
            raise ConfigError("an index numbers at most 2,147,483,647 entries in its life")
        used = int(self._new_offsets[rows])
        self._alive = with_room(self._alive, last // _WORD + 1)
        self._new_offsets = with_room(self._new_offsets, rows + placed.rows + 1)
        self._new_values = with_room(self._new_values, used + len(placed.sets.values))
        self._new_boxes = with_room(self._new_boxes, rows + placed.rows)
        self._new_offsets[rows + 1 : rows + placed.rows + 1] = used + placed.sets.offsets[1:]
        self._new_values[used : used + len(placed.sets.values)] = placed.sets.values
        self._new_boxes[rows : rows + placed.rows] = placed.boxes
        numbers = np.arange(first, last, dtype=np.int32)
        _bear(self._alive, first, last)
        self.numbered = last
        return numbers

    def remove(self, entries: Any) -> None:
        """Remove entries by number; none of them if one is not there, which is a `ConfigError`."""
        numbers = np.atleast_1d(np.asarray(entries, np.int64))
        stranger, buried = _buried(self._alive, self.numbered, numbers)
        if stranger < len(numbers):
            raise ConfigError(
                f"entry {numbers[stranger]} is not in the index: it was never added, or is already removed"
            )
        self._removed += buried

    def rewritten(self) -> tuple[Placed, Int32]:
        """Forget what was removed; return all entries and their numbers, which rise."""
        new_rows = self._new_offsets[: self.added + 1]
        recent = Placed(Csr(new_rows, self._new_values[: new_rows[-1]]), self._new_boxes[: self.added])
        numbers = np.concatenate([self._numbers, np.arange(self._first, self.numbered, dtype=np.int32)])
        living = np.flatnonzero(_are_alive(self._alive, numbers))
        self._settle(self._old.joined(recent).only(living), numbers[living])
        return self._old, self._numbers

    def _settle(self, placed: Placed, numbers: Int32) -> None:
        self._old, self._numbers, self._first = placed, numbers, self.numbered
        self._settled, self._before = _counted(numbers, self.numbered)
        self._new_offsets = np.zeros(64, np.int64)
        self._new_values = np.empty(64, np.int32)
        self._new_boxes = np.empty((64, 4))


@njit(cache=True, nogil=True)
def has_bit(words: Words, number: int) -> Any:
    """Whether the bit of a number is set."""
    return (words[np.uint64(number) >> np.uint64(6)] >> (np.uint64(number) & _PLACE)) & _ONE != 0


@njit(cache=True, nogil=True)
def box_of(boxes: Boxes, number: int) -> Any:
    """Return the box of an entry, living or not, that was alive when all was last written anew, or came since."""
    if number >= boxes.first:
        return boxes.new[number - boxes.first]
    return boxes.old[_old_row(boxes, number)]


@njit(cache=True, nogil=True)
def ask_for_box(boxes: Boxes, number: int) -> None:
    """Ask for the box of such an entry from memory."""
    if number >= boxes.first:
        prefetch(boxes.new, 4 * (number - boxes.first))
    else:
        prefetch(boxes.old, 4 * _old_row(boxes, number))


@njit(cache=True, nogil=True)
def _old_row(boxes: Boxes, number: int) -> Any:
    word = number // _WORD
    below = (_ONE << (np.uint64(number) & _PLACE)) - _ONE
    return boxes.before[word] + np.int64(popcount(boxes.settled[word] & below))


@njit(cache=True, nogil=True)
def _bear(alive: Words, first: int, last: int) -> None:
    for number in range(first, last):
        alive[number // _WORD] |= _ONE << (np.uint64(number) & _PLACE)


@njit(cache=True, nogil=True)
def _buried(alive: Words, numbered: int, numbers: Int64) -> tuple[int, int]:
    """Clear the bits of entries, if all are alive; return the place of the first that is not, and how many it were."""
    for i in range(len(numbers)):
        if not (0 <= numbers[i] < numbered and has_bit(alive, numbers[i])):
            return i, 0
    buried = 0
    for number in numbers:
        buried += has_bit(alive, number)  # it may be named twice
        alive[number // _WORD] &= ~(_ONE << (np.uint64(number) & _PLACE))
    return len(numbers), buried


@njit(cache=True, nogil=True)
def _are_alive(alive: Words, numbers: Int32) -> Any:
    found = np.empty(len(numbers), np.bool_)
    for i in range(len(numbers)):
        found[i] = has_bit(alive, numbers[i])
    return found


@njit(cache=True, nogil=True)
def _counted(numbers: Int32, end: int) -> Any:
    """Return a bit for every number below `end`, whether it is among these, and what was counted before each word."""
    words = np.zeros(end // _WORD + 1, np.uint64)
    before = np.zeros(end // _WORD + 2, np.int32)
    for number in numbers:
        words[number // _WORD] |= _ONE << (np.uint64(number) & _PLACE)
        before[number // _WORD + 1] += 1
    return words, np.cumsum(before)[:-1].astype(np.int32)
