"""Benchmark `drift`: word maps of one week on the posts and the topics of later ones (S³-TM, Figures 22 to 25)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Row, Scale
from tidegate.bench.route.audience import Audience, learned_topics
from tidegate.bench.route.corpus import Corpus
from tidegate.bench.route.plots import draw_panels, quartet
from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.index.strings import strings
from tidegate.route.maps import learn
from tidegate.route.measures import Measured
from tidegate.route.sample import Sample
from tidegate.route.word_map import WordMap
from tidegate.spark.trials.batch import trial_session
from tidegate.text.analyzer import Analyzer
from tidegate.workload import words
from tidegate.workload.alias import random_state, sample, sample_table
from tidegate.workload.posts import law, texts

_CORES: Final = 2
_WEEK: Final = 7 * 24 * 3600 * 1_000_000  # microseconds
_SPAN: Final = 5
"""Weeks of which a mean is taken."""
_MAPS: Final = ("hash", "gfcl", "gnfcl", "salb", "refined")
_RELEARNED: Final = "salb, relearned"
_STEP: Final = 0.3
"""By how much the weight of a generated topic changes in a week, in its logarithm."""


@dataclass(frozen=True)
class Sizes:
    """How many weeks are measured, and what of each."""

    weeks: int = 25
    """After the one that is learned from."""
    posts: int = 20_000
    """Of a week: so many are generated, and topics are learned from no more."""
    topics: int = 100
    subscriptions: int = 100_000
    matchers: int = 16


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(weeks=3, posts=5_000, topics=10, subscriptions=10_000),
    "paper": Sizes(),
    "max": Sizes(weeks=75),
}


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Learn from one week and measure those that follow, of generated posts or of a file with columns `ts` and `text`.

    Of a file, the weeks in a row with the most posts are taken. How far the run has come is shown by `progress`, or by
    a bar of its own on the standard error.
    """
    sizes = sizes or SIZES[scale]
    weeks = generated_weeks(sizes, seed) if posts is None else stored_weeks(posts, sizes.weeks + 1)
    report = Report("drift", scale, {"seed": seed, "posts_file": posts.name if posts else None, **asdict(sizes)})
    run_parts(_parts(report, sizes, seed, weeks), "week 0", len(weeks), progress)
    return report


def plot(report: Report, path: Path) -> None:
    """Draw Figures 22 to 25 into one picture."""
    draw_panels(report, quartet("Figures 22 to 25:", "topic-based", "week", 22), path)


