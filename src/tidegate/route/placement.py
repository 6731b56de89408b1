"""Placement: at which matchers every query lives, and to which matchers a word leads (S³-TM, sections 4 and 5.1).

A query lives at one matcher, so that what the matchers find is simply put together; where only hot words, those with
several versions, lead to a query, or its place lies in the cells of several matchers (PS²Stream, section IV), there
are copies of it, and `Copies` says which one answers a post.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.index.strings import strings
from tidegate.query.conjunction import Query
from tidegate.route.anycast import random_anycast
from tidegate.route.copies import Copies
from tidegate.route.hot_words import word_hashes
from tidegate.route.lasp import Lasp
from tidegate.route.ownership import owner
from tidegate.route.place_map import PlaceMap
from tidegate.route.plan import Plan
from tidegate.route.spots import Filed, Spots, filed
from tidegate.route.word_map import WordMap
from tidegate.text.posts import HAS_PLACE

HEAD = -1
"""The number that stands for no matcher: queries of the head are answered where posts are routed."""

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Placement:
    """Where queries live, and the way there."""

    homes: Csr
    """By query: the matchers it lives at, rising; `HEAD` alone for a query of the head."""
    keys: list[str]
    """The terms that lead anywhere, in alphabetical order."""
    slots: Int64
    """Key `k` has the routes `slots[k]` to `slots[k + 1]`: one, or one for each version, of which a post draws one.

    A key that leads somewhere only in some cells has none.
    """
    routes: Csr
    """The matchers to visit, rising."""
    weights: Int64
    """By entry of `routes`: how many subscriptions a key leads to at the matcher."""
    spots: Spots
    """Where keys lead in their cells."""
    copies: Copies
    matchers: int


def place(
    queries: Sequence[Query],
    plan: Plan,
    words: WordMap | None = None,
    asking: Int64 | None = None,
    places: PlaceMap | None = None,
) -> Placement:
    """Find homes for every query, so that a post which visits the routes of its terms reaches all it satisfies.

    Every conjunction has a key, one of its positive terms, and the key leads to the query's home. Proof: a post that
    satisfies a query satisfies one of its conjunctions, hence holds that one's key. A conjunction that lives by its
    place has a key as well, which leads to the query in every cell that the place overlaps. `words` is the map of a
    learned plan, and `places` of one that goes by places too; `asking` says how many subscriptions ask for each query.

    Without LASP, whose state grows with every query, the order of the queries makes no difference.
    """
    terms = _Terms(queries, plan, words, places)
    in_head = terms.in_head(plan.head) if plan.has_head else np.zeros(len(queries), np.bool_)
    home_of = _home_of(terms, ~in_head, plan)
    led = ~in_head[terms.query_of]
    keys = terms.keys(home_of)
    used = np.unique(keys[led])
    key_of = np.searchsorted(used, keys)  # of no meaning in the head
    asked = np.ones(len(queries), np.int64) if asking is None else asking
    at_places, living_there, spots = _spots(terms, led, used, key_of, asked, places)

    worded = led & terms.by_words
    query_of, key_of = terms.query_of[worded], key_of[worded]
    versions = np.where(np.isin(np.arange(len(used)), key_of), np.diff(terms.owners.offsets)[used], 0)
    slots = offsets_of(versions)

    regular = versions[key_of] == 1
    # A regular key leads home; each version of a hot one leads to that version's owner.
    hot = np.flatnonzero(~regular)
    of_hot, owner_of_hot = _gathered(terms.owners, used[key_of[hot]])
    version = np.arange(len(of_hot)) - np.repeat(offsets_of(versions[key_of[hot]])[:-1], versions[key_of[hot]])
    query = np.concatenate([query_of[regular], query_of[hot][of_hot]])
    slot = np.concatenate([slots[key_of[regular]], slots[key_of[hot]][of_hot] + version])
    matcher = np.concatenate([home_of[query_of[regular]], owner_of_hot])
    routes, weights = _routes(query, slot, matcher, asked, int(slots[-1]), plan.matchers)

    head = np.flatnonzero(in_head)
    living = np.concatenate([query, living_there, head])
    homes = _rows(living, np.concatenate([matcher, at_places, np.full(len(head), HEAD)]), len(queries))
    words_used = [terms.words[i] for i in used]
    return Placement(homes, words_used, slots, routes, weights, spots, Copies.of(queries, homes), plan.matchers)


def _spots(
    terms: "_Terms", led: Marks, used: Int64, key_of: Int64, asked: Int64, places: PlaceMap | None
) -> tuple[Int64, Int64, Spots]:
    """Return where conjunctions live by their place: matchers, the query that lives at each, and the way there.

    `used` are the terms that are keys, and `key_of` says by conjunction which of them is its own.
    """
    here = led[terms.filed.conjunction_of]
    conjunction, cells = terms.filed.conjunction_of[here], terms.filed.cells[here]
    if places is None or len(cells) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), Spots.none()
    keys, query = key_of[conjunction], terms.query_of[conjunction]
    matchers = places.matchers_of(cells, [terms.words[term] for term in used], keys)
    # A query counts once for a key in a cell, however many of its conjunctions have it.
    packed = np.unique(np.stack([cells.astype(np.int64) * len(used) + keys, query, matchers]), axis=1)
    distinct, first, spot_of = np.unique(packed[0], return_index=True, return_inverse=True)
    weights = np.bincount(spot_of, weights=asked[packed[1]], minlength=len(distinct)).astype(np.int64)
    cell, key = np.divmod(distinct, len(used))
    led_to = packed[2][first].astype(np.int32)
    spots = Spots.of(places.lattice, cell.astype(np.int32), key, led_to, weights)
    return matchers.astype(np.int64), query, spots


class _Terms:
    """The terms of queries as numbers, in alphabetical order, and what is known of each."""

    def __init__(
        self, queries: Sequence[Query], plan: Plan, words: WordMap | None, places: PlaceMap | None = None
    ) -> None:
        conjunctions = [conjunction for query in queries for conjunction in query.conjunctions]
        self.query_of: Int64 = np.repeat(np.arange(len(queries)), [len(query.conjunctions) for query in queries])
        self.words = sorted(set(chain.from_iterable(conjunction.positive for conjunction in conjunctions)))
        numbers = {word: number for number, word in enumerate(self.words)}
        values = [numbers[term] for conjunction in conjunctions for term in conjunction.positive]
        self.sets = Csr(offsets_of([len(c.positive) for c in conjunctions]), np.array(values, np.int32))
        self.owners = _hashed(self.words, plan.matchers) if words is None else words.owners_of(self.words)
        count = np.bincount(self.sets.values, minlength=len(self.words))
        self._common = np.zeros_like(count) if words is None else _frequency(self.words, words)
        self._words = words
        # Rare in the stream, then rare among the queries, then first in the alphabet.
        order = np.lexsort((np.arange(len(count)), count, self._common))
        self.rank = np.empty(len(order), np.int64)
        self.rank[order] = np.arange(len(order))
        self.is_hot: Marks = np.diff(self.owners.offsets) > 1
        self.filed: Filed = filed(conjunctions, places)
        self.by_words: Marks = np.ones(len(conjunctions), np.bool_)
        self.by_words[self.filed.conjunction_of] = False

    def in_head(self, head: int) -> Marks:
        """By query: whether one of its conjunctions has a single term, or none that is outside of the head.

        Those that live by their place say more than their words do, and are no reason.
        """
        frequency = np.empty(0, np.int64) if self._words is None else self._words.frequency
        least = frequency[min(head, len(frequency)) - 1] if head and len(frequency) else np.iinfo(np.int64).max
        rarest = self._best(np.ones(len(self.sets.values), np.bool_))
        head_conjunction = (np.diff(self.sets.offsets) == 1) | (self._common[rarest] >= least)
        head_conjunction &= self.by_words
        return np.bincount(self.query_of, weights=head_conjunction, minlength=self._n_queries()) > 0

    def keys(self, home_of: Int64) -> Int64:
        """By conjunction: its key, the rarest term that its query's home owns, or else the rarest of all.

        Hot words are keys only where there are no others. One that lives by its place has no home to prefer.
        """
        terms = self.sets.values
        of_conjunction = self.conjunctions()
        one_owner = self.owners.values[self.owners.offsets[terms]]
        at_home = ~self.is_hot[terms] & (one_owner == home_of[self.query_of[of_conjunction]])
        return self._best(at_home & self.by_words[of_conjunction])

    def conjunctions(self) -> Int64:
        """By entry of `sets`: its conjunction."""
        return np.repeat(np.arange(self.sets.rows), np.diff(self.sets.offsets))

    def rarest_keys(self) -> Int64:
        """By conjunction: the rarest term that is not hot, or else the rarest hot one."""
        return self._best(np.zeros(len(self.sets.values), np.bool_))

    def _best(self, preferred: Marks) -> Int64:
        """By conjunction: the term of least rank among the preferred, else among those not hot, else among all."""
        terms = self.sets.values
        n = len(self.words)
        cost = self.rank[terms] + n * (~preferred).astype(np.int64) + n * self.is_hot[terms].astype(np.int64)
        if not len(cost):
            return np.empty(0, np.int64)
        order = np.lexsort((cost, self.conjunctions()))
        return terms[order[self.sets.offsets[:-1]]].astype(np.int64)

    def _n_queries(self) -> int:
        return int(self.query_of[-1]) + 1 if len(self.query_of) else 0


def _home_of(terms: _Terms, wanted: Marks, plan: Plan) -> Int64:
    """By query: the one matcher that its regular keys lead to; -1 if it is not wanted or has no regular key."""
    homes = np.full(len(wanted), -1, np.int64)
    if plan.placement == "rarest":
        keys = terms.rarest_keys()
        voting = wanted[terms.query_of] & terms.by_words & ~terms.is_hot[keys]
        query, key, _ = _pairs(terms.query_of[voting], keys[voting], len(terms.words))
        query, matcher, votes = _pairs(query, terms.owners.values[terms.owners.offsets[key]], plan.matchers)
        order = np.lexsort((-votes, query))  # stable: matchers rise within a query already
        query, first = np.unique(query[order], return_index=True)
        homes[query] = matcher[order[first]]
        return homes
    # What decides is all terms of a query together; it stays off its hot words where it has others.
    deciding = wanted[terms.query_of] & terms.by_words
    entry = np.flatnonzero(deciding[terms.conjunctions()])
    query, term, _ = _pairs(terms.query_of[terms.conjunctions()[entry]], terms.sets.values[entry], len(terms.words))
    rows, index = np.unique(query, return_index=True)
    sets = Csr(np.append(index, len(query)).astype(np.int64), term.astype(np.int32))
    if plan.placement == "anycast":
        homes[rows] = random_anycast(sets, terms.owners, plan.matchers, seed=plan.version)
    else:
        # The first queries find all matchers alike: which one they are offered first must not always be the lowest.
        turns = (word_hashes(strings(terms.words))[sets.values[sets.offsets[:-1]]] >> 33).astype(np.int64)
        homes[rows] = Lasp(terms.owners, plan.matchers).place(sets, turns)
    return homes


def is_wide(term: str) -> bool:
    """Whether a term stands for words, or for posts, that no sample of words lists under it."""
    return term[-1] == "*" or term.startswith(("=", "lang:", HAS_PLACE))


def _frequency(terms: list[str], words: WordMap) -> Int64:
    """By term: in how many posts it is; in all of them, to be safe, for one that stands for words no sample lists."""
    wide = np.array([is_wide(term) for term in terms], np.bool_)
    frequency = words.frequency_of(terms)
    return np.where(wide & (frequency == 0), max(words.posts, 1), frequency)


def _hashed(words: list[str], matchers: int) -> Csr:
    owners = np.array([owner(word, matchers) for word in words], np.int32)
    return Csr(np.arange(len(words) + 1, dtype=np.int64), owners)


def _gathered(rows: Csr, wanted: Int64) -> tuple[Int64, Int64]:
    """The rows that are wanted, one after the other: by value which of them it is in, and the value."""
    lengths = rows.offsets[wanted + 1] - rows.offsets[wanted]
    of_row = np.repeat(np.arange(len(wanted)), lengths)
    at = (
        np.arange(len(of_row)) - np.repeat(offsets_of(lengths)[:-1], lengths) + np.repeat(rows.offsets[wanted], lengths)
    )
    return of_row, rows.values[at].astype(np.int64)


def _routes(query: Int64, slot: Int64, matcher: Int64, asked: Int64, n_slots: int, matchers: int) -> tuple[Csr, Int64]:
    """Return for every slot the distinct matchers it leads to, and how many subscriptions each has for it."""
    # A query counts once for a key, however many of its conjunctions have it.
    packed = np.unique(np.stack([slot, matcher, query]), axis=1) if len(query) else np.empty((3, 0), np.int64)
    ways, way_of = np.unique(packed[0] * matchers + packed[1], return_inverse=True)
    weights = np.bincount(way_of, weights=asked[packed[2]], minlength=len(ways)).astype(np.int64)
    return _rows(ways // matchers, ways % matchers, n_slots), weights


def _rows(row: Int64, value: Int64, n_rows: int) -> Csr:
    """Return by row its distinct values, rising."""
    low = int(value.min(initial=0))
    span = int(value.max(initial=0)) - low + 1
    row, value, _ = _pairs(row, value - low, span)
    return Csr(offsets_of(np.bincount(row, minlength=n_rows)), (value + low).astype(np.int32))


def _pairs(rows: Int64, values: Int64 | Int32, n_values: int) -> tuple[Int64, Int64, Int64]:
    """Return the distinct pairs, by row and then by value, and how often each occurs."""
    packed, counts = np.unique(rows * n_values + values, return_counts=True)
    row, value = np.divmod(packed, max(n_values, 1))
    return row, value, counts
