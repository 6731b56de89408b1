"""Strings in segments: an Arrow array of strings as two flat arrays, and back without a copy."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def strings(values: Iterable[str | None]) -> pa.LargeStringArray:
    """Return the values, Arrow or not, as one Arrow array; `pa.ArrowException` if some are no text."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        return values.cast(pa.large_string())
    return pa.array(list(values), pa.large_string())


def string_arrays(name: str, texts: pa.LargeStringArray) -> dict[str, NDArray[Any]]:
    """Return the flat arrays of texts without nulls, for a segment that calls them `name`."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return {f"{name}.offsets": offsets - offsets[0], f"{name}.bytes": data}


def read_strings(arrays: Mapping[str, NDArray[Any]], name: str) -> pa.LargeStringArray:
    """Return the texts a segment calls `name`, as a view of its arrays."""
    offsets, data = arrays[f"{name}.offsets"], arrays[f"{name}.bytes"]
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
