"""Segments: named arrays in one file, mapped back as they were written, or refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tidegate.errors import StoreError
from tidegate.index.segment import FORMAT, read_segment, write_segment

ARRAYS: dict[str, NDArray[Any]] = {
    "a": np.arange(5, dtype=np.int32),
    "b": np.array([], np.uint64),
    "c": np.arange(6, dtype=np.int8).reshape(2, 3),
}


def test_arrays_and_numbers_come_back_as_they_went(tmp_path: Path) -> None:
    write_segment(tmp_path / "x", "kind", ARRAYS, {"n": 7})
    arrays, numbers = read_segment(tmp_path / "x", "kind")
    assert numbers == {"n": 7}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert not arrays[name].flags.writeable
    assert [file.name for file in tmp_path.iterdir()] == ["x"], "no scratch file is left"


def test_no_changed_byte_goes_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_segment(path, "kind", {"a": np.arange(300, dtype=np.int32), "b": np.ones((4, 5))}, {"n": 7})
    whole = path.read_bytes()
    for position in range(0, len(whole), 5):
        data = bytearray(whole)
        data[position] ^= 0x15
        path.write_bytes(data)
        with pytest.raises(StoreError, match="x: "):
            read_segment(path, "kind")


def test_without_verifying_an_altered_array_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_segment(path, "kind", {"a": np.full(100, 7, np.int32)}, {})
    data = bytearray(path.read_bytes())
    data[data.index(b"\x07\x00\x00\x00\x07") + 40] = 8
    path.write_bytes(data)
    arrays, _ = read_segment(path, "kind", verify=False)
    assert sorted(set(arrays["a"].tolist())) == [7, 8]


def test_a_header_that_was_not_written_here_is_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1]}).replace_schema_metadata({b"tidegate": b"not json"})
    with pa.ipc.new_file(tmp_path / "x", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError, match="x: an Arrow file, but not a segment of Tidegate"):
        read_segment(tmp_path / "x", "kind")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the segment cannot be read"):
        read_segment(tmp_path, "kind")


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.index.segment.FORMAT", 99)
    write_segment(tmp_path / "x", "kind", ARRAYS, {})
    monkeypatch.undo()
    with pytest.raises(StoreError, match=f"x: segment format 99, this version reads {FORMAT}"):
        read_segment(tmp_path / "x", "kind")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the segment cannot be written"):
        write_segment(tmp_path / "absent" / "x", "kind", ARRAYS, {})
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="the segment cannot be written"):
        write_segment(tmp_path / "file" / "x", "kind", ARRAYS, {})
