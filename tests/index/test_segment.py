"""Segments: named arrays in one file, mapped back as they were written, or refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tidegate.errors import StoreError
from tidegate.index.segment import read_segment, write_segment

ARRAYS: dict[str, NDArray[Any]] = {
    "a": np.arange(5, dtype=np.int32),
    "b": np.array([], np.uint64),
    "c": np.arange(6, dtype=np.int8).reshape(2, 3),
}


def test_arrays_and_numbers_come_back_as_they_went(tmp_path: Path) -> None:
    write_segment(tmp_path / "x", "kind", ARRAYS, {"n": 7})
    arrays, numbers = read_segment(tmp_path / "x", "kind", verify=True)
    assert numbers == {"n": 7}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert not arrays[name].flags.writeable
    assert [file.name for file in tmp_path.iterdir()] == ["x"], "no scratch file is left"


def test_a_changed_byte_is_found_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_segment(path, "kind", {"a": np.full(1000, 0x11223344, np.int32)}, {})
    data = bytearray(path.read_bytes())
    data[data.index(b"\x44\x33\x22\x11") + 400] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="the bytes of 'a' are not those that were written"):
        read_segment(path, "kind", verify=True)


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.index.segment.FORMAT", 99)
    write_segment(tmp_path / "x", "kind", ARRAYS, {})
    monkeypatch.undo()
    with pytest.raises(StoreError, match="x: segment format 99, this version reads 1"):
        read_segment(tmp_path / "x", "kind")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the segment cannot be written"):
        write_segment(tmp_path / "absent" / "x", "kind", ARRAYS, {})
