"""An allocation as a file: parts (`machine`, `topic`, `pairs`), and pairs (`machine`, `topic`, `subscriber`)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.capacity.packing import Parts
from tidegate.csr import Int32
from tidegate.errors import ConfigError

_PARTS: Final = pa.schema([("machine", pa.int32()), ("topic", pa.int32()), ("pairs", pa.int64())])
_PLACED: Final = pa.schema([("machine", pa.int32()), ("topic", pa.int32()), ("subscriber", pa.int32())])


def write_parts(parts: Parts, path: Path) -> None:
    """Write which machine has how many pairs of which topic, sorted by machine and topic."""
    order = np.lexsort((parts.topic, parts.machine))
    pq.write_table(pa.table([pa.array(column[order]) for column in parts], schema=_PARTS), path)


def read_parts(path: Path) -> Parts:
    """Read them again; `ConfigError` if it is no allocation."""
    try:
        table: Any = pq.read_table(path, schema=_PARTS)
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ConfigError(f"{path} is no allocation: {error}") from error
    parts = Parts(*(column.combine_chunks().to_numpy(zero_copy_only=False) for column in table.columns))
    if any(column.null_count for column in table.columns) or any(len(c) and c.min() < 0 for c in parts):
        raise ConfigError(f"{path} is no allocation: a machine, a topic or a number of pairs is missing or below 0")
    return parts


def write_placed(placed: Iterable[tuple[Int32, Int32, Int32]], path: Path) -> None:
    """Write on which machine every pair is, as they come."""
    with pq.ParquetWriter(path, _PLACED) as file:
        for columns in placed:
            file.write_table(pa.table([pa.array(column) for column in columns], schema=_PLACED))
