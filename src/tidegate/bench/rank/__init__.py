"""Benchmark `rank`: what ranked feeds cost on a chain of brokers, and how late they are (Figures 3 to 10).

And on Spark, how much of it is shuffled, and how fast. Arrays and messages have to count the same, and what is
delivered has to be explained, or be what one place would deliver: what differs ends the run.
"""

import tempfile
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.rank.checks import check_links, checked_small_cases
from tidegate.bench.rank.claims import summarise
from tidegate.bench.rank.comparison import report_latency, report_traffic
from tidegate.bench.rank.plots import plot
from tidegate.bench.rank.sensitivity import (
    report_delay,
    report_parameters,
    report_publishers,
    report_scoring,
    report_shift,
)
from tidegate.bench.rank.sizes import SIZES, Sizes
from tidegate.bench.rank.social import (
    Society,
    report_growth,
    report_scalability,
    report_synchronised,
    report_tails,
)
from tidegate.bench.rank.streamed import report_shuffled, report_streamed
from tidegate.bench.report import Report, Scale
from tidegate.errors import ConfigError
from tidegate.overlay.setting import Setting
from tidegate.spark.trials.batch import trial_session
from tidegate.spark.trials.ranked import holding_state
from tidegate.workload.follows import FACEBOOK_LIKE, TWITTER_LIKE, fans, friends, thinned

__all__ = ["plot", "run"]
_CASES = 10
_CHECKED_POSTS, _CHECKED_FEEDS = 3_000, 30
_CORES = 2
_PARTS = 15


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
    graph: Path | None = None,
) -> Report:
    """Run everything at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer.

    Follow graphs are generated; a real `graph` (Parquet: `src` follows `dst`), thinned to the same size, is reported
    besides. Posts are generated: a file of them is refused.
    """
    if posts is not None:
        raise ConfigError(f"benchmark 'rank' takes no posts, and {posts.name} was given: its feeds need followers")
    sizes = sizes or SIZES[scale]
    report = Report("rank", scale, {"seed": seed, "graph_file": graph.name if graph else None, **asdict(sizes)})
    run_parts(_parts(report, sizes, seed, graph), "small cases, checked", _PARTS + 2 * (graph is not None), progress)
    return report


def _parts(report: Report, sizes: Sizes, seed: int, graph: Path | None) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    links, feeds = checked_small_cases(seed, _CASES)
    for part in (
        report_traffic,
        report_latency,
        report_shift,
        report_parameters,
        report_delay,
        report_scoring,
        report_publishers,
    ):
        yield part.__name__.replace("_", " ")
        part(report, sizes, seed)
    yield "follow graphs"
    societies = _societies(sizes, seed)
    for society in societies:
        links += _checked(society)
    report_tails(report, societies + (real := _real(graph, sizes, seed)))
    gains: dict[str, float] = {}
    for society in societies + real:
        yield f"Figure 10, {society.name}"
        gains[society.name] = report_growth(report, society, sizes)
        report_synchronised(report, society, sizes)
    yield "scalability"
    report_scalability(report, societies, sizes)
    delivered = yield from _spark_parts(report, sizes, seed)
    summarise(report, gains)
    report.section(
        "Checked",
        [{"links, arrays against messages": links, "feeds, explained": feeds, "delivered on Spark": delivered}],
    )


def _spark_parts(report: Report, sizes: Sizes, seed: int) -> Generator[str, None, int]:
    """Do the parts on Spark; return how many posts were delivered and compared."""
    delivered = 0
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        yield "feeds on Spark"
        with trial_session(_CORES) as spark, holding_state(spark):
            delivered += report_streamed(report, spark, Path(folder), sizes, seed)
            yield "what is shuffled on Spark"
            delivered += report_shuffled(report, spark, Path(folder), sizes, seed)
    return delivered


def _societies(sizes: Sizes, seed: int) -> list[Society]:
    graphs = {
        "Facebook-like": friends(sizes.users, FACEBOOK_LIKE, seed),
        "Twitter-like": fans(sizes.users, TWITTER_LIKE, seed),
    }
    return [Society.draw(name, follows, sizes.social_posts, seed) for name, follows in graphs.items()]


def _real(graph: Path | None, sizes: Sizes, seed: int) -> list[Society]:
    if graph is None:
        return []
    kinds = ((FACEBOOK_LIKE, True), (TWITTER_LIKE, False))
    return [
        Society.draw(
            f"{graph.stem}, {mean} a user",
            thinned(graph, sizes.users, mean, seed, mutual=mutual),
            sizes.social_posts,
            seed,
        )
        for mean, mutual in kinds
    ]


def _checked(society: Society) -> int:
    """Compare both counts for some of the feeds; return the links."""
    few = society.first(_CHECKED_POSTS).on(24, _CHECKED_FEEDS)
    rules = (Setting("EDGE"), Setting("CHUNK"), Setting("B-CHUNK"), Setting("B-CHUNK", society.synchronised(0.1)))
    return sum(check_links(few.chain, few.posts, few.feeds, setting) for setting in rules)
