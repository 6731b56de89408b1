"""What is compiled once is found again, by its own signature alone, whoever else compiles at the same time."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.bytecode import FunctionIdentity

from tidegate.kernels import _SignatureFiles

SOURCE = """
from tidegate.kernels import njit

@njit(cache=True)
def doubled(x):
    return x + x

@njit
def plain(x):
    return x
"""


def loaded(path: Path, source: str = SOURCE) -> ModuleType:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("kernel_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _beside_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)


def test_every_signature_is_compiled_once_and_found_again(tmp_path: Path) -> None:
    first = loaded(tmp_path / "kernel_module.py")
    assert (first.doubled(2), first.doubled(1.5), first.plain(3)) == (4, 3.0, 3)
    assert sum(first.doubled.stats.cache_misses.values()) == 2
    again = loaded(tmp_path / "kernel_module.py")
    assert (again.doubled(2), again.doubled(1.5)) == (4, 3.0)
    assert sum(again.doubled.stats.cache_hits.values()) == 2


def test_another_source_is_another_kernel(tmp_path: Path) -> None:
    assert loaded(tmp_path / "kernel_module.py").doubled(2) == 4
    changed = loaded(tmp_path / "kernel_module.py", SOURCE.replace("x + x", "x * x * x"))
    assert changed.doubled(2) == 8
    assert sum(changed.doubled.stats.cache_hits.values()) == 0


def test_two_processes_that_save_at_once_do_not_get_each_others_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_have_begun = threading.Barrier(2, timeout=30)
    dump = _SignatureFiles._dump

    def dump_together(self: _SignatureFiles, value: object) -> bytes:
        both_have_begun.wait()
        return bytes(dump(self, value))

    monkeypatch.setattr(_SignatureFiles, "_dump", dump_together)

    def process() -> _SignatureFiles:
        return _SignatureFiles(cache_path=str(tmp_path), filename_base="f-1.py311", source_stamp=(1, 2))

    keys = [(("int64",), "cpu", "code"), (("float64",), "cpu", "code")]
    threads = [threading.Thread(target=process().save, args=(key, key[0])) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process().load(key) for key in keys] == [key[0] for key in keys]


NAMESAKES = """
import sys
import numpy as np
from tidegate.kernels import njit

@njit(cache=True)
def in_order(x):
    x.sort()
    return x

@njit(cache=True)
def order(x):
    return np.argsort(x)

for name in sys.argv[1:]:
    print(globals()[name](np.array([30, 10, 20], np.int32)).tolist())
"""


def test_kernels_that_other_processes_compiled_do_not_call_each_others_inner_functions(tmp_path: Path) -> None:
    script = tmp_path / "namesakes.py"
    script.write_text(NAMESAKES)

    def process(*names: str) -> list[str]:
        return subprocess.run(
            [sys.executable, str(script), *names], check=True, capture_output=True, text=True
        ).stdout.splitlines()

    assert process("in_order") == ["[10, 20, 30]"]
    assert process("order") == ["[1, 2, 0]"]
    assert process("in_order", "order") == ["[10, 20, 30]", "[1, 2, 0]"]


def test_a_forked_process_counts_from_elsewhere() -> None:
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, str(next(FunctionIdentity._unique_ids)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert abs(int(os.read(read, 100)) - next(FunctionIdentity._unique_ids)) > 1_000_000


def test_what_another_version_left_is_not_even_read(tmp_path: Path) -> None:
    files = _SignatureFiles(cache_path=str(tmp_path), filename_base="f-1.py311", source_stamp=(1, 2))
    key = (("int64",), "cpu", "code")
    files.save(key, "compiled")
    assert files.load(key) == "compiled"
    files._version = "another"
    assert files.load(key) is None
    assert files.load((("int32",), "cpu", "code")) is None
