"""Named flat arrays in one Arrow IPC file: how indexes are kept on disk and shared between processes.

One row; each array is one list column, so that opening is a memory map and a few views.
"""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.errors import StoreError

FORMAT = 1
_KEY = b"tidegate"


def write_segment(path: Path | str, kind: str, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, int]) -> None:
    """Write `arrays` and `numbers` under `kind`. The file appears whole or not at all."""
    path = Path(path)
    columns = [_column(array) for array in arrays.values()]
    header = {
        "kind": kind,
        "format": FORMAT,
        "numbers": dict(numbers),
        "shapes": {name: list(array.shape) for name, array in arrays.items()},
        "crc32": {name: _checksum(array) for name, array in arrays.items()},
    }
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip(arrays, columns, strict=True)]
    schema = pa.schema(fields, metadata={_KEY: json.dumps(header).encode()})
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pa.OSFile(str(scratch), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        with scratch.open("rb") as written:
            os.fsync(written.fileno())
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: the segment cannot be written: {error}") from error
    finally:
        scratch.unlink(missing_ok=True)


def read_segment(
    path: Path | str, kind: str, *, verify: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """Map the segment of this `kind` at `path`; return its arrays (read-only views) and its numbers.

    A file that is missing, torn, foreign, of another kind or format is a `StoreError` that names it.
    `verify` also reads every byte against its checksum.
    """
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except FileNotFoundError as error:
        raise StoreError(f"{path}: there is no such segment") from error
    except (OSError, pa.ArrowInvalid, IndexError) as error:
        raise StoreError(f"{path}: not a whole Arrow IPC file ({error}); build it anew") from error
    header = _header(path, batch.schema, kind)
    arrays = {name: _array(batch.column(name)).reshape(shape) for name, shape in header["shapes"].items()}
    if verify:
        for name, array in arrays.items():
            if _checksum(array) != header["crc32"][name]:
                raise StoreError(f"{path}: the bytes of {name!r} are not those that were written; build it anew")
    return arrays, header["numbers"]


def _header(path: Path | str, schema: Any, kind: str) -> dict[str, Any]:
    metadata = schema.metadata or {}
    if _KEY not in metadata:
        raise StoreError(f"{path}: an Arrow file, but not a segment of Tidegate")
    header: dict[str, Any] = json.loads(metadata[_KEY])
    if header["format"] != FORMAT:
        raise StoreError(f"{path}: segment format {header['format']}, this version reads {FORMAT}; build it anew")
    if header["kind"] != kind:
        raise StoreError(f"{path}: a segment of kind {header['kind']!r}, not {kind!r}")
    return header


def _column(array: NDArray[Any]) -> Any:
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat)


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=True)
    return array


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
