"""How often to draw what, so that each is drawn by as many as are wanted, though nobody takes the same twice.

Who follows a thousand topics follows each of the most popular once, not in proportion to its followers. Drawn in
proportion, the popular would fall short, by a third in the largest workloads; so they are drawn more often.
"""

from typing import Final

import numpy as np

from tidegate.workload.terms import Floats

_CLASSES: Final = 400
"""Numbers that are nearly alike are treated as one."""
_ROUNDS: Final = 30
_STEPS: Final = 12


def drawing_weights(wanted: Floats, draws: Floats) -> Floats:
    """Return by topic its weight, such that as many drawers as `wanted` have it in the mean.

    Each drawer draws until it has so many different ones as `draws` says, one after the other, in proportion to the
    weights. It has one of weight w with a probability of about 1 − exp(−c·w), where c is its own, the more the more it
    draws. Sums of both sides have to agree.

    >>> weights = drawing_weights(np.array([2.9, 1, 1, 1.1]), np.full(3, 2.0))
    >>> bool(weights[0] > 5 * weights[1])
    True
    """
    if not (wanted > 0).any():
        return np.zeros_like(wanted)
    topics, topic_counts = _classes(wanted)
    drawers, drawer_counts = _classes(draws)
    most = drawer_counts.sum()
    topics = np.minimum(topics, 0.999 * most)
    weights = topics / (topic_counts @ topics)
    reach = drawers.copy()
    for _ in range(_ROUNDS):
        reach = _solved(reach, weights, topic_counts, np.minimum(drawers, 0.999 * topic_counts[topics > 0].sum()))
        weights = _solved(weights, reach, drawer_counts, topics)
    return np.where(
        wanted > 0, np.exp(np.interp(np.log(np.where(wanted > 0, wanted, 1.0)), *_logs(topics, weights))), 0.0
    )


def _classes(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the means of numbers that are nearly alike, rising, and how many there are of each."""
    edges = np.unique(np.geomspace(1, max(numbers.max(), 1) + 1, _CLASSES).astype(np.int64))
    place = np.searchsorted(edges, numbers, side="right")
    counts = np.bincount(place)
    sums = np.bincount(place, numbers)
    there = counts > 0
    return sums[there] / counts[there], counts[there].astype(np.float64)


def _solved(unknown: Floats, others: Floats, counts: Floats, sums: Floats) -> Floats:
    """Return x with Σ counts·(1 − exp(−x·others)) = sums, by Newton's steps in ln x, which never overshoot zero."""
    for _ in range(_STEPS):
        kept = np.exp(-np.outer(unknown, others))
        have = (1 - kept) @ counts
        slope = unknown * (kept @ (counts * others))
        step = np.divide(sums - have, slope, out=np.zeros_like(slope), where=slope > 0)
        unknown = unknown * np.exp(np.clip(step, -2, 2))
    return unknown


def _logs(topics: Floats, weights: Floats) -> tuple[Floats, Floats]:
    positive = topics > 0
    return np.log(topics[positive]), np.log(np.maximum(weights[positive], 1e-300))
