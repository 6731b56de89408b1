"""Plans on matcher clocks: the paper's against ours, with short subscriptions, up to millions of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa

from tidegate.bench.report import Report, Row
from tidegate.bench.route.audience import Audience
from tidegate.bench.route.clock_costs import clock_costs
from tidegate.bench.route.clocks import Clocked, clocked, replicated
from tidegate.bench.route.corpus import Corpus
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import Contender, Trials
from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs
from tidegate.route.forecast import Evidence
from tidegate.route.learning import learned
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample

_PER_HOST: Final = 8
_SHARE: Final = 0.5
"""Of the whole index, what a host has memory for."""
_MATCHES_PER_POST: Final = 10.0
_KNOWN: Final = 100_000
"""Subscriptions that a plan is chosen by: the others are like them."""
_KEPT: Final = 10
"""Of so many posts to learn from, one is kept for choosing the head."""
_PAPERS: Final = "SALB, LASP, every word (S³-TM)"
_OURS: Final = "head and tail"
_REPLICATE: Final = "replicate"


@dataclass(frozen=True)
class Scene:
    """What plans learn from, and what they are clocked on."""

    learned: Sample
    kept: Sample
    posts: pa.Table
    costs: Costs

    @classmethod
    def of(cls, corpus: Corpus, asked: Asked, sizes: Sizes) -> Self:
        """Split a corpus as its first fold does, and measure what clocks charge for."""
        fold = corpus.fold(0, sizes.folds)
        is_kept = np.arange(len(fold.learned)) % _KEPT == 0
        kept = fold.learned.only(np.flatnonzero(is_kept))
        posts = corpus.posts(np.resize(fold.rows, sizes.short_posts))
        return cls(fold.learned.only(np.flatnonzero(~is_kept)), kept, posts, clock_costs(asked, posts, kept))

    def head_and_tail(self, audience: Audience, asked: Asked, matchers: int) -> Clocked:
        """Learn the plan for hosts that have memory for half of the index, and run it."""
        cluster = Cluster(matchers, _PER_HOST, _SHARE * self.costs.subscription_bytes * len(audience))
        known = audience.first(_KNOWN).asked()
        evidence = Evidence(self.kept, known, len(audience), self.costs, cluster)
        found = learned(Plan("headtail", matchers), self.learned, evidence)
        return clocked(found.plan, found.words, asked, self.posts, per_host=_PER_HOST)


def report_contest(report: Report, corpus: Corpus, trials: Trials, sizes: Sizes, seed: int) -> Iterator[str]:
    """Let plans match the same posts, of which they must find the same matches; yield what comes next."""
    most = max(sizes.short_subscriptions, *sizes.short_grown)
    crowd = Audience.short(corpus, most, _MATCHES_PER_POST * most / sizes.short_subscriptions, seed)
    audience = crowd.first(sizes.short_subscriptions)
    asked = audience.asked()
    scene = Scene.of(corpus, asked, sizes)
    whole = replicated(asked, scene.posts)
    different = min(sizes.short_posts, -(-len(corpus.sample) // sizes.folds))
    for matchers in sizes.short_matchers:
        yield f"clocked plans, {matchers} matchers"
        runs = {name: run.checked(whole) for name, run in _runs(scene, audience, asked, trials, matchers)}
        runs[_REPLICATE] = whole.shared_by(matchers)
        report.section(
            f"Clocked plans, {matchers} matchers: {len(audience):,} short subscriptions",
            [_row(name, run, runs[_PAPERS], whole) for name, run in runs.items()],
            note=f"{whole.posts:,} posts in one batch ({different:,} different ones), each with "
            f"{len(whole.matches) / whole.posts:.3g} matches, the same by every plan; hosts of {_PER_HOST} matchers; "
            "memory as a share of the whole index",
        )
        report.summary[f"headtail_over_salb_{matchers}"] = runs[_OURS].throughput / runs[_PAPERS].throughput
    yield "head and tail against replicate"
    _report_growth(report, scene, crowd, sizes)


def _runs(
    scene: Scene, audience: Audience, asked: Asked, trials: Trials, matchers: int
) -> Iterator[tuple[str, Clocked]]:
    salb, refined = (trials.maps[Contender(name, splitting=True), matchers] for name in ("salb", "refined"))
    by_cost, by_rarest = Plan("salb", matchers, placement="lasp"), Plan("salb", matchers)
    yield _PAPERS, clocked(by_cost, salb, asked, scene.posts, every_word=True)
    yield "SALB, keys", clocked(by_rarest, salb, asked, scene.posts)
    yield "refined, keys", clocked(Plan("refined", matchers), refined, asked, scene.posts)
    yield _OURS, scene.head_and_tail(audience, asked, matchers)


def _row(name: str, run: Clocked, papers: Clocked, whole: Clocked) -> Row:
    return {
        "plan": name,
        "posts/s": run.throughput,
        "× the paper's": run.throughput / papers.throughput,
        "visits a post": run.spread,
        "bytes sent a post": run.sent_bytes / run.posts,
        "router, µs a post": 1e6 * run.router_s / run.posts,
        "slowest matcher, µs a post": 1e6 * max(run.matcher_s) / run.posts,
        "slowest over mean": run.imbalance,
        "head, words": run.plan.head,
        "head, % of subscriptions": 100 * run.head,
        "a host's memory, %": 100 * run.host_bytes / whole.host_bytes,
    }


def _report_growth(report: Report, scene: Scene, crowd: Audience, sizes: Sizes) -> None:
    """Report who wins where as subscriptions grow."""
    matchers = sizes.short_matchers[0]
    rows: list[Row] = []
    for count in sizes.short_grown:
        audience = crowd.first(count)
        asked = audience.asked()
        whole = replicated(asked, scene.posts).shared_by(matchers)
        ours = scene.head_and_tail(audience, asked, matchers).checked(whole)
        rows += [
            {
                "subscriptions": count,
                "plan": name,
                "posts/s": run.throughput,
                "× replicate": run.throughput / whole.throughput,
                "visits a post": run.spread,
                "head, % of subscriptions": 100 * run.head,
                "MB a host": run.host_bytes / 1e6,
                "matches a post": len(whole.matches) / whole.posts,
            }
            for name, run in ((_OURS, ours), (_REPLICATE, whole))
        ]
    wins = [f"{row['subscriptions']:,}" for row in rows if row["plan"] == _OURS and row["× replicate"] > 1]
    report.section(
        f"Growth: head and tail against replicate, {matchers} matchers, by short subscriptions",
        rows,
        note=f"head and tail is faster at {', '.join(wins) or 'none of these sizes'}; what it saves is memory",
    )
