"""LASP, load-aware placement (S³-TM §4.2): a set of words lives where it adds the least to the matching cost.

Incremental. What is kept of all sets placed so far is how many at each matcher hold a word: from that follow the
unique words of every matcher, which its cost grows with, and sets can be taken away again.
"""

from typing import Any, NamedTuple

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit
from tidegate.route.anycast import check_words, eligible_matchers
from tidegate.route.matching_cost import MatchingCost

DEFAULT_COST = MatchingCost(intercept=35.3, slope=0.00362)
"""Look-ups of the hashed trie per post, fitted to 1,000 to 100,000 generated posts as subscriptions (R² = 0.97).

What counts is the ratio of the two, and it hardly changes where sets go.
"""

_EMPTY = -1
_GOLDEN, _TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # 2^64 over the golden ratio; the upper half of a product
_CHUNK = 1 << 16  # sets at a time: room is made for as many words as they have, though few will need it


class _State(NamedTuple):
    """Of N matchers with |H(i)| unique words each."""

    counts: Int64
    """Open addressing, two numbers a slot: word · N + matcher, or -1; how many sets there have the word, maybe none."""
    unique: Int64
    """By matcher: |H(i)|."""
    sums: Int64
    """Σ|H(i)|; N Σ|H(i)|² - (Σ|H(i)|)², which is their variance times N²; the slots in use."""


class Lasp:
    """Places sets of words one after the other; belongs to one thread.

    >>> from tidegate.csr import from_rows
    >>> lasp = Lasp(from_rows([[0], [1], [0], [1]]), matchers=2)  # words 0 to 3 and the owner of each
    >>> lasp.place(from_rows([[0, 1], [1, 2], [0, 1, 2, 3], [0, 1]]))
    array([0, 1, 0, 0], dtype=int32)
    >>> lasp.unique_words
    array([4, 2])
    """

    def __init__(self, owners: Csr, matchers: int, cost: MatchingCost = DEFAULT_COST) -> None:
        """Start with nothing placed. `owners` has by word one for each version; a longer one may take its place."""
        if not cost.slope > 0 or cost.intercept < 0:
            raise ConfigError(f"{cost}: to place by cost, it must grow with the words, from no less than zero")
        self.owners = owners
        self.matchers = matchers
        self.cost = cost
        self._state = _State(_empty_counts(1), np.zeros(matchers, np.int64), np.zeros(3, np.int64))

    @property
    def unique_words(self) -> Int64:
        """By matcher: how many words the sets that live there have."""
        return self._state.unique.copy()

    def place(self, sets: Csr, turns: Int64 | None = None) -> Int32:
        """Find a home for every set, in order; -1 for a set of hot words alone, which has to live at several.

        For every eligible matcher, the growth of its cost is multiplied by the coefficient of variation of all costs
        as they would be; the least product wins, then the fewest unique words, then the lowest number; with `turns`,
        numbers above zero, the first from that place on among the eligible ones. The words of a set are distinct.
        Takes a few microseconds a set.
        """
        eligible = eligible_matchers(sets, self.owners, self.matchers)
        idle = self.matchers * self.cost.intercept / self.cost.slope
        first = np.zeros(sets.rows, np.int64) if turns is None else turns
        homes = np.full(sets.rows, -1, np.int32)
        for start in range(0, sets.rows, _CHUNK):
            stop = min(start + _CHUNK, sets.rows)
            chunk = sets.slice(start, stop)
            self._make_room(chunk)
            _place(self._state, chunk, eligible.slice(start, stop), first[start:stop], idle, homes[start:stop])
        return homes

    def add(self, sets: Csr, homes: Int32) -> None:
        """Take note of sets that live at these matchers already: placed in an earlier life, or at several of them."""
        self._check(sets, homes)
        for start in range(0, sets.rows, _CHUNK):
            chunk = sets.slice(start, min(start + _CHUNK, sets.rows))
            self._make_room(chunk)
            _add(self._state, chunk, homes[start:])

    def remove(self, sets: Csr, homes: Int32) -> None:
        """Forget sets that live at these matchers, as if they had never been there; those at -1 are nowhere."""
        self._check(sets, homes)
        removed = int(_remove(self._state, sets, homes))
        if removed < sets.rows:
            self.add(sets.slice(0, removed), homes[:removed])
            raise ConfigError(
                f"set {removed}, of the words {sets.row(removed).tolist()}, does not live at matcher {homes[removed]}: "
                "nothing was removed; remove what was placed, and once"
            )

    def _check(self, sets: Csr, homes: Int32) -> None:
        check_words(sets, self.owners)
        if len(homes) != sets.rows or homes.min(initial=0) < -1 or homes.max(initial=-1) >= self.matchers:
            raise ConfigError(
                f"{sets.rows} sets with the homes {homes}: give each a matcher below {self.matchers}, or -1"
            )

    def _make_room(self, sets: Csr) -> None:
        """Keep a third of the slots free, even if every word of the sets is new where it goes."""
        counts, incoming = self._state.counts, len(sets.values)
        if 3 * (int(self._state.sums[2]) + incoming) > len(counts):
            live = counts.reshape(-1, 2)[counts[1::2] > 0]
            self._state = self._state._replace(counts=_empty_counts(2 * (len(live) + incoming)))
            self._state.sums[2] = len(live)
            _refill(self._state.counts, live)


