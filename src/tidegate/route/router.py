"""The router: which matchers a post must visit. Immutable, one file, mapped into memory by any number of processes.

It knows only the keys of a placement; what a process adds of its own is a lexicon, which learns the words it sees.
"""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.boxes import normal_longitudes
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.kernels import njit
from tidegate.route.copies import Copies
from tidegate.route.hot_words import Hashes, drawn, word_hashes
from tidegate.route.placement import Placement
from tidegate.route.places.heard import slot_of
from tidegate.route.spots import Spots
from tidegate.route.visits import Visits
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Degrees, read_posts
from tidegate.text.profile import Profile
from tidegate.text.vocabulary import Vocabulary

_KIND, _LAYOUT = "router", 2


@dataclass(frozen=True)
class Router:
    """Belongs to one thread while it routes; the arrays may be shared by all.

    >>> from tidegate.query.parse import parse
    >>> from tidegate.route.placement import place
    >>> from tidegate.route.plan import Plan
    >>> analyzer = Analyzer()
    >>> placement = place([parse("storm coast", analyzer), parse("eclipse", analyzer)], Plan.hash(16))
    >>> placement.homes.values
    array([2, 3], dtype=int32)
    >>> router = Router.build(placement, analyzer)
    >>> router.route(pa.table({"text": ["Eclipse over the coast", "Storms"]})).matchers
    Csr(offsets=array([0, 2, 2]), values=array([2, 3], dtype=int32))
    """

    profile: Profile
    matchers: int
    keys: pa.LargeStringArray
    """The terms that lead anywhere: the vocabulary, by id."""
    hashes: Hashes
    """By key."""
    slots: Int64
    """By key: its routes are `slots[k]` to `slots[k + 1]`, of which a post draws one."""
    routes: Csr
    """The matchers to visit."""
    weights: Int64
    """By entry of `routes`: how many subscriptions are reached."""
    spots: Spots
    """Where keys lead in their cells."""
    copies: Copies

    @classmethod
    def build(cls, placement: Placement, analyzer: Analyzer) -> Self:
        """Return the router to this placement of queries, which the analyzer has read."""
        keys = strings(placement.keys)
        return cls(
            analyzer.profile,
            placement.matchers,
            keys,
            word_hashes(keys),
            placement.slots,
            placement.routes,
            placement.weights,
            placement.spots,
            placement.copies,
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """This process's own; it knows the keys from the start, and learns the spellings."""
        return Lexicon(Analyzer(self.profile), Vocabulary(self.keys.to_pylist()))

    @property
    def draws(self) -> bool:
        """Whether a key has several versions, so that ways depend on who a post is."""
        return int(np.diff(self.slots).max(initial=0)) > 1

    def route(self, posts: pa.Table | pa.RecordBatch, hashes: Hashes | None = None, **columns: str) -> Visits:
        """Return for every post the distinct matchers it must visit, rising; none for one that can match nothing.

        The columns are those of `read_posts`: `text`, and `author`, `lang`, `lat`, `lon` where there are such. `hashes`
        are the posts' `post_hashes`, needed if the router `draws`.
        """
        read = read_posts(posts, self.lexicon, sequences=False, **columns)
        return self.route_read(read.terms, hashes, (read.lat, read.lon))

    def route_read(
        self, terms: Csr, hashes: Hashes | None = None, points: tuple[Degrees, Degrees] | None = None
    ) -> Visits:
        """Route posts that were read into the ids of `keys` already; `points` are their latitudes and longitudes."""
        posts_hashed = np.zeros(terms.rows, np.uint64) if hashes is None else hashes
        cells = np.full(terms.rows, -1, np.int32)
        if points is not None and self.spots.size:
            lat, lon = points
            cells = self.spots.lattice.cells_of(lat, normal_longitudes(lat, lon))
        offsets, matchers, keys, subscriptions = _visits(
            terms,
            cells,
            _Ways(self.hashes, self.slots, self.routes, self.weights, self.spots),
            posts_hashed,
            np.full(self.matchers, -1, np.int64),
        )
        return Visits(Csr(offsets, matchers), keys, subscriptions)

    def save(self, path: Path | str) -> None:
        """Write everything as one Arrow IPC file, whole or not at all."""
        profile = {**asdict(self.profile), "stop_words": sorted(self.profile.stop_words)}
        arrays: dict[str, NDArray[Any]] = {
            "slots": self.slots,
            "routes.offsets": self.routes.offsets,
            "routes.values": self.routes.values,
            "weights": self.weights,
            **self.spots.arrays(),
            **self.copies.arrays(),
            **string_arrays("profile", strings([json.dumps(profile)])),
            **string_arrays("keys", self.keys),
        }
        write_segment(path, _KIND, arrays, {"matchers": self.matchers}, layout=_LAYOUT)

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map what was saved; nothing is copied. A torn, foreign or altered file is refused by name."""
        arrays, numbers = read_segment(path, _KIND, layout=_LAYOUT, verify=verify)
        profile = json.loads(read_strings(arrays, "profile")[0].as_py())
        profile["stop_words"] = frozenset(profile["stop_words"])
        keys = read_strings(arrays, "keys")
        return cls(
            Profile(**profile),
            numbers["matchers"],
            keys,
            word_hashes(keys),
            arrays["slots"],
            Csr(arrays["routes.offsets"], arrays["routes.values"]),
            arrays["weights"],
            Spots.read(arrays),
            Copies.read(arrays),
        )


class _Ways(NamedTuple):
    """What the kernel reads."""

    hashes: Hashes
    slots: Int64
    routes: Csr
    weights: Int64
    spots: Spots


@njit(cache=True, nogil=True)
def _visits(terms: Csr, cells: Int32, ways: _Ways, posts: Hashes, entry_of: Int64) -> Any:
    """Put the routes of a post's terms together; `entry_of` is where each matcher was last put, -1 at first."""
    routes, spots = ways.routes, ways.spots
    offsets = np.zeros(len(terms.offsets), np.int64)
    room = len(terms.values) if len(spots.matchers) else 0
    for key in terms.values:
        most = 0
        for slot in range(ways.slots[key], ways.slots[key + 1]):
            most = max(most, routes.offsets[slot + 1] - routes.offsets[slot])
        room += most
    room = min(room, (len(terms.offsets) - 1) * len(entry_of))
    matchers, keys = np.empty(room, np.int32), np.empty(room, np.int64)
    subscriptions = np.empty(room, np.int64)
    end = 0
    for post in range(len(terms.offsets) - 1):
        begin = end
        for key in terms.values[terms.offsets[post] : terms.offsets[post + 1]]:
            first, versions = ways.slots[key], ways.slots[key + 1] - ways.slots[key]
            if versions > 0:
                slot = first if versions == 1 else first + drawn(posts[post], ways.hashes[key], versions)
                for i in range(routes.offsets[slot], routes.offsets[slot + 1]):
                    matcher, weight = routes.values[i], ways.weights[i]
                    end = _entered(matcher, weight, begin, end, entry_of, matchers, keys, subscriptions)
            spot = slot_of(spots.heard, cells[post], key) if cells[post] >= 0 else -1
            if spot >= 0:
                matcher, weight = spots.matchers[spot], spots.weights[spot]
                end = _entered(matcher, weight, begin, end, entry_of, matchers, keys, subscriptions)
        order = np.argsort(matchers[begin:end])
        matchers[begin:end] = matchers[begin:end][order]
        keys[begin:end] = keys[begin:end][order]
        subscriptions[begin:end] = subscriptions[begin:end][order]
        offsets[post + 1] = end
    return offsets, matchers[:end], keys[:end], subscriptions[:end]


@njit(cache=True, nogil=True)
def _entered(
    matcher: int, weight: int, begin: int, end: int, entry_of: Int64, matchers: Int32, keys: Int64, subscriptions: Int64
) -> int:
    """Enter a matcher among the visits of the post that begin at `begin`, once; return the new end."""
    entry = entry_of[matcher]
    if entry < begin:
        entry = entry_of[matcher] = end
        matchers[entry], keys[entry], subscriptions[entry] = matcher, 0, 0
        end += 1
    keys[entry] += 1
    subscriptions[entry] += weight
    return end
