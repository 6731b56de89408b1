"""Distinct term sets: what every index is built from.

A term set is the positive part of a conjunction, as term ranks (0 is the most frequent). Equal sets are
one set, however many subscriptions ask for it; the table from sets to subscriptions is kept elsewhere.
"""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit

MAX_TERM = 2**31 - 2
"""The largest term id: the sign bit marks the end of a tail in the packed indexes."""


_LONG_ROW = 64  # terms, from which on insertion is not the fastest way to sort


class TermSets(NamedTuple):
    """Distinct sets, each rarest term first, in lexicographic order; the row is the set's number.

    Sets that share their rarest term are therefore neighbours, and among them those that share the two
    rarest: the packed indexes are cut straight out of this order.
    """

    terms: Csr
    n_terms: int
    """Every term id is below it."""

    @property
    def rows(self) -> int:
        """The number of distinct sets."""
        return self.terms.rows


def distinct_sets(sets: Csr, n_terms: int | None = None) -> tuple[TermSets, Int32]:
    """Return the distinct sets, and for every row of `sets` the number of its set. Linear but for small sorts.

    A term repeated within a row counts once.

    >>> from tidegate.csr import from_rows
    >>> found, numbers = distinct_sets(from_rows([[0, 7], [7], [7, 0, 7]]))
    >>> [found.terms.row(i).tolist() for i in range(found.rows)], numbers.tolist()
    ([[7], [7, 0]], [1, 0, 1])
    """
    highest = checked_highest(sets)
    n_terms = highest + 1 if n_terms is None else n_terms
    if highest >= n_terms or n_terms > MAX_TERM + 1:
        raise ConfigError(f"a term id is {highest} of {n_terms} terms: ids end at {min(n_terms - 1, MAX_TERM)}")
    offsets, values = _descending_rows(sets)
    order = _lexicographic_order(offsets, values, n_terms)
    numbers, kept_offsets, kept_values = _without_repeats(offsets, values, order)
    return TermSets(Csr(kept_offsets, kept_values), n_terms), numbers


def ranked_items(items: Csr, n_terms: int) -> Csr:
    """Items as an index reads them: known terms only, ascending rank, each once."""
    return Csr(*_ranked(items, n_terms))


def checked_highest(sets: Csr) -> int:
    """Return the highest term id of sets that an index can take, -1 if there are none; refuse other sets."""
    if max(sets.rows, len(sets.values)) >= 2**31:
        raise ConfigError(f"{sets.rows} sets of {len(sets.values)} terms in one index: at most {2**31 - 1} are allowed")
    shortest, lowest, highest = _extent(sets.offsets, sets.values)
    if shortest == 0:
        raise ConfigError("a term set is empty: every conjunction needs at least one positive term")
    if lowest < 0 or highest > MAX_TERM:
        raise ConfigError(f"term ids run from {lowest} to {highest}: allowed are 0 to {MAX_TERM}")
    return int(highest)


@njit(cache=True, nogil=True)
def _extent(offsets: Int64, values: Int32) -> Any:
    """Length of the shortest row, lowest and highest value."""
    shortest = np.int64(1)
    for row in range(len(offsets) - 1):
        shortest = min(shortest, offsets[row + 1] - offsets[row])
    lowest, highest = np.int64(0), np.int64(-1)
    for value in values:
        lowest, highest = min(lowest, value), max(highest, value)
    return shortest, lowest, highest


