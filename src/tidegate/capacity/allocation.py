"""An allocation as a file: parts (`machine`, `topic`, `pairs`), and pairs (`machine`, `topic`, `subscriber`).

A file of parts says what it was made for, since its numbers mean something else on other machines or at other rates.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.capacity.packing import Parts
from tidegate.capacity.pricing import Terms
from tidegate.csr import Int32
from tidegate.errors import ConfigError

_MADE_FOR: Final = b"tidegate.allocation"
_PARTS: Final = pa.schema([("machine", pa.int32()), ("topic", pa.int32()), ("pairs", pa.int64())])
_PLACED: Final = pa.schema([("machine", pa.int32()), ("topic", pa.int32()), ("subscriber", pa.int32())])


@dataclass(frozen=True)
class MadeFor:
    """What an allocation was made for."""

    prices: str
    """The name of the price list."""
    machine: str
    """The kind whose capacity no machine exceeds."""
    period_s: float
    """In which the events of the demand came: the unit of rates."""
    message_bytes: int

    @classmethod
    def of(cls, terms: Terms) -> Self:
        """Return what an allocation by these terms is for."""
        return cls(terms.pricing.name, terms.machine.name, terms.period_s, terms.message_bytes)

    def check(self, path: Path, now: Self) -> None:
        """Refuse to go on from the allocation in a file that was made for something else, and name that."""
        for name, unit in (("prices", ""), ("machine", ""), ("period_s", " s"), ("message_bytes", " bytes")):
            before, wanted = getattr(self, name), getattr(now, name)
            if before != wanted:
                what = name.partition("_")[0]
                raise ConfigError(
                    f"{path} was made for the {what} {before}{unit}, not {wanted}{unit}: start from scratch, or from "
                    "an allocation for the same"
                )


def write_parts(parts: Parts, path: Path, made_for: MadeFor) -> None:
    """Write which machine has how many pairs of which topic, sorted by machine and topic, and what that is for."""
    order = np.lexsort((parts.topic, parts.machine))
    schema = _PARTS.with_metadata({_MADE_FOR: json.dumps(asdict(made_for))})
    pq.write_table(pa.table([pa.array(column[order]) for column in parts], schema=schema), path)


def read_made_for(path: Path) -> MadeFor:
    """Read what an allocation was made for; `ConfigError` if the file does not say."""
    try:
        told = (pq.read_schema(path).metadata or {}).get(_MADE_FOR)
        return MadeFor(**json.loads(told or b"{}"))
    except (OSError, pa.ArrowInvalid) as error:
        raise ConfigError(f"{path} is no allocation: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path} is no allocation: it does not say what machines and rates it is for") from error


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
