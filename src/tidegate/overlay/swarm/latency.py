"""How long a letter takes: between places of a matrix that was measured, or that is drawn; peers are at places."""

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tidegate.csr import Int32
from tidegate.errors import ConfigError
from tidegate.workload.columns import Columns
from tidegate.workload.terms import Floats

_PLACES: Final = 256
_MEDIAN_S: Final = 0.065
"""One way; half of a round trip of 130 ms, as between the nodes of PlanetLab."""
_DETOUR: Final = 0.3
"""The deviation of the logarithm of what a way takes beyond its length."""
_TRIPS: Final = Columns("latencies", ("src", "dst"), ("rtt_ms",), may_be_empty=True)


class Latency(NamedTuple):
    """Seconds from one place to another, one way, and by peer its place."""

    one_way: Floats
    place: Int32


def no_latency(peers: int) -> Latency:
    """Letters arrive at once."""
    return Latency(np.zeros((1, 1)), np.zeros(peers, np.int32))


def longest_round_trip(latency: Latency) -> float:
    """Return how many seconds pass before an answer is there from wherever it takes longest."""
    return float((latency.one_way + latency.one_way.T).max())


def drawn_latency(peers: int, seed: int) -> Latency:
    """Draw places on a square, and ways between them that are as long as they are far apart, or somewhat longer."""
    generator = np.random.default_rng([seed, 10])
    points = generator.random((_PLACES, 2))
    lengths = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    detours = np.triu(generator.lognormal(0.0, _DETOUR, (_PLACES, _PLACES)), 1)
    ways = (lengths + 0.02) * (detours + detours.T + np.eye(_PLACES))
    return Latency(ways * (_MEDIAN_S / np.median(ways)), _placed(peers, _PLACES, generator))


def read_latency(path: Path, peers: int, seed: int) -> Latency:
    """Read round trips, and draw peers onto their places: Parquet with columns `src`, `dst` and `rtt_ms`.

    A way that was not measured takes as long as the way back; if that was not either, as the slower of what is usual
    from here and what is usual to there. Within a place it takes as long as the shortest way from there.
    """
    (source, target), (measured,) = _TRIPS.read(path)
    names, numbers = np.unique(np.concatenate((source, target)), return_inverse=True)
    if len(names) < 2:
        raise ConfigError(f"{path}: latencies between at least two places are needed")
    trips = np.full((len(names), len(names)), np.nan)
    trips[tuple(np.split(numbers, 2))] = measured
    trips[~(trips > 0)] = np.nan
    np.fill_diagonal(trips, np.nan)
    if np.isnan(trips).all():
        raise ConfigError(f"{path}: no round trip between two places takes more than 0 ms")
    return Latency(_filled(trips) / 2000.0, _placed(peers, len(names), np.random.default_rng([seed, 11])))


def check_latency(path: Path) -> None:
    """Refuse a file without round trips, without reading it all."""
    _TRIPS.check(path)


def _filled(trips: Floats) -> Floats:
    trips = np.where(np.isnan(trips), trips.T, trips)
    everywhere = float(np.nanmedian(trips))
    known = ~np.isnan(trips).all(axis=1)
    usual, shortest = np.full((2, len(trips)), everywhere)
    usual[known] = np.nanmedian(trips[known], axis=1)
    shortest[known] = np.nanmin(trips[known], axis=1)
    trips = np.where(np.isnan(trips), np.maximum(usual[:, None], usual[None]), trips)
    np.fill_diagonal(trips, shortest)
    return trips


def _placed(peers: int, places: int, generator: np.random.Generator) -> Int32:
    return generator.integers(places, size=peers, dtype=np.int32)
