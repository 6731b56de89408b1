"""`njit` with a cache on disk that many processes may fill at once, and all may read.

Numba's own cache takes one process at a time for granted, twice; the workers of a Spark executor, which start together,
break both assumptions, and then kernels answer wrongly or crash. And it takes a kernel for a file's own affair:

- It numbers the compiled forms of a function, and an index says which number has which signature. Two processes that
  compile different signatures at the same time take the same number. Here a form is filed under its signature, and says
  itself what it is, so there is no index to disagree with.
- It names inner functions (such as those of `sort` and `argsort`) by counting them from 1 in every process. A process
  that loads two kernels from the cache, compiled by two others, links whichever of two namesakes it meets first. Here
  the count of every process begins somewhere else.
- It compiles a kernel anew if its file has changed. What a kernel calls in another file, and the constants it has from
  there, are compiled into it as well. Here they belong to what it was compiled from.
"""

import functools
import hashlib
import itertools
import os
import pickle
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile


def _count_from_elsewhere() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_count_from_elsewhere()
os.register_at_fork(after_in_child=_count_from_elsewhere)


def njit(*functions: Callable[..., Any], cache: bool = False, **options: Any) -> Any:
    """Compile a function, or decorate one with options; `cache` keeps what was compiled on disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        # Without the compiler (NUMBA_DISABLE_JIT=1) the function comes back as it went.
        if cache and dispatcher is not function:
            dispatcher._cache = _KernelCache(function)
        return dispatcher

    return compiled(*functions) if functions else compiled


_LAYOUT = 2
"""Of a file in the cache."""


class _SignatureFiles(IndexDataCacheFile):
    """One file for every signature and processor, which begins with what it was compiled from and for.

    The stamp of the source is a function, to be called when there is something to load: when a kernel is defined, those
    that it calls may not be.
    """

    def save(self, key: Any, data: Any) -> None:
        """Replace the file of `key` as a whole."""
        with self._open_for_write(self._path_for(key)) as file:
            pickle.dump((_LAYOUT, self._version, self._source_stamp()), file)
            file.write(self._dump((key, data)))

    def load(self, key: Any) -> Any:
        """Return what was saved for `key`; nothing if it is not there, or was made from another source."""
        try:
            with open(self._path_for(key), "rb") as file:  # noqa: PTH123
                # What was made by another version, or from another source, may name what is no longer there.
                if pickle.load(file) != (_LAYOUT, self._version, self._source_stamp()):
                    return None
                found, data = pickle.loads(file.read())
        except FileNotFoundError:
            return None
        return data if found == key else None

    def flush(self) -> None:
        """Do nothing: what is out of date is found out when it is loaded, and replaced."""

    def _path_for(self, key: Any) -> str:
        signature, processor, _ = key
        digest = hashlib.sha256(repr((signature, processor)).encode()).hexdigest()[:16]
        return str(self._data_path(self._index_name.removesuffix("nbi") + f"{digest}.nbc"))


class _KernelCache(FunctionCache):
    _cache_file: Any

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        numbered = self._cache_file
        self._cache_file = _SignatureFiles(
            cache_path=self._cache_path,
            filename_base=numbered._index_name.removesuffix(".nbi"),
            source_stamp=functools.cache(lambda: (numbered._source_stamp, *_stamps(function))),
        )


def _stamps(function: Callable[..., Any]) -> Iterator[str]:
    """What a function is compiled from besides its own file: other files, and constants wherever they are from."""
    files: set[str] = set()
    constants: set[str] = set()
    met: set[Callable[..., Any]] = set()
    ahead = [function]
    while ahead:
        if (one := ahead.pop()) in met:
            continue
        met.add(one)
        files.add(one.__code__.co_filename)
        for name, value in _used(one):
            called = getattr(value, "py_func", getattr(value, "_defn", None))
            if called is not None:
                ahead.append(called)
            elif isinstance(value, int | float | str | tuple | np.generic):
                constants.add(f"{name}={value!r}")
    # By what is in them: the project may lie elsewhere tomorrow, and a fresh copy has other times.
    yield from sorted(_digest(path, path.stat().st_mtime_ns) for path in map(Path, files) if path.exists())
    yield from sorted(constants)


@functools.cache
def _digest(path: Path, _changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _used(function: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    """What a function names: globals, what it encloses, and what is in modules that are among them."""
    enclosed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {**function.__globals__, **{name: cell.cell_contents for name, cell in enclosed}}
    names = {name for code in _codes(function.__code__) for name in (*code.co_names, *code.co_freevars)}
    for name in names & known.keys():
        value = known[name]
        yield name, value
        if isinstance(value, ModuleType):
            yield from ((each, getattr(value, each)) for each in names if hasattr(value, each))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of all that is defined inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
