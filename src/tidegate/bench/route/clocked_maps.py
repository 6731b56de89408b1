"""Figures 5 and 9 once more, by matcher clocks: every map with the placement and the routing of the paper."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tidegate.bench.report import Report, Row
from tidegate.bench.route.audience import Audience
from tidegate.bench.route.clocks import Clocked, clocked, replicated
from tidegate.bench.route.corpus import Corpus
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import CONTENDERS, SALB, Case, Trials
from tidegate.index.asked import Asked
from tidegate.route.plan import Plan


def report_clocked_maps(
    report: Report, corpus: Corpus, audiences: Sequence[Audience], trials: Trials, sizes: Sizes
) -> Iterator[str]:
    """Run every map of the first fold on the posts it was not learned from; yield what comes next."""
    posts = corpus.posts(corpus.fold(0, sizes.folds).rows[: sizes.clocked_posts])
    for audience in audiences:
        some = audience.first(sizes.subscriptions)
        asked = some.asked()
        whole = replicated(asked, posts)
        rows: list[Row] = []
        for matchers in sizes.clocked_matchers:
            yield f"clocked maps, {some.kind} subscriptions, {matchers} matchers"
            rows += _rows(some, asked, posts, trials, matchers, whole)
        report.section(
            f"Clocked maps, {some.kind}: {len(some):,} subscriptions placed by LASP, posts sent to all their words",
            rows,
            note=f"{posts.num_rows:,} posts of one fold, of which every map found the same matches",
        )


def _rows(
    audience: Audience, asked: Asked, posts: pa.Table, trials: Trials, matchers: int, whole: Clocked
) -> list[Row]:
    runs = {
        contender: clocked(
            Plan(contender.name, matchers, placement="lasp"),
            trials.maps[contender, matchers],
            asked,
            posts,
            every_word=True,
        ).checked(whole)
        for contender in CONTENDERS
    }
    return [
        {
            "matchers": matchers,
            "map": contender.label,
            "posts/s": run.throughput,
            "× SALB": run.throughput / runs[SALB].throughput,
            "equation 6, × SALB": trials.relative(Case(contender, matchers, audience.kind, len(audience))).mean,
            "visits a post": run.spread,
            "slowest over mean": run.imbalance,
        }
        for contender, run in runs.items()
    ]
