"""Subscriptions that change by a stream: subscribe, change and unsubscribe rows, applied once each, batch by batch.

The executors read the queries, which is nearly all of the work; the driver only commits.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType, StructField, StructType

from tidegate.errors import ConfigError
from tidegate.rank.score import Scorable
from tidegate.spark.letter import letter
from tidegate.spark.run import run_id
from tidegate.store.checking import subscription_errors
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.schema import SUBSCRIPTION, conform
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

COLUMNS = {
    "operation": "string",
    **dict.fromkeys(("id", "subscriber", "query", "region", "ranking"), "string"),
    "tags": "array<string>",
    **dict.fromkeys(("created", "expires"), "timestamp"),
}
"""The columns that changes may have, and their types; `id` they must have."""

_PROBLEM = "_problem"
_Batches = Iterator[pa.RecordBatch]
_log = logging.getLogger(__name__)


class Changed(NamedTuple):
    """What became of a micro-batch of changes."""

    batch: int
    version: int
    """From which version on they count."""
    accepted: int
    """Changes that count: the last of each id."""
    refused: int


Report = Callable[[Changed], None]


def apply_changes(
    changes: DataFrame, store: Store, *, checkpoint: str, trigger_s: float = 1.0, report: Report | None = None
) -> StreamingQuery:
    """Start to apply a stream of changes to a store; each is applied once, whatever dies meanwhile.

    `operation` is subscribe or change (the row is the whole subscription from now on) or unsubscribe (its id is
    enough); without such a column all rows subscribe. Of several rows of a micro-batch with one id the last counts, so
    those of one id belong in one file or one partition of a topic. What cannot be accepted is set aside in the store's
    dead letters. `report` is told what became of every batch.
    """
    _check_columns(changes.schema)
    if trigger_s < 0:
        raise ConfigError(f"trigger is {trigger_s} s: give 0 or more")
    run = run_id(checkpoint)
    writer = changes.writeStream.queryName(f"tidegate-changes-{run}").option("checkpointLocation", checkpoint)
    writer = writer.trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds")
    return writer.foreachBatch(ChangeBatches(run, store, report)).start()


class ChangeBatches:
    """Applies one batch of changes after the other; one that comes again leaves everything as it is."""

    def __init__(self, run: str, store: Store, report: Report | None = None) -> None:
        """Apply to `store`, in the name of a run."""
        self._run, self._store, self._report = run, store, report

    def __call__(self, changes: DataFrame, batch: int) -> None:
        """Check the changes where they are, commit the good ones, and set the others aside."""
        checked = StructType([*changes.schema.fields, StructField(_PROBLEM, StringType())])
        rows = changes.mapInArrow(checking(self._store.scorable), checked).toArrow()
        bad = rows.filter(pc.is_valid(rows.column(_PROBLEM)))
        good = rows.filter(pc.is_null(rows.column(_PROBLEM))).drop_columns([_PROBLEM])
        applied = self._store.apply(good, batch=(self._run, batch), checked=True)
        problems = bad.column(_PROBLEM).to_pylist()
        letters = [_letter(bad.drop_columns([_PROBLEM]), row, reason) for row, reason in enumerate(problems)]
        letters += [_letter(good, refusal.row, str(refusal.error)) for refusal in applied.refused]
        if letters:
            DeadLetters(self._store.beside).put(f"{self._run}/{batch:012}-changes", letters)
            _log.info("batch %d: %d changes refused", batch, len(letters))
        if self._report is not None:
            self._report(Changed(batch, applied.version, applied.accepted, len(letters)))


def checking(known: Scorable) -> Callable[[_Batches], _Batches]:
    """Return the function that says of every change what is wrong with its query, its ranking or its subscriber.

    The rest is seen when it is applied. `known` is what scores can go by.
    """

    def check(batches: _Batches) -> _Batches:
        analyzer = Analyzer()
        for batch in batches:
            problems = pa.array(_problems(pa.Table.from_batches([batch]), analyzer, known), pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, problems], names=[*batch.schema.names, _PROBLEM])

    return check


def _problems(changes: pa.Table, analyzer: Analyzer, known: Scorable) -> list[str | None]:
    found: list[str | None] = [None] * changes.num_rows
    rows = changes
    asked = np.arange(changes.num_rows)
    if "operation" in changes.schema.names:
        asks = pc.is_in(changes.column("operation"), value_set=pa.array(["subscribe", "change"]))
        asked = np.flatnonzero(asks.to_numpy())
        rows = changes.take(pa.array(asked)).drop_columns(["operation"])
    for row, error in subscription_errors(conform(rows, SUBSCRIPTION), analyzer, known).items():
        found[int(asked[row])] = str(error)
    return found


def _letter(changes: pa.Table, row: int, reason: str) -> dict[str, Any]:
    (change,) = changes.slice(row, 1).to_batches()
    return letter(change, "id", reason)


def _check_columns(schema: StructType) -> None:
    if "id" not in schema.names:
        raise ConfigError(f"changes have no column 'id': the columns are {', '.join(schema.names)}")
    for column in schema.fields:
        wanted, found = COLUMNS.get(column.name), column.dataType.simpleString()
        if wanted is None:
            raise ConfigError(f"column {column.name!r} is none of a change's: these are {', '.join(COLUMNS)}")
        if found != wanted:
            raise ConfigError(f"column {column.name!r} is of type {found}: {wanted} is needed; cast it first")
