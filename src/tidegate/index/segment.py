"""Named flat arrays in one Arrow IPC file: how indexes are kept on disk and shared between processes.

One row; each array is one list column, so that opening is a memory map and a few views. The file carries a
checksum of all its bytes, which is looked at before Arrow is: a kernel trusts its arrays, and Arrow its metadata.
"""

import json
import mmap
import os
import secrets
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.errors import DamageError, StoreError

FORMAT = 5
_HEADER, _CHECKSUM = b"tidegate", b"tidegate.checksum"
_MAGIC = b"ARROW1"
# The checksum stands in the schema, which an Arrow file has at both ends, and counts as these zeros itself.
_MARK, _ZEROS = b"tidegate crc32 ", b"00000000"


def write_segment(
    path: Path | str, kind: str, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, int], *, layout: int = 1
) -> None:
    """Write `arrays` and `numbers` under `kind`. The file appears whole or not at all.

    `layout` rises when the arrays of a kind come to mean something else; other kinds, of which some cannot be built
    anew, have nothing to do with that.
    """
    path = Path(path)
    shapes = {name: array.shape for name, array in arrays.items()}
    header = json.dumps({"kind": kind, "format": FORMAT, "layout": layout, "numbers": dict(numbers), "shapes": shapes})
    columns = [_column(array) for array in arrays.values()]
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip(arrays, columns, strict=True)]
    schema = pa.schema(fields, metadata={_HEADER: header, _CHECKSUM: _MARK + _ZEROS})
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with pa.OSFile(str(scratch), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        with scratch.open("r+b") as file:
            with mmap.mmap(file.fileno(), 0) as data:
                checksum = b"%08x" % _checksum(data)
                for place in _checksum_places(data):
                    data[place : place + len(_ZEROS)] = checksum
                data.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: the segment cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            scratch.unlink()


def read_segment(
    path: Path | str, kind: str, *, layout: int = 1, verify: bool = True
) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """Map the segment of this `kind` at `path`; return its arrays (read-only views) and its numbers.

    A file that is missing, torn, foreign, altered, of another kind, format or layout is a `DamageError` that names it.
    Without `verify`, which reads every byte once, an altered file is trusted.
    """
    if verify:
        _verify(path)
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except FileNotFoundError as error:
        raise DamageError(f"{path}: there is no such segment") from error
    except OSError as error:
        raise StoreError(f"{path}: the segment cannot be read: {error}") from error
    except pa.ArrowInvalid as error:
        raise DamageError(f"{path}: not a whole Arrow IPC file ({error}); build it anew") from error
    metadata = batch.schema.metadata or {}
    if _HEADER not in metadata:
        raise DamageError(f"{path}: an Arrow file, but not a segment of Tidegate")
    header = json.loads(metadata[_HEADER])
    if header["format"] != FORMAT:
        raise DamageError(f"{path}: segment format {header['format']}, this version reads {FORMAT}; build it anew")
    if header["kind"] != kind:
        raise DamageError(f"{path}: a segment of kind {header['kind']!r}, not {kind!r}")
    if header.get("layout", 1) != layout:
        raise DamageError(f"{path}: {kind} in layout {header.get('layout', 1)}, not {layout}; build it anew")
    arrays = {name: _array(batch.column(name)).reshape(shape) for name, shape in header["shapes"].items()}
    return arrays, header["numbers"]


def _verify(path: Path | str) -> None:
    """Refuse a file that is not, byte for byte, a segment as it was written."""
    try:
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size <= 2 * len(_MAGIC):
                raise DamageError(f"{path}: not a whole Arrow IPC file; build it anew")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data[: len(_MAGIC)] != _MAGIC or data[-len(_MAGIC) :] != _MAGIC:
                    raise DamageError(f"{path}: not a whole Arrow IPC file; build it anew")
                places = _checksum_places(data)
                if not places:
                    raise DamageError(f"{path}: an Arrow file, but not a segment of Tidegate")
                expected = b"%08x" % _checksum(data)
                if any(data[place : place + len(_ZEROS)] != expected for place in places):
                    raise DamageError(f"{path}: its bytes are not those that were written; build it anew")
    except FileNotFoundError as error:
        raise DamageError(f"{path}: there is no such segment") from error
    except OSError as error:
        raise StoreError(f"{path}: the segment cannot be read: {error}") from error


def _checksum_places(data: mmap.mmap) -> list[int]:
    """Where the checksum stands: after the first mark, and after the last."""
    found = {data.find(_MARK), data.rfind(_MARK)} - {-1}
    return sorted(place + len(_MARK) for place in found)


def _checksum(data: mmap.mmap) -> int:
    """The CRC-32 of all bytes, with the checksum itself as zeros."""
    checksum, begin = 0, 0
    with memoryview(data) as view:
        for place in _checksum_places(data):
            with view[begin:place] as before:
                checksum = zlib.crc32(_ZEROS, zlib.crc32(before, checksum))
            begin = place + len(_ZEROS)
        with view[begin:] as rest:
            return zlib.crc32(rest, checksum)


def _column(array: NDArray[Any]) -> Any:
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat)


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=True)
    return array
