"""Flat: the index people use. Rarest-first tries cut off at depth two, in flat int32 arrays.

A set is filed under its two rarest terms, the *pair*. Whether a pair of item terms is filed at all is one bit
among frequent terms (the head: their pairs are dense) and a short key list below the others (the tail). What
a set has beyond its pair hangs there as a run of terms, tested against the item one by one. The numbers of the
sets follow from the sorted order, so none is stored. Two passes: first all pairs of the item are found, then
their records are read, so that cache misses overlap instead of queueing.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.contract import Cursor, Index
from tidegate.index.sets import TermSets
from tidegate.intrinsics import popcount, prefetch
from tidegate.kernels import njit

_BIT_WORTH = 8.0  # bytes; from 4 to 32 the time hardly changes
_LARGEST_HEAD = 2**16  # counts are uint16
_SCAN_PER_TERM = 32  # keys that are read in the time of one binary search
_AHEAD = 8  # pairs whose records are on their way from memory
_FLAG = np.int32(-(2**31))
_MASK = np.int32(2**31 - 1)


class FlatArrays(NamedTuple):
    """What the kernel reads. A flag is the sign bit of a word."""

    roots: Int32
    """Two words a term: number of the set that is the term alone, flagged, or 0 if there is none; first pair."""
    bits: NDArray[np.uint64]
    """Head terms: row of `term` bits, bit `a` set if the pair (term, a) is filed."""
    bit_rows: Int32
    """Where the row of a head term begins, in words."""
    counts: NDArray[np.uint16]
    """For every word of `bits`, the pairs of its term that come before the word."""
    keys: Int32
    """Tail terms: the second term of every pair, ascending; the pairs of the head come first and have no key."""
    pairs: Int32
    """Two words a pair: number of its first set (flag: the pair itself is a set), first tail word."""
    tails: Int32
    """Remaining terms of the longer sets, flag on the last one of each."""


class Flat(Index):
    """Ours: a pair of item terms costs a bit test, a set costs 4 to 16 bytes, and nothing is hashed."""

    name: ClassVar[str] = "flat"

    @classmethod
    def build(cls, sets: TermSets) -> Self:
        """Cut the arrays out of the sorted sets. Linear."""
        pairs_of = _count_pairs(sets.terms, sets.n_terms)
        head = _head_size(pairs_of)
        return cls(_build(sets.terms, sets.n_terms, head, pairs_of)._asdict(), sets.n_terms)

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        return int(_match(FlatArrays(**self.arrays), items, first, out))


@njit(cache=True, nogil=True)
def _count_pairs(terms: Csr, n_terms: int) -> Int64:
    """How many pairs are filed under each term."""
    counts = np.zeros(n_terms, np.int64)
    last_first, last_second = -1, -1
    for row in range(len(terms.offsets) - 1):
        start = terms.offsets[row]
        if terms.offsets[row + 1] - start < 2:
            continue
        first, second = terms.values[start], terms.values[start + 1]
        if first != last_first or second != last_second:
            counts[first] += 1
            last_first, last_second = first, second
    return counts


def _head_size(pairs_of: Int64) -> int:
    """Take as head the first terms for which rows of bits are worth their bytes.

    A row of bits for term b takes b / 64 words of 10 bytes and answers each pair with one look; keys take
    4 bytes a pair and are scanned. A pair in bits is worth `_BIT_WORTH` bytes.
    """
    limit = min(len(pairs_of), _LARGEST_HEAD)
    if limit == 0:
        return 0
    worth = np.cumsum(_BIT_WORTH * pairs_of[:limit] - 10.0 * (np.arange(limit) // 64 + 1))
    best = int(np.argmax(worth))
    return best + 1 if worth[best] > 0 else 0


@njit(cache=True, nogil=True)
def _build(terms: Csr, n_terms: int, head: int, pairs_of: Int64) -> Any:
    n_pairs = pairs_of.sum()
    head_pairs = pairs_of[:head].sum()
    n_tails = 0
    for row in range(len(terms.offsets) - 1):
        n_tails += max(0, terms.offsets[row + 1] - terms.offsets[row] - 2)

    bit_rows = np.zeros(head + 1, np.int32)
    for term in range(head):
        bit_rows[term + 1] = bit_rows[term] + (term + 63) // 64
    bits = np.zeros(bit_rows[head], np.uint64)
    counts = np.zeros(bit_rows[head], np.uint16)
    roots = np.zeros(2 * (n_terms + 1), np.int32)
    keys = np.empty(n_pairs - head_pairs, np.int32)
    pairs = np.empty(2 * (n_pairs + 1), np.int32)
    tails = np.empty(n_tails, np.int32)

    pair = 0
    for term in range(n_terms):
        roots[2 * term + 1] = pair
        pair += pairs_of[term]
    roots[2 * n_terms + 1] = pair

    pair, tail = -1, 0
    last_first, last_second = np.int32(-1), np.int32(-1)
    for row in range(len(terms.offsets) - 1):
        start, stop = terms.offsets[row], terms.offsets[row + 1]
        first = terms.values[start]
        if stop - start == 1:
            roots[2 * first] = row | _FLAG
            continue
        second = terms.values[start + 1]
        if first != last_first or second != last_second:
            last_first, last_second = first, second
            pair += 1
            pairs[2 * pair] = row
            pairs[2 * pair + 1] = tail
            if first < head:
                bits[bit_rows[first] + (second >> 6)] |= np.uint64(1) << np.uint64(second & 63)
            else:
                keys[pair - head_pairs] = second
        if stop - start == 2:
            pairs[2 * pair] |= _FLAG
        for i in range(start + 2, stop):
            tails[tail] = terms.values[i]
            tail += 1
        if stop - start > 2:
            tails[tail - 1] |= _FLAG
    pairs[2 * n_pairs] = len(terms.offsets) - 1
    pairs[2 * n_pairs + 1] = tail

    for term in range(head):
        before = np.uint64(0)
        for word in range(bit_rows[term], bit_rows[term + 1]):
            counts[word] = before
            before += popcount(bits[word])
    return FlatArrays(roots, bits, bit_rows, counts, keys, pairs, tails)


@njit(cache=True, nogil=True)
def _find_pairs(index: FlatArrays, terms: Int32, held: NDArray[np.uint8], hits: Int32) -> Any:
    """Write to `hits` every filed pair of the item's terms; return how many."""
    roots, bits, bit_rows, counts, keys = index.roots, index.bits, index.bit_rows, index.counts, index.keys
    head = len(bit_rows) - 1
    head_pairs = len(index.pairs) // 2 - 1 - len(keys)
    n_hits = np.int64(0)
    for i in range(len(terms)):
        term = terms[i]
        pair, last = roots[2 * term + 1], roots[2 * term + 3]
        if pair == last:
            continue
        if term < head:
            row = bit_rows[term]
            first_hit = n_hits
            for j in range(i):
                # Written always, kept when the bit is set: which pairs exist is no branch to predict.
                hits[n_hits] = terms[j]
                n_hits += np.int64((bits[row + (terms[j] >> 6)] >> np.uint64(terms[j] & 63)) & np.uint64(1))
            for k in range(first_hit, n_hits):
                word = row + (hits[k] >> 6)
                below = bits[word] & ((np.uint64(1) << np.uint64(hits[k] & 63)) - np.uint64(1))
                hits[k] = pair + counts[word] + np.int64(popcount(below))
        elif last - pair <= _SCAN_PER_TERM * i:
            for p in range(pair, last):
                hits[n_hits] = p
                n_hits += held[keys[p - head_pairs]]
        else:
            low, stop = pair - head_pairs, last - head_pairs
            for j in range(i):
                low += np.searchsorted(keys[low:stop], terms[j])
                if low < stop and keys[low] == terms[j]:
                    hits[n_hits] = low + head_pairs
                    n_hits += 1
    return n_hits


