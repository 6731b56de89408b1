"""Columns of a Parquet file that somebody has named: there, of the right kind, complete; or refused with the remedy.

Names are integers or text, numbers are integers or floating point. Both are checked before a file is read.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tidegate.errors import ConfigError
from tidegate.workload.terms import Floats


@dataclass(frozen=True)
class Columns:
    """What a file needs in order to be what it should be."""

    what: str
    """What it has, in one word."""
    names: tuple[str, ...]
    """Columns in which somebody or some place is named, in all of them alike."""
    numbers: tuple[str, ...] = ()
    may_be_empty: bool = False
    """Whether numbers may be left out; they are not a number then."""

    def check(self, path: Path) -> None:
        """Refuse a file of another kind, without reading it all."""
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file of {self.what}")
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"no {self.what} can be read from {path}: {error}") from error
        *first, last = map(repr, self.names + self.numbers)
        if not {*self.names, *self.numbers} <= set(schema.names):
            raise ConfigError(
                f"{path}: {self.what} need columns {', '.join(first)} and {last}; its columns are "
                f"{', '.join(schema.names)}"
            )
        types = [schema.field(name).type for name in self.names]
        if not (all(map(pa.types.is_integer, types)) or all(map(_is_text, types))):
            raise ConfigError(
                f"{path}: {' and '.join(map(repr, self.names))} have {', '.join(map(str, types))}: "
                "give integers, or text"
            )
        for name in self.numbers:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise ConfigError(f"{path}: '{name}' has {kind}: give numbers")

    def read(self, path: Path) -> tuple[list[NDArray[Any]], list[Floats]]:
        """Return names and numbers, by column."""
        self.check(path)
        try:
            table = pq.read_table(path, columns=[*self.names, *self.numbers])
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"no {self.what} can be read from {path}: {error}") from error
        return (
            [self._complete(path, name, table.column(name)).to_numpy() for name in self.names],
            [self._finite(path, name, table.column(name)) for name in self.numbers],
        )

    def _complete(self, path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if column.null_count:
            raise ConfigError(f"{path}: '{name}' is empty in {column.null_count:,} rows: leave them out")
        return column

    def _finite(self, path: Path, name: str, column: pa.ChunkedArray) -> Floats:
        if not self.may_be_empty:
            self._complete(path, name, column)
        numbers: Floats = column.to_numpy().astype(np.float64)
        wrong = np.isinf(numbers) if self.may_be_empty else ~np.isfinite(numbers)
        if wrong.any():
            raise ConfigError(f"{path}: '{name}' is {numbers[wrong][0]} in {wrong.sum():,} rows: give finite numbers")
        return numbers


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
