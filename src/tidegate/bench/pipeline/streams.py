"""Streams: how soon a subscription counts, and how long a post takes at half of what the pipeline can do."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.report import Report, Row
from tidegate.spark.trials.streams import Arrivals, latencies, visibility
from tidegate.workload.terms import Floats

_FILE_S: Final = 0.1
_FILES: Final = 10
_QUIET_POSTS: Final = 1_000
_VISIBLE_MS: Final = 2_000
_LATENCY_MS: Final = 1_500


def report_streams(
    report: Report,
    spark: Any,
    folder: Path,
    corpus: Corpus,
    subscribed: Subscribed,
    capacity: float,
    probes: int,
    seconds: float,
) -> None:
    """Add visibility and latency. The subscriptions made for the first stay in the store."""
    quiet = min(_QUIET_POSTS, len(corpus.texts) // _FILES)
    arrivals = Arrivals(_files(corpus, folder / "quiet", quiet), folder / "visibility" / "posts", _FILE_S)
    commonest = corpus.words[0].as_py()
    seen = visibility(spark, arrivals, subscribed.store, commonest, probes, folder / "visibility")

    # At most as many posts as there are, and then a shorter beat.
    rows = min(round(capacity / 2 * _FILE_S), len(corpus.texts) // _FILES)
    every = rows / (capacity / 2)
    arrivals = Arrivals(_files(corpus, folder / "half", rows), folder / "latency" / "posts", every)
    waited = latencies(spark, arrivals, subscribed.store, rows, seconds, folder / "latency")

    report.section(
        f"Streams: {len(subscribed):,} subscriptions, the main job on two cores",
        [
            _row(f"subscription visible, trigger 1 s, {quiet / _FILE_S:,.0f} posts/s", np.array(seen), _VISIBLE_MS),
            _row(f"post on its way, trigger 500 ms, {rows / every:,.0f} posts/s", waited, _LATENCY_MS),
        ],
        note=(
            f"visible: {probes} subscriptions, from acknowledgement until matches are in a Parquet sink; on its way: "
            f"at half of the capacity above, for {seconds:.0f} s, from a file's arrival until its batch is done"
        ),
    )
    report.summary["visibility_ms_p99"] = 1e3 * float(np.quantile(seen, 0.99))
    report.summary["latency_ms_p99"] = 1e3 * float(np.quantile(waited, 0.99))


def _files(corpus: Corpus, folder: Path, rows: int) -> list[Path]:
    return sorted(corpus.write(folder, 0, rows * _FILES, files=_FILES).glob("*.parquet"))


def _row(name: str, seconds: Floats, target: int) -> Row:
    p50, p99, most = 1e3 * np.quantile(seconds, [0.5, 0.99, 1.0])
    return {
        "what": name,
        "measured": len(seconds),
        "p50, ms": float(p50),
        "p99, ms": float(p99),
        "most, ms": float(most),
        "target p99, ms": target,
    }
