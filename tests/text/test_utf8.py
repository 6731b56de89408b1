import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.text.utf8 import is_utf8, mended


def texts_of(values: list[bytes | None]) -> pa.Array:
    """An array of strings with any bytes, as Spark may send one."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


@given(st.lists(st.none() | st.binary(max_size=6) | st.text(max_size=3).map(str.encode)))
def test_bytes_that_are_no_utf8_are_found_and_mended(values: list[bytes | None]) -> None:
    expected = [None if value is None else value.decode(errors="replace") for value in values]
    texts = texts_of(values)
    assert mended(texts).to_pylist() == expected
    sound = [value is None or text.encode() == value for value, text in zip(values, map(str, expected), strict=True)]
    assert np.array_equal(is_utf8(texts), sound)
