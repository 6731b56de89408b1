"""The router: which matchers a post must visit. Immutable, one file, mapped into memory by any number of processes.

It knows only the keys of a placement; what a process adds of its own is a lexicon, which learns the words it sees.
"""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from tidegate.csr import Csr, Int64
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.route.placement import Placement
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import read_posts
from tidegate.text.profile import Profile
from tidegate.text.vocabulary import Vocabulary

_KIND = "router"


@dataclass(frozen=True)
class Router:
    """Belongs to one thread while it routes; the arrays may be shared by all.

    >>> from tidegate.query.parse import parse
    >>> from tidegate.route.placement import place
    >>> from tidegate.route.plan import Plan
    >>> analyzer = Analyzer()
    >>> placement = place([parse("storm coast", analyzer), parse("eclipse", analyzer)], Plan.hash(16))
    >>> placement.homes
    array([2, 3], dtype=int32)
    >>> router = Router.build(placement, analyzer)
    >>> router.route(pa.table({"text": ["Eclipse over the coast", "Storms"]}))
    Csr(offsets=array([0, 2, 2]), values=array([2, 3], dtype=int32))
    """

    profile: Profile
    matchers: int
    keys: pa.LargeStringArray
    """The terms that lead anywhere: the vocabulary, by id."""
    routes: Csr
    """By key: the matchers it leads to."""

    @classmethod
    def build(cls, placement: Placement, analyzer: Analyzer) -> Self:
        """Return the router to this placement of queries, which the analyzer has read."""
        return cls(analyzer.profile, placement.matchers, strings(placement.keys), placement.routes)

    @cached_property
    def lexicon(self) -> Lexicon:
        """This process's own; it knows the keys from the start, and learns the spellings."""
        return Lexicon(Analyzer(self.profile), Vocabulary(self.keys.to_pylist()))

    def route(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> Csr:
        """Return for every post the distinct matchers it must visit, rising; none for one that can match nothing.

        The columns are those of `read_posts`: `text`, and `author`, `lang`, `lat`, `lon` where there are such.
        """
        terms = read_posts(posts, self.lexicon, sequences=False, **columns).terms
        return Csr(*_visits(terms, self.routes, np.full(self.matchers, -1, np.int64)))

    def save(self, path: Path | str) -> None:
        """Write everything as one Arrow IPC file, whole or not at all."""
        profile = {**asdict(self.profile), "stop_words": sorted(self.profile.stop_words)}
        arrays: dict[str, NDArray[Any]] = {
            "routes.offsets": self.routes.offsets,
            "routes.values": self.routes.values,
            **string_arrays("profile", strings([json.dumps(profile)])),
            **string_arrays("keys", self.keys),
        }
        write_segment(path, _KIND, arrays, {"matchers": self.matchers})

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map what was saved; nothing is copied. A torn, foreign or altered file is refused by name."""
        arrays, numbers = read_segment(path, _KIND, verify=verify)
        profile = json.loads(read_strings(arrays, "profile")[0].as_py())
        profile["stop_words"] = frozenset(profile["stop_words"])
        routes = Csr(arrays["routes.offsets"], arrays["routes.values"])
        return cls(Profile(**profile), numbers["matchers"], read_strings(arrays, "keys"), routes)


@njit(cache=True, nogil=True)
def _visits(terms: Csr, routes: Csr, visited_by: Int64) -> Any:
    """Put the routes of a post's terms together; `visited_by` is the last post to visit each matcher, -1 at first."""
    offsets = np.zeros(len(terms.offsets), np.int64)
    room = 0
    for key in terms.values:
        room += routes.offsets[key + 1] - routes.offsets[key]
    matchers = np.empty(min(room, (len(terms.offsets) - 1) * len(visited_by)), np.int32)
    end = 0
    for post in range(len(terms.offsets) - 1):
        for key in terms.values[terms.offsets[post] : terms.offsets[post + 1]]:
            for matcher in routes.values[routes.offsets[key] : routes.offsets[key + 1]]:
                if visited_by[matcher] != post:
                    visited_by[matcher] = post
                    matchers[end] = matcher
                    end += 1
        matchers[offsets[post] : end].sort()
        offsets[post + 1] = end
    return offsets, matchers[:end]
