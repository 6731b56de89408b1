"""Demand like that of two traces of the thesis (chapter 5), in rough: who follows what, and how many events come there.

Drawn block by block, into memory or into files. The only things that the benchmarks of `capacity` ask of a workload are
`demand_like` and `files_like`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.capacity.demand import Demand
from tidegate.capacity.pair_files import PairFiles
from tidegate.csr import Int64
from tidegate.workload.alias import alias_table, random_state, sample_table
from tidegate.workload.terms import Floats

_BLOCK: Final = 1_000_000
"""Subscribers."""


@dataclass(frozen=True)
class Like:
    """How large a trace is, and its laws: by rising value, the share of those that have more."""

    topics: int
    subscribers: int
    followings: tuple[tuple[float, float], ...]
    followers: tuple[tuple[float, float], ...]
    events: tuple[tuple[float, float], ...]


SPOTIFY: Final = Like(
    1_100_000,
    4_900_000,
    followings=((1, 1), (4, 0.19), (2_200, 2e-7)),
    followers=((1, 1), (6e5, 1e-6)),
    events=((1, 1), (100, 0.8), (1_000, 0.5), (15_200, 0.05), (3e5, 1e-6)),
)
TWITTER: Final = Like(
    8_000_000,
    30_000_000,
    followings=((1, 1), (20, 0.28), (20.5, 0.22), (2_000, 9e-4), (2_001, 5e-4), (1e5, 3e-8)),
    followers=((1, 1), (100, 0.12), (1e4, 5e-4), (1e6, 8e-6), (3.5e6, 1.2e-7)),
    events=((1, 1), (10, 0.5), (100, 0.14), (1_000, 5.75e-3), (1e5, 1.2e-7)),
)


def demand_like(like: Like, scale: float, seed: int) -> Demand:
    """Draw demand of this share of the trace's size, the same for a seed."""
    events, blocks = _drawn(like, scale, seed)
    who, what = (np.concatenate(column) for column in zip(*blocks, strict=True))
    demand, _ = Demand.of(events, who, what)
    return demand


def files_like(like: Like, scale: float, seed: int, folder: Path) -> PairFiles:
    """Draw it into a folder."""
    events, blocks = _drawn(like, scale, seed)
    pq.write_table(pa.table({"topic": np.arange(len(events)), "events": events}), folder / "topics.parquet")
    (folder / "pairs").mkdir()
    for number, (who, what) in enumerate(blocks):
        table = pa.table({"subscriber": who.astype(np.int32), "topic": what.astype(np.int32)})
        pq.write_table(table, folder / "pairs" / f"part-{number:05d}.parquet")
    return PairFiles(folder)


def _drawn(like: Like, scale: float, seed: int) -> tuple[Int64, Iterator[tuple[Int64, Int64]]]:
    random = np.random.default_rng([seed, 6])
    topics, subscribers = max(int(like.topics * scale), 10), max(int(like.subscribers * scale), 10)
    events = _law(like.events, random.random(topics)).astype(np.int64)
    popular = np.minimum(_law(like.followers, random.random(topics)), subscribers / 8)
    return events, _blocks(like, popular / popular.sum(), subscribers, seed)


def _blocks(like: Like, popularity: Floats, subscribers: int, seed: int) -> Iterator[tuple[Int64, Int64]]:
    alias, topics = alias_table(popularity), len(popularity)
    for first in range(0, subscribers, _BLOCK):
        random = np.random.default_rng([seed, 7, first])
        n = min(_BLOCK, subscribers - first)
        sizes = np.minimum(_law(like.followings, random.random(n)), topics / 4).astype(np.int64)
        drawn = sample_table(alias, int(sizes.sum()), random_state([seed, 8, first]))
        # Who draws a topic twice follows it once.
        pairs = np.unique(np.repeat(np.arange(first, first + n), sizes) * topics + drawn)
        yield pairs // topics, pairs % topics


def _law(knots: tuple[tuple[float, float], ...], shares: Floats) -> Floats:
    values, beyond = (np.log(column)[::-1] for column in zip(*knots, strict=True))
    return np.floor(np.exp(np.interp(np.log(np.maximum(shares, 1e-300)), beyond, values)))
