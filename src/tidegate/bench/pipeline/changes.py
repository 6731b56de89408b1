"""Changes per second: batches as a stream of changes brings them, and single calls that wait to be durable."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.bench.index.measure import timed
from tidegate.bench.pipeline.searches import Searches
from tidegate.bench.report import Report, Row
from tidegate.errors import TidegateError
from tidegate.spark.trials.changes import changes_per_second
from tidegate.store.store import Store

_BATCH: Final = 50_000
_FILES: Final = 2
_THREADS: Final = 64
_CHANGES_TARGET: Final = 50_000
_CALLS_TARGET: Final = 1_000


def report_changes(report: Report, spark: Any, folder: Path, searches: Searches, n_batches: int, calls: int) -> None:
    """Add both rates, on a store of their own; what was subscribed and not removed must be there in the end."""
    store = Store.open(folder / "store")
    size = min(_BATCH, len(searches))
    batches = [_changes(searches, number, size) for number in range(n_batches)]
    files = _write(batches, folder / "changes")
    rate = changes_per_second(spark, files, _FILES, n_batches, store, folder / "checkpoint")
    queries = searches.changes(0, calls).column("query").to_pylist()
    with ThreadPoolExecutor(_THREADS) as threads:
        seconds, ids = timed(lambda: list(threads.map(lambda query: store.subscribe("bench", query), queries)))
    _require_standing(store, batches, ids)
    report.section(
        "Changes: subscribing, changing and unsubscribing",
        [
            _row(f"a stream, in micro-batches of {size:,}", n_batches * size, rate, _CHANGES_TARGET),
            _row(
                f"single calls from {_THREADS} threads, each durable when it returns",
                len(ids),
                len(ids) / seconds,
                _CALLS_TARGET,
            ),
        ],
        note=(
            "of the stream, eight rows in ten subscribe, one changes and one unsubscribes; its first batch, which only "
            "subscribes, is not timed"
        ),
    )
    report.summary |= {"changes_per_s": rate, "acknowledged_per_s": len(ids) / seconds}


def _changes(searches: Searches, number: int, count: int) -> pa.Table:
    """A batch: new subscriptions, and changes and removals of some that the batch before it made."""
    rows = searches.changes(number * count % (len(searches) - count + 1), count)
    kinds = np.arange(count) % 10 if number else np.zeros(count, np.int64)
    # The two before them are new ones, whatever the batch.
    ids = number * count + np.arange(count) - np.where(kinds >= 8, count + 2, 0)
    operations = pa.array(["subscribe", "change", "unsubscribe"]).take(pa.array(np.maximum(kinds - 7, 0)))
    return rows.set_column(0, "id", pa.array(ids).cast(pa.string())).append_column("operation", operations)


def _write(batches: list[pa.Table], folder: Path) -> Path:
    """Write every batch as so many files that each core reads one; Spark takes files in the order of their times."""
    folder.mkdir(parents=True)
    for number, batch in enumerate(batches):
        for piece in range(_FILES):
            path = folder / f"{number:06}-{piece}.parquet"
            begin, end = (batch.num_rows * cut // _FILES for cut in (piece, piece + 1))
            pq.write_table(batch.slice(begin, end - begin), path)
            os.utime(path, (number, number))
    return folder


def _require_standing(store: Store, batches: list[pa.Table], called: list[str]) -> None:
    """Raise unless exactly the subscriptions that were made and not removed are in the store."""
    expected = set(called)
    for batch in batches:
        removed = pc.equal(batch.column("operation"), "unsubscribe")
        expected |= set(batch.filter(pc.invert(removed)).column("id").to_pylist())
        expected -= set(batch.filter(removed).column("id").to_pylist())
    found = set(store.subscriptions().column("id").to_pylist())
    if found != expected:
        raise TidegateError(f"wrong answers: {len(found):,} subscriptions stand, {len(expected):,} were asked for")


def _row(change: str, rows: int, rate: float, target: int) -> Row:
    return {"change": change, "rows": rows, "per second": rate, "target": target}
