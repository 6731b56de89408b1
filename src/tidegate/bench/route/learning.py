"""Figures 13 and 28: what a larger learning corpus is good for, and what it costs."""

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Final

import numpy as np

from tidegate.bench.report import Report, Row
from tidegate.bench.route.audience import Audience
from tidegate.bench.route.corpus import Corpus, Fold, Lesson
from tidegate.bench.route.peak import peak
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import CONTENDERS, SALB

_MILLION: Final = 1_000_000
_GRAPHS: Final = ("gc", "gfc", "gfcl", "gnfcl")
_PAPER: Final = {
    ("salb", _MILLION): 120,
    ("salb", 10 * _MILLION): 4 * 3600,
    **dict.fromkeys(((name, _MILLION) for name in _GRAPHS), 60),
    **dict.fromkeys(((name, 10 * _MILLION) for name in _GRAPHS), 4 * 3600),
}
"""Seconds, as far as §6.6 states them."""


def report_learning(report: Report, corpus: Corpus, audience: Audience, sizes: Sizes) -> None:
    """Learn every map from growing parts of a fold, and measure it on the rest."""
    fold = corpus.fold(0, sizes.folds)
    rows = list(_rows(fold, audience, sizes))
    report.section(
        f"Figures 13 and 28: learning for {sizes.learning_matchers} matchers, by posts learned from",
        rows,
        note=f"throughput with {len(audience):,} {audience.kind} subscriptions, on other posts; beyond the "
        f"{len(fold.learned):,} there are, posts are repeated, which tells of time and memory alone. "
        "Memory is that of the whole process, the sample included",
    )
    seconds = {(row["map"], row["posts"]): row["seconds"] for row in rows}
    report.summary["learn_s_1m"] = seconds.get((SALB.label, _MILLION))


def _rows(fold: Fold, audience: Audience, sizes: Sizes) -> Iterator[Row]:
    subscribed = audience.subscribed()[fold.word_of]
    for posts in sizes.learned:
        sample = fold.learned.only(np.resize(np.arange(len(fold.learned)), posts))
        for contender in CONTENDERS:
            slowly = sizes.most_learned.get(contender.name, sizes.slowly_learned)
            if contender.is_slow and posts > slowly:
                continue
            lesson = Lesson(replace(sample))  # without the index from words to posts, which is part of learning
            with peak() as memory:
                start = perf_counter()
                words = contender.learn(lesson, sizes.learning_matchers)
                seconds = perf_counter() - start
            fresh = posts <= len(fold.learned)
            yield {
                "posts": posts,
                "map": contender.label,
                "seconds": seconds,
                "paper, s": _PAPER.get((contender.label, posts)),
                "peak, MB": memory.resident and memory.resident / 1e6,
                "throughput": words.measured(fold.seen, subscribed).throughput if fresh else None,
            }
