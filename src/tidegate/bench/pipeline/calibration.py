"""The part of the benchmark that a capacity model needs, on this machine and within a minute.

So few posts are matched that starting a job takes as long as they do: what counts is what more of them take.
"""

import tempfile
from pathlib import Path
from typing import Any, Final

from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.forecast import CORES
from tidegate.bench.pipeline.memory import report_memory
from tidegate.bench.pipeline.searches import Searches, several_words
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import STAGES
from tidegate.bench.report import Report, Row
from tidegate.spark.trials.batch import fingerprint, matching_seconds, trial_session

_SIZES: Final = (10_000, 100_000)
_POSTS: Final = 200_000
_FEW: Final = 10
"""Of so many posts, one is matched to see what starting takes."""
_MATCHES_PER_POST: Final = 10.0
_ROUNDS: Final = 2


def calibration(seed: int = 1, sizes: tuple[int, ...] = _SIZES, posts: int = _POSTS) -> Report:
    """Match generated posts against some numbers of subscriptions, on two cores; return what that took."""
    report = Report("pipeline", "small", {"seed": seed, "posts": posts, "cores": CORES})
    corpus = Corpus.read(None, posts, seed)
    with tempfile.TemporaryDirectory(prefix="tidegate-calibration-") as place, trial_session(CORES) as spark:
        folder = Path(place)
        written = {count: corpus.write(folder / f"posts-{count}", 0, count) for count in (posts, posts // _FEW)}
        for count in sizes:
            searches = Searches.draw(corpus, count, _MATCHES_PER_POST, several_words(), seed)
            subscribed = Subscribed.fill(folder / f"store-{count}", searches)
            title = f"Throughput: {count:,} subscriptions, {posts:,} posts, beside what starting takes"
            report.section(title, _paces(spark, written, subscribed))
        report_memory(report, Path(subscribed.store.location.url), len(subscribed))
    return report


def _paces(spark: Any, written: dict[int, Path], subscribed: Subscribed) -> list[Row]:
    most, few = max(written), min(written)
    store, at = subscribed.store, subscribed.at
    found = fingerprint(spark, written[most], store, at)  # warms up, too
    rows: list[Row] = []
    for per, stage in STAGES.items():
        seconds = {
            count: min(matching_seconds(spark, path, store, at, per) for _ in range(_ROUNDS))
            for count, path in written.items()
        }
        # A machine that is busy otherwise may take longer for few posts than for many.
        took = max(seconds[most] - seconds[few], seconds[most] / 10)
        rows.append({"stage": stage, "posts/s": (most - few) / took, "matches a post": found.matches / most})
    return rows
