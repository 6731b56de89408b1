"""What matcher clocks charge for: reading, routing, visits and matching, as costs that plans are chosen by."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.bench.route.clocks import received, timed, written
from tidegate.index.asked import Asked
from tidegate.index.common_reading import CommonReading
from tidegate.route.costs import Costs, measured_matching
from tidegate.route.placement import place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer

_ROUNDS: Final = 3
_MATCHERS: Final = 8  # of the plan that is routed by: the cost hardly depends on it


def clock_costs(asked: Asked, posts: pa.Table, sample: Sample) -> Costs:
    """Measure the costs on posts, written out and as words, with some subscriptions."""
    analyzer = Analyzer()
    router = Router.build(place(asked.queries, Plan.hash(_MATCHERS)), analyzer)
    reading = CommonReading(analyzer.profile)
    way = reading.add(router.keys)
    (batch,) = posts.combine_chunks().to_batches()
    read = reading.read(batch)
    rows = pa.array(np.random.default_rng(0).permutation(len(batch)))
    sizes, times, each = measured_matching(asked, sample, analyzer)
    return Costs(
        read=_microseconds(partial(reading.read, batch), len(batch)),
        route=_microseconds(lambda: router.route_read(way(read).terms), len(batch)),
        visit=_microseconds(lambda: received(written(batch.take(rows))), len(batch)),
        sizes=tuple(sizes),
        match_times=tuple(times),
        subscription_bytes=each,
    )


def _microseconds(work: Callable[[], object], posts: int) -> float:
    return 1e6 * min(timed(work)[0] for _ in range(_ROUNDS)) / posts
