"""Receiving: sorting out, in a Python worker, the posts that cannot be matched, each with its reason."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.spark.columns import CORRUPT, Columns
from tidegate.spark.letter import letter
from tidegate.store.dead_letters import DeadLetters
from tidegate.text.posts import off_earth


class Receiver:
    """Receives the posts of one partition of one micro-batch."""

    def __init__(self, columns: Columns, letters: DeadLetters, origin: str) -> None:
        """Set bad posts aside in `letters`, under an origin that is the same in every replay."""
        self._columns = columns
        self._letters = letters
        self._origin = origin
        self._files = 0

    def good(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
        """Return the posts that can be matched, and how many cannot; those are set aside when this returns."""
        reasons = list(_problems(batch, self._columns))
        bad = np.zeros(batch.num_rows, np.bool_)
        for mask, _ in reasons:
            bad |= mask
        rows = np.flatnonzero(bad)
        if len(rows) == 0:
            return batch, 0
        letters = []
        for row in rows.tolist():
            reason = "; ".join(reason for mask, reason in reasons if mask[row])
            letters.append(letter(batch.slice(row, 1), self._columns.id, reason))
        self._letters.put(f"{self._origin}-{self._files}", letters)
        self._files += 1
        return batch.filter(pa.array(~bad)), len(rows)


def _problems(batch: pa.RecordBatch, columns: Columns) -> Iterator[tuple[np.ndarray, str]]:
    """Masks of the posts with a problem, each with its name."""
    if CORRUPT in batch.schema.names:
        undecodable = _mask(pc.is_valid(batch.column(CORRUPT)))
        yield undecodable, "the payload cannot be decoded"
    else:
        undecodable = np.zeros(batch.num_rows, np.bool_)
    yield _empty(batch.column(columns.id)) & ~undecodable, f"no id in column {columns.id!r}"
    yield _mask(pc.is_null(batch.column(columns.text))) & ~undecodable, f"no text in column {columns.text!r}"
    if columns.lat is not None and columns.lon is not None:
        yield off_earth(batch, columns.lat, columns.lon), "its coordinates are not on Earth"


def _empty(values: pa.Array) -> np.ndarray:
    missing = _mask(pc.is_null(values))
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        missing |= _mask(pc.fill_null(pc.equal(pc.binary_length(values), 0), False))
    return missing


def _mask(values: pa.Array) -> np.ndarray:
    return np.array(values.to_numpy(zero_copy_only=False))
