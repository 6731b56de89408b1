"""Subscriptions compiled into one file: immutable, mapped into memory by any number of processes.

It answers exactly as a `Matcher` with the same subscriptions. What a process adds of its own is a lexicon, which
learns the words of the stream it sees.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, taken
from tidegate.errors import ConfigError
from tidegate.index.asked import Asked
from tidegate.index.checks import CheckArrays
from tidegate.index.conjunctions import Conjunctions, Verification
from tidegate.index.contract import Index
from tidegate.index.flat import Flat
from tidegate.index.found import Found
from tidegate.index.kd_cells import KdCells
from tidegate.index.places import Places
from tidegate.index.plots import Plots
from tidegate.index.refusal import Refusal
from tidegate.index.registry import index_named
from tidegate.index.resolution import Resolution
from tidegate.index.roster import Roster
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.settled import Settled
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.query.normal import Limits
from tidegate.query.parse import parse_canonical
from tidegate.query.reason import Reason, explain
from tidegate.query.semantics import PostView
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Posts, read_posts
from tidegate.text.profile import Profile
from tidegate.text.vocabulary import Vocabulary

_KIND, _LAYOUT = "compiled", 3


@dataclass(frozen=True)
class Compiled:
    """Belongs to one thread while it matches; the arrays may be shared by all.

    >>> compiled, refused = Compiled.build(["ana", "ben"], ["storm coast", "(storm"])
    >>> compiled.match(pa.table({"text": ["Storms reach the coast"]})).pairs()
    [(0, 'ana')]
    >>> [refusal.subscription for refusal in refused]
    ['ben']
    """

    profile: Profile
    index: Index
    resolution: Resolution
    """From the index's sets to queries."""
    roster: Roster
    """From queries to subscriptions."""
    canonical: pa.LargeStringArray
    """By query."""
    terms: pa.LargeStringArray
    """The vocabulary, by id."""
    surfaces: pa.LargeStringArray
    """The surface forms that phrases are made of, by id."""

    @classmethod
    def build(
        cls,
        subscriptions: Iterable[str | None],
        queries: Iterable[str | None],
        analyzer: Analyzer | None = None,
        *,
        holders: Iterable[str | None] | None = None,
        limits: Limits | None = None,
        index_class: type[Index] = Flat,
    ) -> tuple[Self, list[Refusal]]:
        """Compile subscriptions (sequences or Arrow arrays); return those that were refused beside the rest."""
        analyzer = analyzer or Analyzer()
        asked, refused = Asked.read(subscriptions, queries, analyzer, holders=holders, limits=limits)
        return cls.of(asked, analyzer, index_class), refused

    @classmethod
    def of(cls, asked: Asked, analyzer: Analyzer, index_class: type[Index] = Flat) -> Self:
        """Compile subscriptions that the analyzer has read."""
        lexicon = Lexicon(analyzer)
        table = Conjunctions(lexicon)
        sets, checks = table.prepare(asked.queries)
        conjunctions = [conjunction for query in asked.queries for conjunction in query.conjunctions]
        sizes = [len(query.conjunctions) for query in asked.queries]
        owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        anywhere = np.array([number for number, one in enumerate(conjunctions) if not one.regions], np.int32)
        settled, _ = Settled.build(taken(sets, anywhere.astype(np.int64)), anywhere, index_class)
        order = _in_order_of_sets(owners, settled.entries)
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        table.append(numbers[owners], checks)
        places = Places.of(conjunctions, sets, len(lexicon.vocabulary))
        return cls(
            analyzer.profile,
            settled.index,
            Resolution.of(settled.entries, places, table.verification, len(order)),
            Roster.of(asked.ids, asked.holders, numbers[asked.query_of], len(order), asked.rankings),
            strings(asked.queries[number].canonical for number in order),
            strings(lexicon.vocabulary),
            strings(lexicon.surfaces),
        )

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self.roster)

    @property
    def n_queries(self) -> int:
        """The number of distinct queries."""
        return len(self.canonical)

    @cached_property
    def analyzer(self) -> Analyzer:
        """What reads the queries and the posts."""
        return Analyzer(self.profile)

    @cached_property
    def lexicon(self) -> Lexicon:
        """This process's own; it knows the terms from the start, and learns the spellings."""
        lexicon = Lexicon(self.analyzer, Vocabulary(self.terms.to_pylist()))
        for word in self.surfaces.to_pylist():
            lexicon.surface_id(word)
        return lexicon

    def match(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> Found:
        """Match posts against all subscriptions, as `Matcher.match` does."""
        batch = read_posts(posts, self.lexicon, sequences=len(self.surfaces) > 0, **columns)
        return self.match_read(batch, posts, **columns)

    def match_read(self, batch: Posts, posts: pa.Table | pa.RecordBatch, **columns: str) -> Found:
        """Match posts that were read into the ids of `terms` and `surfaces` already."""
        queries, visited, candidates = self.queries_of(batch)
        return Found(self, posts, columns, batch, queries, visited, candidates)

    def queries_of(self, batch: Posts) -> tuple[Csr, int, int]:
        """Return the queries that posts satisfy, how much the index visited for it, and how many candidates it had."""
        found = self.index.match(batch.terms)
        queries, candidates = self.resolution.queries(found.sets, batch, len(self.terms))
        return queries, found.visited, candidates

    def subscriptions_of(self, queries: Csr) -> Csr:
        """Replace the queries of every row by the subscriptions that ask for them."""
        return self.roster.subscriptions(queries)

    def subscription_id(self, number: int) -> str:
        """The id of a subscription."""
        return str(self.roster.names[2 * int(number)].as_py())

    def query_of(self, subscription: str) -> int:
        """The number of the query a subscription asks for."""
        number = int(self.roster.numbers(strings([subscription]))[0])
        if number < 0:
            raise ConfigError(f"there is no subscription {subscription!r}")
        return self.roster.query_of(number)

    def why(self, query: int, post: PostView) -> Reason | None:
        """Say which conjunction of a query the post satisfies, and by which spans of its text; None if it does not."""
        return explain(parse_canonical(self.canonical[query].as_py(), self.analyzer), post, self.analyzer)

    def save(self, path: Path | str) -> None:
        """Write everything as one Arrow IPC file, whole or not at all."""
        about = {
            "profile": {**asdict(self.profile), "stop_words": sorted(self.profile.stop_words)},
            "index": self.index.name,
        }
        verification = self.resolution.verification
        arrays: dict[str, NDArray[Any]] = {
            **{f"index.{name}": array for name, array in self.index.arrays.items()},
            "direct": self.resolution.direct,
            **_csr_arrays("conjunctions", self.resolution.conjunctions),
            "splits": self.resolution.places.cells.splits,
            "is_lat": self.resolution.places.cells.is_lat,
            **{f"plots.{name}": array for name, array in self.resolution.places.plots._asdict().items()},
            "query_of": verification.query_of,
            "check_of": verification.check_of,
            "check_words": verification.checks.words,
            "regions": verification.checks.regions,
            "corners": verification.checks.corners,
            "bounds": self.roster.bounds,
            "by_id": self.roster.by_id,
            "ranking_of": self.roster.ranking_of,
            **string_arrays("rankings", self.roster.rankings),
            **string_arrays("names", self.roster.names),
            **string_arrays("about", strings([json.dumps(about)])),
            **string_arrays("canonical", self.canonical),
            **string_arrays("terms", self.terms),
            **string_arrays("surfaces", self.surfaces),
        }
        write_segment(path, _KIND, arrays, {"n_terms": self.index.n_terms}, layout=_LAYOUT)

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map what was saved; nothing is copied. A torn, foreign or altered file is refused by name."""
        arrays, numbers = read_segment(path, _KIND, layout=_LAYOUT, verify=verify)
        about = json.loads(read_strings(arrays, "about")[0].as_py())
        profile = {**about["profile"], "stop_words": frozenset(about["profile"]["stop_words"])}
        of_index = {name.removeprefix("index."): a for name, a in arrays.items() if name.startswith("index.")}
        index = index_named(about["index"])(of_index, numbers["n_terms"])
        checks = CheckArrays(arrays["check_words"], arrays["regions"], arrays["corners"])
        verification = Verification(arrays["query_of"], arrays["check_of"], checks)
        canonical, terms, surfaces = (read_strings(arrays, name) for name in ("canonical", "terms", "surfaces"))
        conjunctions = _read_csr(arrays, "conjunctions")
        cells = KdCells(arrays["splits"], arrays["is_lat"], len(arrays["splits"]).bit_length())
        plots = Plots(*(arrays[f"plots.{name}"] for name in Plots._fields))
        return cls(
            Profile(**profile),
            index,
            Resolution(arrays["direct"], conjunctions, Places(cells, plots), verification, len(canonical)),
            Roster(
                arrays["bounds"],
                read_strings(arrays, "names"),
                arrays["by_id"],
                read_strings(arrays, "rankings"),
                arrays["ranking_of"],
            ),
            canonical,
            terms,
            surfaces,
        )


def _in_order_of_sets(owners: Int32, conjunctions: Csr) -> Int32:
    """Return the queries in the order of their first sets: what an index finds together then lies together."""
    set_of = np.full(len(owners), conjunctions.rows)  # those that want a place come last
    set_of[conjunctions.values] = np.repeat(np.arange(conjunctions.rows), np.diff(conjunctions.offsets))
    first = np.full(int(owners.max(initial=-1)) + 1, conjunctions.rows, np.int64)
    np.minimum.at(first, owners, set_of)
    return np.argsort(first, kind="stable").astype(np.int32)


def _csr_arrays(name: str, rows: Csr) -> dict[str, NDArray[Any]]:
    return {f"{name}.offsets": rows.offsets, f"{name}.values": rows.values}


def _read_csr(arrays: dict[str, NDArray[Any]], name: str) -> Csr:
    return Csr(arrays[f"{name}.offsets"], arrays[f"{name}.values"])