def _parts(report: Report, sizes: Sizes, seed: int, weeks: Sequence[pa.LargeStringArray]) -> Iterator[str]:
    """Do one week after the other; yield the name of the next before it begins."""
    found: dict[str, list[Measured]] = {}
    with trial_session(_CORES):
        for number, written in enumerate(weeks):
            if number:
                yield f"week {number}"
            week = Corpus(written, Sample.of(pa.table({"text": written}), Analyzer()))
            if number == 0:
                maps = {name: learn(name, week.sample, sizes.matchers, splitting=False) for name in _MAPS}
                maps[_RELEARNED] = maps["salb"]
            for name, measured in _measured(maps, week, sizes, seed + number).items():
                found.setdefault(name, []).append(measured)
            maps[_RELEARNED] = learn("salb", week.sample, sizes.matchers, splitting=False)
    _report_spans(report, found, sizes, sum(map(len, weeks)) // len(weeks))
    _report_statements(report, found)


def _measured(maps: dict[str, WordMap], week: Corpus, sizes: Sizes, seed: int) -> dict[str, Measured]:
    """Route the posts of a week to subscribers of its own topics."""
    topics = learned_topics(week, sizes.topics, sizes.posts, seed)
    subscribed = Audience.topic_based(week, topics, sizes.subscriptions, seed).subscribed()
    return {name: learned.measured(week.sample, subscribed) for name, learned in maps.items()}


def generated_weeks(sizes: Sizes, seed: int) -> list[pa.LargeStringArray]:
    """Return the texts of weeks in which topics slowly become more or less popular, as by chance."""
    state, generator = random_state(seed), np.random.default_rng(seed)
    leaning = generator.normal(size=len(words.TOPICS))
    weeks = []
    for _ in range(sizes.weeks + 1):
        weights = np.exp(leaning)
        topics = sample(weights / weights.sum(), sizes.posts, state)
        weeks.append(strings(texts(topics, sample_table(law(len(words.PLACES)), sizes.posts, state), state)))
        leaning += generator.normal(scale=_STEP, size=len(leaning))
    return weeks


def stored_weeks(path: Path, count: int) -> list[pa.LargeStringArray]:
    """Return the texts of `count` weeks in a row, those with the most posts; all weeks, if there are no more."""
    try:
        posts = pq.read_table(path, columns=["ts", "text"]).drop_null()
        # Times may be written out; what they have below a microsecond is of no account.
        times = posts["ts"].cast(pa.timestamp("us", "UTC"), safe=False).cast(pa.int64()).to_numpy()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise ConfigError(f"no weeks can be read from {path}, which needs columns 'ts' and 'text': {error}") from error
    if len(times) == 0 or np.ptp(times) < _WEEK:
        raise ConfigError(f"{path} has posts of less than two weeks: drift needs one to learn from, and one to follow")
    week_of: Int64 = (times - times.min()) // _WEEK
    posts_of = np.bincount(week_of)
    count = min(count, len(posts_of))
    first = int(np.argmax(np.convolve(posts_of, np.ones(count), mode="valid")))
    written = strings(posts["text"])
    return [written.take(pa.array(np.flatnonzero(week_of == week))) for week in range(first, first + count)]


def _report_spans(report: Report, found: dict[str, list[Measured]], sizes: Sizes, posts: int) -> None:
    rows: list[Row] = []
    weeks = len(found["salb"])
    for first in (0, *range(1, weeks, _SPAN)):
        stop = min(first + _SPAN, weeks) if first else 1
        for name, measured in found.items():
            span = measured[first:stop]
            pairs = zip(span, found["salb"][first:stop], strict=True)
            rows.append(
                {
                    "week": first,
                    "to": stop - 1,
                    "map": name,
                    "spread": float(np.mean([one.spread for one in span])),
                    "imbalance": float(np.mean([one.imbalance for one in span])),
                    "throughput": float(np.mean([one.throughput for one in span])),
                    "× SALB": float(np.mean([one.throughput / salb.throughput for one, salb in pairs])),
                }
            )
    report.section(
        f"Figures 22 to 25: maps learned from week 0, {sizes.matchers} matchers, by weeks since then",
        rows,
        note=f"{sizes.subscriptions:,} subscriptions to {sizes.topics} topics, new ones every week; {posts:,} posts a "
        f"week; means of {_SPAN} weeks. Relearned: every week from the posts of the week before",
    )


def _report_statements(report: Report, found: dict[str, list[Measured]]) -> None:
    """Report what §6.4 says, beside ours; and the summary."""
    throughput = {name: np.array([one.throughput for one in measured]) for name, measured in found.items()}
    salb = throughput["salb"]
    ahead = min(float(np.mean(salb[1:] / throughput[name][1:])) for name in ("hash", "gfcl", "gnfcl"))
    report.summary |= {
        "drift_kept_by_salb": float(salb[1:].mean() / salb[0]),
        "drift_trend_of_salb": float(salb[-_SPAN:].mean() / salb[1 : 1 + _SPAN].mean()),
        "drift_salb_over_next": ahead,
        "drift_relearned_over_salb": float(np.mean(throughput[_RELEARNED][1:] / salb[1:])),
    }
    statements = {
        "drift_kept_by_salb": ("SALB's throughput after week 0, over that of week 0", "0.5"),
        "drift_trend_of_salb": ("its last weeks over the first ones after week 0", "about 1"),
        "drift_salb_over_next": ("over the next of hash, gFCL and gNFCL, after week 0", "> 1"),
        "drift_relearned_over_salb": ("what relearning every week brings", None),
    }
    report.section(
        "The paper's statements: what becomes of a map",
        [{"statement": what, "paper": paper, "ours": report.summary[key]} for key, (what, paper) in statements.items()],
    )
