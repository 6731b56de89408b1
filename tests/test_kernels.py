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


CALLED = """
import numpy as np
from tidegate.kernels import njit

MOST = 10

@njit(cache=True)
def grown(x):
    return x + 1
"""
CALLING = """
import called
from called import MOST, grown
from tidegate.kernels import njit

@njit(cache=True)
def direct(x):
    return min(middle(x), MOST)

@njit(cache=True)
def middle(x):
    return grown(x)

@njit(cache=True)
def by_module(x):
    return called.grown(x)

if __name__ == "__main__":
    print(direct(2), direct(90), by_module(3), sum(direct.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("before", "after", "answers"),
    [
        ("x + 1", "x * 5", "10 10 15 0"),
        ("MOST = 10", "MOST = 17", "3 17 4 0"),
        ("MOST = 10", "MOST = np.int64(18)", "3 18 4 0"),
    ],
)
def test_what_a_kernel_calls_in_another_file_is_part_of_its_source(
    tmp_path: Path, before: str, after: str, answers: str
) -> None:
    (tmp_path / "calling.py").write_text(CALLING)

    def process(source: str) -> str:
        (tmp_path / "called.py").write_text(source)
        # Python's own cache goes by whole seconds, and would miss a change of equal length.
        run = [sys.executable, "-B", str(tmp_path / "calling.py")]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()

    assert process(CALLED) == "3 10 4 0"
    assert process(CALLED.replace(before, after)) == answers


def test_what_names_a_module_that_is_gone_is_compiled_anew(tmp_path: Path) -> None:
    shape = "from typing import NamedTuple\n\nclass Shape(NamedTuple):\n    x: int\n"
    kernel = "\n".join(
        (
            "from {} import Shape",
            "from tidegate.kernels import njit",
            "@njit(cache=True)",
            "def moved(shape): return Shape(shape.x + 1)",
            "print(moved(Shape(1)).x)",
        )
    )

    def process(module: str) -> str:
        (tmp_path / f"{module}.py").write_text(shape)
        (tmp_path / "kernel.py").write_text(kernel.format(module))
        run = [sys.executable, "-B", str(tmp_path / "kernel.py")]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout

    assert process("before") == "2\n"
    (tmp_path / "before.py").unlink()
    assert process("after") == "2\n"


def test_what_has_not_changed_in_another_file_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "called.py").write_text(CALLED)
    (tmp_path / "calling.py").write_text(CALLING)
    run = [sys.executable, str(tmp_path / "calling.py")]
    printed = [subprocess.run(run, check=True, capture_output=True, text=True).stdout for _ in range(2)]
    assert printed == ["3 10 4 0\n", "3 10 4 1\n"]


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
        return _SignatureFiles(cache_path=str(tmp_path), filename_base="f-1.py311", source_stamp=lambda: (1, 2))

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
    files = _SignatureFiles(cache_path=str(tmp_path), filename_base="f-1.py311", source_stamp=lambda: (1, 2))
    key = (("int64",), "cpu", "code")
    files.save(key, "compiled")
    assert files.load(key) == "compiled"
    files._version = "another"
    assert files.load(key) is None
    assert files.load((("int32",), "cpu", "code")) is None
