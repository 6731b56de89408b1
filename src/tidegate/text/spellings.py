"""The table of known spellings: from the bytes of a token to a small number, its entry.

Spellings are found by hash and compared in full, so that a collision can never pass for a match.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.growth import with_room
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit
from tidegate.text.characters import Bytes, Words, alphabet
from tidegate.text.profile import Profile
from tidegate.text.scanner import room_for, spell_rows

_LONG = 8  # words of eight bytes
_AHEAD = 8  # tokens whose slots are on their way from memory
_LOWER = np.uint64(0xFFFFFFFF)
_UPPER = np.uint64(0xFFFFFFFF00000000)
_ALONE = np.uint64(1 << 32)
_HALF = np.uint64(32)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """Spellings as 64-bit words, padded with zeros: entry `e` is `words[starts[e]:starts[e + 1]]`.

    The hash table is open-addressed. A slot is the first word of a spelling, and beside it the entry plus one
    (0 means empty) below a check: the upper half of the hash, whose last bit says that there is no second
    word. So a short word is found without leaving its slot.
    """

    slots: Words
    starts: Int64
    words: Words


class Spellings:
    """A growing table of spellings, and the way from texts to entries of it.

    Entries are numbered from 0 in the order of first sight, which keeps common words close together.
    """

    def __init__(self, profile: Profile) -> None:
        """Start with an empty table, for texts of this profile."""
        self._alphabet = alphabet()
        self._signs = profile.signs
        self._max_bytes = profile.max_bytes
        self.clear()

    def clear(self) -> None:
        """Forget all spellings."""
        self._known = 0
        self._table = _empty_table()

    def __len__(self) -> int:
        """Return the number of entries."""
        return self._known

    def exceed(self, count: int) -> bool:
        """Whether there are more entries than `count`, or fewer that take the room of as many long words."""
        return self._known > count or int(self._table.starts[self._known]) > _LONG * count

    def read(self, data: Bytes, offsets: Int64) -> tuple[Int32, Int64, int]:
        """Return the entries of all tokens of all texts, where each text ends, and how many texts were cut.

        Text `i` is `data[offsets[i]:offsets[i + 1]]`, UTF-8.
        """
        words, tokens = room_for(np.minimum(np.diff(offsets), self._max_bytes))
        spelled, word_ends = np.empty(words, np.uint64), np.empty(tokens, np.int32)
        row_ends = np.empty(len(offsets) - 1, np.int64)
        cut = spell_rows(self._alphabet, self._signs, self._max_bytes, data, offsets, spelled, word_ends, row_ends)
        return self._entries_of(spelled, word_ends[: row_ends[-1]]), row_ends, cut

    def spelled(self, first: int, stop: int) -> list[str]:
        """Return the spellings of the entries from `first` to `stop`."""
        starts = self._table.starts[first : stop + 1]
        data = self._table.words[starts[0] : starts[-1]].tobytes()
        ends = (8 * (starts - starts[0])).tolist()
        return [data[begin:end].rstrip(b"\0").decode("utf-8", "replace") for begin, end in pairwise(ends)]

    def with_prefix(self, prefix: str) -> list[int]:
        """Return the entries whose spelling begins so."""
        wanted = np.frombuffer(prefix.encode(), dtype=np.uint8)
        return _entries_with_prefix(self._table, self._known, wanted).tolist()  # type: ignore[no-any-return]

    def _entries_of(self, spelled: Words, word_ends: Int32) -> Int32:
        """Look up spellings that end at `word_ends`, adding those that are new."""
        entries = np.empty(len(word_ends), np.int32)
        done = 0
        while done < len(entries):
            used = int(self._table.starts[self._known])
            self._table = self._table._replace(words=with_room(self._table.words, used + int(word_ends[-1])))
            done, self._known = _look_up(self._table, self._known, spelled, word_ends, entries, done)
            if done < len(entries):
                self._table = _grown(self._table, self._known)
        return entries


def _empty_table() -> Table:
    size = 1 << 12
    return Table(np.zeros((size, 2), np.uint64), np.zeros(size // 2 + 1, np.int64), np.zeros(size, np.uint64))


def _grown(table: Table, known: int) -> Table:
    """Return the table with twice the slots."""
    size = 2 * len(table.slots)
    grown = Table(np.zeros((size, 2), np.uint64), with_room(table.starts, size // 2 + 1), table.words)
    _rehash(grown, known)
    return grown


@njit(cache=True)
def _look_up(table: Table, known: int, spelled: Words, word_ends: Int32, entries: Int32, token: int) -> tuple[int, int]:
    """Find the entries of the tokens from `token` on; new spellings become entries from `known` on.

    Stops when half of the slots are taken. Returns the next token, and the number of entries.
    """
    slots, starts, words = table
    codes = _hashes(spelled, word_ends)
    begin = word_ends[token - 1] if token > 0 else np.int32(0)
    while token < len(word_ends) and 2 * known < len(slots):
        length = word_ends[token] - begin
        code = codes[token]
        if token + _AHEAD < len(word_ends):
            prefetch(slots, 2 * np.int64(codes[token + _AHEAD] & np.uint64(len(slots) - 1)))
        check = _check(code, length)
        at = np.int64(code & np.uint64(len(slots) - 1))
        while slots[at, 1] != 0 and not (
            slots[at, 0] == spelled[begin]
            and slots[at, 1] & _UPPER == check
            and (length == 1 or _is_spelled(starts, words, slots[at, 1], spelled, begin, length))
        ):
            at = (at + 1) & (len(slots) - 1)
        if slots[at, 1] == 0:
            stored = starts[known]
            for k in range(length):
                words[stored + k] = spelled[begin + k]
            known += 1
            starts[known] = stored + length
            slots[at, 0] = spelled[begin]
            slots[at, 1] = check | np.uint64(known)
        entries[token] = np.int64(slots[at, 1] & _LOWER) - 1
        begin += length
        token += 1
    return token, known


@njit(cache=True)
def _hashes(spelled: Words, word_ends: Int32) -> Words:
    codes = np.empty(len(word_ends), np.uint64)
    begin = np.int32(0)
    for token in range(len(word_ends)):
        codes[token] = _hash(spelled, begin, word_ends[token] - begin)
        begin = word_ends[token]
    return codes


@njit(cache=True, inline="always")
def _is_spelled(starts: Int64, words: Words, slot: np.uint64, spelled: Words, begin: int, length: int) -> bool:
    entry = np.int64(slot & _LOWER) - 1
    stored = starts[entry]
    same: bool = starts[entry + 1] - stored == length
    k = 1
    while same and k < length:
        same = words[stored + k] == spelled[begin + k]
        k += 1
    return same


@njit(cache=True)
def _rehash(table: Table, known: int) -> None:
    """Fill empty slots with the entries below `known`."""
    mask = len(table.slots) - 1
    for entry in range(known):
        begin = table.starts[entry]
        length = table.starts[entry + 1] - begin
        code = _hash(table.words, begin, length)
        at = np.int64(code & mask)
        while table.slots[at, 1] != 0:
            at = (at + 1) & mask
        table.slots[at, 0] = table.words[begin]
        table.slots[at, 1] = _check(code, length) | np.uint64(entry + 1)


@njit(cache=True, inline="always")
def _hash(spelled: Words, begin: int, length: int) -> np.uint64:
    code = np.uint64(0)
    for k in range(length):
        code = (code ^ spelled[begin + k]) * _MULTIPLIER
        code ^= code >> _HALF
    return code


@njit(cache=True)
def _check(code: np.uint64, length: int) -> np.uint64:
    """Return the upper half of the hash, its last bit replaced by whether the spelling is a single word."""
    return (code & _UPPER) | _ALONE if length == 1 else (code & _UPPER) & ~_ALONE


@njit(cache=True)
def _entries_with_prefix(table: Table, known: int, prefix: Bytes) -> Int64:
    spelled = table.words.view(np.uint8)
    found = np.empty(known, np.int64)
    count = 0
    for entry in range(known):
        begin = 8 * table.starts[entry]
        if 8 * table.starts[entry + 1] - begin < len(prefix):
            continue
        for k in range(len(prefix)):
            if spelled[begin + k] != prefix[k]:
                break
        else:
            found[count] = entry
            count += 1
    return found[:count]
