"""Random posts registered as subscriptions, others to be matched against them, and matchers learned from the rest."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.bench.every_word import over_every_word
from tidegate.bench.plain_queries import plain_queries
from tidegate.bench.stored import stored_texts
from tidegate.csr import Csr, Int64, taken
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.common_reading import kept
from tidegate.index.flat import Flat
from tidegate.index.sets import TermSets, distinct_sets
from tidegate.route.hot_words import Hashes, post_hashes
from tidegate.route.maps import learn
from tidegate.route.placement import Placement, place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.sample import Sample
from tidegate.route.visits import Visits
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts as generated_posts


@dataclass(frozen=True)
class Sizes:
    """How many posts are registered, matched, and learned from."""

    subscriptions: int
    posts: int
    learned: int
    matchers: int = 64

    def within(self, posts: int) -> "Sizes":
        """Return as much of it as so many posts allow, with at least a third of them to learn from."""
        most = posts // 3
        if most < 1:
            raise ConfigError(f"{posts} posts to register, to match and to learn from: give at least 3")
        first, second = min(self.subscriptions, most), min(self.posts, most)
        return replace(self, subscriptions=first, posts=second, learned=min(self.learned, posts - first - second))


SIZES: Final = {
    "small": Sizes(10_000, posts=50_000, learned=100_000),
    "paper": Sizes(100_000, posts=100_000, learned=1_000_000),
    "max": Sizes(1_000_000, posts=1_000_000, learned=1_000_000),
}


@dataclass(frozen=True)
class Scene:
    """Posts, the subscriptions that they are matched against, and where these live."""

    sizes: Sizes
    words: pa.LargeStringArray
    posts: Csr
    hashes: Hashes
    """By post."""
    sets: TermSets
    """What is subscribed to: the words of a registered post, all of which have to be met."""
    asking: Int64
    """By set: how many subscriptions ask for it."""
    owners: Csr
    """By word: the owners of its versions."""
    placement: Placement
    """Of the sets: by SALB, with hot words split, and LASP."""

    @classmethod
    def draw(cls, sizes: Sizes, seed: int, path: Path | None) -> "Scene":
        """Deal out posts, generated or of a file, in a random order; learn from their part; place the subscriptions."""
        wanted = sizes.subscriptions + sizes.posts + sizes.learned
        texts = generated_posts(wanted, seed)["text"] if path is None else stored_texts(path)
        sizes = sizes.within(len(texts))
        whole = Sample.of(pa.table({"text": texts}), Analyzer())
        order = np.random.default_rng(seed).permutation(len(whole))
        registered, streamed, rest = np.split(order, np.cumsum([sizes.subscriptions, sizes.posts]))
        words = learn("salb", whole.only(rest[: sizes.learned]), sizes.matchers)
        # A post without words asks for nothing.
        asked_for = taken(whole.posts, registered[np.diff(whole.posts.offsets)[registered] > 0])
        sets, set_of = distinct_sets(asked_for, len(whole.words))
        asking = np.bincount(set_of, minlength=sets.rows)
        queries = list(plain_queries(sets.terms, whole.words.to_pylist()))
        placement = place(queries, Plan.parse(f"salb:{sizes.matchers}"), words, asking)
        return cls(
            sizes,
            whole.words,
            taken(whole.posts, streamed),
            post_hashes(pa.array(streamed)),
            sets,
            asking,
            words.owners_of(whole.words),
            placement,
        )

    @cached_property
    def router(self) -> Router:
        """Ours: keys alone lead anywhere."""
        return Router.build(self.placement, Analyzer())

    def router_by_every_word(self) -> Router:
        """Return the paper's: every subscribed word leads to its owner, be it the key of a subscription or not."""
        living, owners = self._living(), self.owners
        reached = living[_rows(owners), owners.values]
        return over_every_word(self.router, self.words, owners, living.any(axis=1), reached)

    def _living(self) -> Any:
        """By word and matcher: how many subscriptions with the word live there."""
        homes = self.placement.homes
        set_of = _rows(homes)
        sets = taken(self.sets.terms, set_of)
        home_of = _rows(sets)
        living = np.zeros((len(self.words), self.sizes.matchers), np.int64)
        np.add.at(living, (sets.values, homes.values[home_of]), self.asking[set_of[home_of]])
        return living

    def routed(self, router: Router) -> Visits:
        """Return whom the posts visit."""
        numbers = pc.index_in(self.words, router.keys).fill_null(-1).to_numpy().astype(np.int32)
        return router.route_read(Csr(*kept(self.posts, numbers)), self.hashes)

    def matches(self, visits: Visits) -> Int64:
        """By visit: how many matches its matcher reports, having an index of what lives there.

        All together, they have to be those of a single index.
        """
        set_of, home_of = _rows(self.placement.homes), self.placement.homes.values
        post_of = visits.post_of
        found = np.zeros(len(post_of), np.int64)
        has_copies, reported = np.diff(self.placement.homes.offsets) > 1, np.empty(0, np.int64)
        for matcher in range(self.sizes.matchers):
            here, visiting = set_of[home_of == matcher], np.flatnonzero(visits.matchers.values == matcher)
            index = Flat.build(TermSets(taken(self.sets.terms, here), self.sets.n_terms))
            sets = index.match(taken(self.posts, post_of[visiting])).sets
            visit, number = visiting[_rows(sets)], here[sets.values]
            # Of the copies of a set, the first one that is visited reports.
            pairs = post_of[visit] * self.sets.rows + number
            reporting = ~np.isin(pairs, reported)
            reported = np.union1d(reported, pairs[has_copies[number]])
            found += np.bincount(visit[reporting], self.asking[number[reporting]], len(found)).astype(np.int64)
        self._check(np.bincount(post_of, found, self.posts.rows))
        return found

    def _check(self, found: Any) -> None:
        sets = Flat.build(self.sets).match(self.posts).sets
        expected = np.bincount(_rows(sets), self.asking[sets.values], sets.rows)
        for post in np.flatnonzero(found != expected)[:1]:
            raise TidegateError(
                f"post {post} has {expected[post]:.0f} matches, and its matchers found {found[post]:.0f}"
            )
        if not expected.any():
            raise ConfigError("no post matches a subscription, so none can be lost: give more posts, or shorter ones")


def _rows(rows: Csr) -> Int64:
    """By value: its row."""
    return np.repeat(np.arange(rows.rows), np.diff(rows.offsets))