@njit(cache=True, nogil=True)
def _sorted_distinct(values: Int32, start: int, stop: int) -> int:
    """Sort `values[start:stop]` ascending and drop repeats; return the new stop."""
    if stop - start > _LONG_ROW:
        values[start:stop].sort()
    else:
        for i in range(start + 1, stop):
            value = values[i]
            j = i - 1
            while j >= start and values[j] > value:
                values[j + 1] = values[j]
                j -= 1
            values[j + 1] = value
    kept = start
    for i in range(start, stop):
        if kept == start or values[i] != values[kept - 1]:
            values[kept] = values[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _descending_rows(sets: Csr) -> Any:
    offsets = np.zeros(len(sets.offsets), np.int64)
    values = np.empty(len(sets.values), np.int32)
    for row in range(len(sets.offsets) - 1):
        start = offsets[row]
        stop = start
        for i in range(sets.offsets[row], sets.offsets[row + 1]):
            values[stop] = sets.values[i]
            stop += 1
        stop = _sorted_distinct(values, start, stop)
        for i in range((stop - start) // 2):
            values[start + i], values[stop - 1 - i] = values[stop - 1 - i], values[start + i]
        offsets[row + 1] = stop
    return offsets, values[: offsets[-1]]


@njit(cache=True, nogil=True)
def _ranked(items: Csr, n_terms: int) -> Any:
    offsets = np.zeros(len(items.offsets), np.int64)
    values = np.empty(len(items.values), np.int32)
    for row in range(len(items.offsets) - 1):
        stop = offsets[row]
        for i in range(items.offsets[row], items.offsets[row + 1]):
            if 0 <= items.values[i] < n_terms:
                values[stop] = items.values[i]
                stop += 1
        offsets[row + 1] = _sorted_distinct(values, offsets[row], stop)
    return offsets, values[: offsets[-1]]


@njit(cache=True, nogil=True)
def _second_and_third(offsets: Int64, values: Int32, row: int) -> Any:
    """Terms two and three as one number that sorts as they do; an absent term sorts first."""
    start, stop = offsets[row], offsets[row + 1]
    second = np.int64(values[start + 1]) + 1 if stop - start > 1 else np.int64(0)
    third = np.int64(values[start + 2]) + 1 if stop - start > 2 else np.int64(0)
    return (second << 32) | third


@njit(cache=True, nogil=True)
def _compare_rest(offsets: Int64, values: Int32, left: int, right: int) -> int:
    """Compare two rows that agree in their first three terms: negative, zero or positive."""
    i, j = offsets[left] + 3, offsets[right] + 3
    left_stop, right_stop = offsets[left + 1], offsets[right + 1]
    while i < left_stop and j < right_stop:
        if values[i] != values[j]:
            return -1 if values[i] < values[j] else 1
        i += 1
        j += 1
    return (1 if i < left_stop else 0) - (1 if j < right_stop else 0)


@njit(cache=True, nogil=True)
def _is_before(offsets: Int64, values: Int32, key: int, row: int, other_key: int, other_row: int) -> Any:
    if key != other_key:
        return key < other_key
    return _compare_rest(offsets, values, row, other_row) < 0


@njit(cache=True, nogil=True)
def _sort_bucket(offsets: Int64, values: Int32, keys: Int64, rows: Int32, low: int, high: int, stack: Int64) -> None:
    """Sort `rows[low:high]`, with their `keys`, by key and then by the rest of the row (quicksort, Hoare)."""
    top = 0
    stack[0], stack[1] = low, high
    while top >= 0:
        low, high = stack[2 * top], stack[2 * top + 1]
        top -= 1
        while high - low > 24:
            middle = (low + high) // 2
            pivot_key, pivot_row = keys[middle], rows[middle]
            i, j = low - 1, high
            while True:
                i += 1
                while _is_before(offsets, values, keys[i], rows[i], pivot_key, pivot_row):
                    i += 1
                j -= 1
                while _is_before(offsets, values, pivot_key, pivot_row, keys[j], rows[j]):
                    j -= 1
                if i >= j:
                    break
                keys[i], keys[j] = keys[j], keys[i]
                rows[i], rows[j] = rows[j], rows[i]
            # The larger part waits on the stack, so the stack stays logarithmic.
            top += 1
            if j + 1 - low > high - j - 1:
                stack[2 * top], stack[2 * top + 1] = low, j + 1
                low = j + 1
            else:
                stack[2 * top], stack[2 * top + 1] = j + 1, high
                high = j + 1
        for i in range(low + 1, high):
            key, row = keys[i], rows[i]
            j = i - 1
            while j >= low and _is_before(offsets, values, key, row, keys[j], rows[j]):
                keys[j + 1], rows[j + 1] = keys[j], rows[j]
                j -= 1
            keys[j + 1], rows[j + 1] = key, row


@njit(cache=True, nogil=True)
def _lexicographic_order(offsets: Int64, values: Int32, n_terms: int) -> Int32:
    """The rows in lexicographic order: counting sort on the first term, then each bucket apart."""
    n = len(offsets) - 1
    starts = np.zeros(n_terms + 1, np.int64)
    for row in range(n):
        starts[values[offsets[row]] + 1] += 1
    for term in range(n_terms):
        starts[term + 1] += starts[term]
    order = np.empty(n, np.int32)
    keys = np.empty(n, np.int64)
    for row in range(n):
        first = values[offsets[row]]
        slot = starts[first]
        starts[first] = slot + 1
        order[slot] = row
        keys[slot] = _second_and_third(offsets, values, row)
    stack = np.empty(256, np.int64)
    low = np.int64(0)
    for term in range(n_terms):
        high = starts[term]  # advanced to the bucket's end by the loop above
        if high - low > 1:
            _sort_bucket(offsets, values, keys, order, low, high, stack)
        low = high
    return order


@njit(cache=True, nogil=True)
def _is_equal(offsets: Int64, values: Int32, left: int, right: int) -> bool:
    i, j = offsets[left], offsets[right]
    length = offsets[left + 1] - i
    if offsets[right + 1] - j != length:
        return False
    same = True
    for k in range(length):
        same = same and values[i + k] == values[j + k]
    return same


@njit(cache=True, nogil=True)
def _without_repeats(offsets: Int64, values: Int32, order: Int32) -> Any:
    n = len(order)
    numbers = np.empty(n, np.int32)
    count = 0
    total = 0
    for position in range(n):
        row = order[position]
        if position == 0 or not _is_equal(offsets, values, order[position - 1], row):
            count += 1
            total += offsets[row + 1] - offsets[row]
        numbers[row] = count - 1
    kept_offsets = np.empty(count + 1, np.int64)
    kept_offsets[0] = 0
    kept_values = np.empty(total, np.int32)
    last = -1
    end = 0
    for position in range(n):
        row = order[position]
        if numbers[row] == last:
            continue
        last = numbers[row]
        for i in range(offsets[row], offsets[row + 1]):
            kept_values[end] = values[i]
            end += 1
        kept_offsets[last + 1] = end
    return numbers, kept_offsets, kept_values