def _empty_counts(slots: int) -> Int64:
    """A table of at least so many slots, and a power of two."""
    return np.full(2 << (slots - 1).bit_length(), _EMPTY, np.int64)


@njit(cache=True, nogil=True)
def _find(counts: Int64, key: int) -> Any:
    """Where a key is, or would be put."""
    mask = len(counts) // 2 - 1
    slot = np.int64((np.uint64(key) * _GOLDEN) >> _TOP) & mask
    while counts[2 * slot] != _EMPTY and counts[2 * slot] != key:
        slot = (slot + 1) & mask
    return 2 * slot


@njit(cache=True, nogil=True)
def _refill(counts: Int64, live: Any) -> None:
    for i in range(len(live)):
        at = _find(counts, live[i, 0])
        counts[at], counts[at + 1] = live[i, 0], live[i, 1]


@njit(cache=True, nogil=True)
def _variance_with(state: _State, matcher: int, gained: int) -> Any:
    """N Σ|H(i)|² - (Σ|H(i)|)² once a matcher has gained some unique words, or lost them, in exact arithmetic."""
    n = len(state.unique)
    return state.sums[1] + gained * (2 * (n * state.unique[matcher] - state.sums[0]) + gained * (n - 1))


@njit(cache=True, nogil=True)
def _gain(state: _State, matcher: int, gained: int) -> None:
    state.sums[1] = _variance_with(state, matcher, gained)
    state.sums[0] += gained
    state.unique[matcher] += gained


@njit(cache=True, nogil=True)
def _add_set(state: _State, words: Int32, matcher: int) -> None:
    counts, gained = state.counts, 0
    for word in words:
        key = word * len(state.unique) + matcher
        at = _find(counts, key)
        if counts[at] == _EMPTY:
            counts[at], counts[at + 1] = key, 0
            state.sums[2] += 1
        gained += counts[at + 1] == 0
        counts[at + 1] += 1
    _gain(state, matcher, gained)


@njit(cache=True, nogil=True)
def _held(state: _State, words: Int32, matcher: int) -> Any:
    """How many of the words some set at the matcher has."""
    held = 0
    for word in words:
        at = _find(state.counts, word * len(state.unique) + matcher)
        held += state.counts[at] != _EMPTY and state.counts[at + 1] > 0
    return held


@njit(cache=True, nogil=True)
def _place(state: _State, sets: Csr, eligible: Csr, turns: Int64, idle: float, homes: Int32) -> None:
    """`idle` is what all matchers cost without subscriptions, in unique words; `turns` says who is asked first."""
    for row in range(len(homes)):
        words = sets.values[sets.offsets[row] : sets.offsets[row + 1]]
        best, least = np.int32(-1), np.inf
        asked = eligible.values[eligible.offsets[row] : eligible.offsets[row + 1]]
        for k in range(len(asked)):
            matcher = asked[(k + turns[row]) % len(asked)]
            new = len(words) - _held(state, words, matcher)
            # The square of growth · std / avg, without the factors that all matchers share.
            spread = np.float64(_variance_with(state, matcher, new))
            product = np.float64(new * new) * spread / (idle + state.sums[0] + new) ** 2
            fewer = best >= 0 and state.unique[matcher] < state.unique[best]
            if product < least or (product == least and fewer):
                best, least = matcher, product
        if best >= 0:
            _add_set(state, words, best)
            homes[row] = best


@njit(cache=True, nogil=True)
def _add(state: _State, sets: Csr, homes: Int32) -> None:
    for row in range(len(sets.offsets) - 1):
        if homes[row] >= 0:
            _add_set(state, sets.values[sets.offsets[row] : sets.offsets[row + 1]], homes[row])


@njit(cache=True, nogil=True)
def _remove(state: _State, sets: Csr, homes: Int32) -> int:
    """Return the first set that is not there, or the number of sets."""
    for row in range(len(homes)):
        if homes[row] < 0:
            continue
        words = sets.values[sets.offsets[row] : sets.offsets[row + 1]]
        if _held(state, words, homes[row]) < len(words):
            return row
        gone = 0
        for word in words:
            at = _find(state.counts, word * len(state.unique) + homes[row])
            state.counts[at + 1] -= 1
            gone += state.counts[at + 1] == 0
        _gain(state, homes[row], -gone)
    return len(homes)
