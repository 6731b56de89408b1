"""Demand like that of the traces of the thesis (chapter 5), in memory: what the benchmarks of `capacity` ask for."""

import numpy as np

from tidegate.capacity.demand import Demand
from tidegate.workload.social import Kind, Social


def demand_like(kind: Kind, scale: float, seed: int) -> Demand:
    """Draw demand of this share of a trace's size, the same for a seed; nothing of it has to be mended."""
    social = Social.draw(kind, kind.numbers.scaled(scale), seed)
    topics, subscribers, _ = social.numbers
    return Demand(social.events, social.all_pairs(), np.arange(topics), np.arange(subscribers))