@njit(cache=True, nogil=True)
def _report_below(pairs: Int32, tails: Int32, hits: Int32, held: NDArray[np.uint8], out: Cursor, written: int) -> int:
    """Append the pairs in `hits` that are sets and the sets below them whose remaining terms are all held.

    Return the new end of the output, or -1 where it has no room.
    """
    numbers = out.numbers
    checked = 0
    for k in range(len(hits)):
        if k + _AHEAD < len(hits):
            prefetch(pairs, 2 * hits[k + _AHEAD])
        pair = hits[k]
        number = pairs[2 * pair] & _MASK
        tail, end = pairs[2 * pair + 1], pairs[2 * pair + 3]
        if written + (pairs[2 * pair + 2] & _MASK) - number > len(numbers):
            return -1
        if pairs[2 * pair] < 0:
            numbers[written] = number
            written += 1
            number += 1
        while tail < end:
            contained = np.uint8(1)
            word = np.int32(0)
            while word >= 0:
                word = tails[tail]
                contained &= held[word & _MASK]
                tail += 1
            if contained:
                numbers[written] = number
                written += 1
            number += 1
            checked += 1
    out.counters[1] += checked
    return written


@njit(cache=True, nogil=True)
def _match(index: FlatArrays, items: Csr, first: int, out: Cursor) -> int:
    roots = index.roots
    n_items = len(items.offsets) - 1
    longest = np.int64(0)
    for item in range(first, n_items):
        longest = max(longest, items.offsets[item + 1] - items.offsets[item])
    held = np.zeros(len(roots) // 2, np.uint8)
    # Appending without a branch writes one place further than it keeps.
    hits = np.empty(min(int(longest * (longest - 1) // 2), len(index.pairs) // 2 - 1) + 1, np.int32)

    for item in range(first, n_items):
        terms = items.values[items.offsets[item] : items.offsets[item + 1]]
        written = out.offsets[item]
        if written + len(terms) > len(out.numbers):
            return item
        for i in range(len(terms)):
            held[terms[i]] = 1
            prefetch(roots, 2 * terms[i])
        for i in range(len(terms)):
            if roots[2 * terms[i]] < 0:
                out.numbers[written] = roots[2 * terms[i]] & _MASK
                written += 1
        n_hits = _find_pairs(index, terms, held, hits)
        written = _report_below(index.pairs, index.tails, hits[:n_hits], held, out, written)
        for i in range(len(terms)):
            held[terms[i]] = 0
        if written < 0:
            return item
        out.offsets[item + 1] = written
        out.counters[0] += len(terms) + n_hits
    return n_items
