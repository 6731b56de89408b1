"""What a cluster pays with: microseconds of a core and bytes of a host, measured where they will be paid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError
from tidegate.index.asked import Asked
from tidegate.index.common_reading import kept
from tidegate.index.compiled import Compiled
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import Posts

_ROUNDS = 3


@dataclass(frozen=True)
class Costs:
    """By post, in microseconds of one core, unless it says otherwise."""

    read: float
    """Reading its text into terms."""
    route: float
    """Finding out whom it must visit."""
    visit: float
    """One visit: writing, sending and receiving a row, without reading its text again."""
    sizes: tuple[float, ...]
    """Numbers of subscriptions for which matching was timed, rising."""
    match_times: tuple[float, ...]
    """What matching against so many takes."""
    subscription_bytes: float
    """What a subscription takes of a host's memory."""

    def match(self, subscriptions: float) -> float:
        """Return what matching costs against so many subscriptions: even in the logarithm, beyond the last size too.

        >>> Costs(0.5, 0.2, 2.0, (1_000, 100_000), (1.0, 3.0), 60.0).match(10_000)
        2.0
        """
        if subscriptions <= 0:
            return 0.0
        sizes, times = np.log(self.sizes), np.array(self.match_times)
        size = np.log(subscriptions)
        if size > sizes[-1] and len(sizes) > 1:
            return float(times[-1] + (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]) * (size - sizes[-1]))
        return float(np.interp(size, sizes, times))


@dataclass(frozen=True)
class Cluster:
    """What a plan is made for."""

    matchers: int
    """Cores that match; they also receive and route, each its share."""
    per_host: int = 8
    host_bytes: float = float("inf")
    """How much memory a host has for subscriptions; its matchers share one mapping of the head."""

    def __post_init__(self) -> None:
        """Refuse what is no cluster."""
        if self.matchers < 1 or self.per_host < 1 or not self.host_bytes > 0:
            raise ConfigError(f"{self}: a cluster has matchers, hosts with some of them, and memory")


def measured_matching(
    asked: Asked, posts: Sample, analyzer: Analyzer
) -> tuple[Sequence[float], Sequence[float], float]:
    """Time matching against growing parts of the subscriptions: return sizes, microseconds a post, bytes of each."""
    sizes = [size for size in (100, 1_000, 10_000, 100_000, 1_000_000) if 3 * size <= len(asked.ids)]
    sizes.append(len(asked.ids))
    times = []
    for size in sizes:
        rows = np.linspace(0, len(asked.ids) - 1, size).astype(np.int64)
        wanted = np.zeros(len(asked.queries), np.bool_)
        wanted[asked.query_of[rows]] = True
        compiled = Compiled.of(asked.only(wanted), analyzer)
        read = Posts(in_terms_of(posts, compiled.terms), None, *posts.at)
        times.append(_microseconds(compiled, read))
    with TemporaryDirectory() as folder:
        compiled.save(Path(folder) / "all")
        each = (Path(folder) / "all").stat().st_size / max(len(asked.ids), 1)
    return sizes, np.maximum.accumulate(times).tolist(), each


def in_terms_of(sample: Sample, terms: pa.LargeStringArray) -> Csr:
    """Return the posts of a sample as ids of other terms, without the words that are none of them."""
    own: Int32 = pc.index_in(sample.words, terms).fill_null(-1).to_numpy().astype(np.int32)
    return Csr(*kept(sample.posts, own))


def _microseconds(compiled: Compiled, posts: Posts) -> float:
    """What it takes to find queries by words and by places; phrases cannot be told from a sample."""
    best = float("inf")
    compiled.queries_of(replace(posts, terms=posts.terms.slice(0, 2), lat=posts.lat[:2], lon=posts.lon[:2]))
    for _ in range(_ROUNDS):
        start = perf_counter()
        compiled.queries_of(posts)
        best = min(best, perf_counter() - start)
    return 1e6 * best / max(len(posts), 1)
