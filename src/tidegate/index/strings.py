"""Strings in segments: an Arrow array of strings as two flat arrays, and back without a copy."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Int64
from tidegate.text.characters import Bytes


def strings(values: Iterable[str | None]) -> pa.LargeStringArray:
    """Return the values, Arrow or not, as one Arrow array; `pa.ArrowException` if some are no text."""
    if isinstance(values, pa.ChunkedArray):
        # In this order: small strings put together could be too many bytes for their offsets.
        return values.cast(pa.large_string()).combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.large_string())
    return pa.array(list(values), pa.large_string())


def string_arrays(name: str, texts: pa.LargeStringArray) -> dict[str, NDArray[Any]]:
    """Return the flat arrays of texts without nulls, for a segment that calls them `name`."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    # Most arrays begin at their beginning, and a mapped one is not to be copied.
    return {f"{name}.offsets": offsets - offsets[0] if offsets[0] else offsets, f"{name}.bytes": data}


def read_strings(arrays: Mapping[str, NDArray[Any]], name: str) -> pa.LargeStringArray:
    """Return the texts a segment calls `name`, as a view of its arrays."""
    offsets, data = arrays[f"{name}.offsets"], arrays[f"{name}.bytes"]
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def flat_strings(texts: pa.LargeStringArray) -> tuple[Int64, Bytes]:
    """Return the offsets and the bytes of texts without nulls, as kernels read them."""
    arrays = string_arrays("", texts)
    data = arrays[".bytes"]
    # Arrow buffers may or may not be writable, and kernels are compiled for one kind.
    data.flags.writeable = False
    return arrays[".offsets"], data
