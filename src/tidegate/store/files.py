"""Files derived from the table, where this host can map them into memory.

In a folder they lie in the store itself; from an object store each host keeps a copy. All of them can be built anew
from the table at any time, so what is missing or damaged costs time and nothing else.
"""

import fcntl
import logging
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from tidegate.errors import DamageError, StoreError
from tidegate.store.location import Location

_Opened = TypeVar("_Opened")
_COPIES = "copies"
# After so long without use a copy is dropped; who wants it again fetches it again.
_UNUSED_S = 86_400.0
_log = logging.getLogger(__name__)


class Files:
    """The derived files of one store, by name."""

    def __init__(self, location: Location, identity: str = "") -> None:
        """Keep them below `location`; `identity` tells a store from an earlier one in the same place."""
        self.location = location
        self._folder = location.folder or _host_folder() / _COPIES / _digest(f"{location.url} {identity}")

    def path(self, name: str) -> Path:
        """Where this host has a file, or will have it; fetched if it lies elsewhere and there is such a file."""
        path = self._folder / name
        if self.location.folder is None and not _touched(path):
            content = self.location.read(name)
            if content is not None:
                self._keep(path, content)
        return path

    def opened(self, name: str, open_: Callable[[Path], _Opened]) -> _Opened:
        """Open a file by a function that refuses a damaged one; if it is this host's copy, it is fetched anew once."""
        try:
            return open_(self.path(name))
        except DamageError as error:
            if not self.forget(name):
                raise
            _log.warning("%s; fetching it anew from %s", error, self.location.url)
            return open_(self.path(name))

    def prepare(self, name: str) -> Path:
        """Return where to write a file that is to be published; the folder exists."""
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent}: cannot be made: {error}") from error
        return path

    def publish(self, name: str) -> None:
        """Let other hosts find a file that this one has written."""
        if self.location.folder is None:
            self.location.write(name, self._folder / name)

    def create(self, name: str, write: Callable[[Path], None]) -> bool:
        """Have a function write a file, and publish it unless there is one; tell whether it is this one."""
        scratch = self.prepare(f"{name}.{secrets.token_hex(4)}")
        try:
            write(scratch)
            return self.location.create(name, scratch.read_bytes())
        finally:
            with suppress(OSError):
                scratch.unlink()

    def forget(self, name: str) -> bool:
        """Drop this host's copy, so that it is fetched anew; tell whether there was one."""
        if self.location.folder is not None:
            return False
        try:
            (self._folder / name).unlink()
        except OSError:
            return False
        return True

    def delete(self, name: str) -> None:
        """Remove a file everywhere but from where it is mapped. Other hosts drop their copies when they are unused."""
        self.forget(name)
        self.location.delete(name)

    @contextmanager
    def building(self, what: str) -> Iterator[None]:
        """Let one process of this host at a time build a thing; the system ends the lock with its holder."""
        folder = _host_folder() / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        # A handful of names for all things: two may share one, and then wait for each other.
        with (folder / _digest(f"{self.location.url} {what}")[:2]).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _keep(self, path: Path, content: bytes) -> None:
        scratch = self.prepare(f"{path.relative_to(self._folder)}.{secrets.token_hex(4)}")
        try:
            scratch.write_bytes(content)
            scratch.replace(path)
        except OSError as error:
            raise StoreError(f"{path}: the copy cannot be written: {error}; set TIDEGATE_CACHE elsewhere") from error
        finally:
            with suppress(OSError):
                scratch.unlink()
        _drop_unused_copies()


def _touched(path: Path) -> bool:
    """Note that a copy is used now; tell whether there is one."""
    try:
        os.utime(path)
    except OSError:  # it may be another user's
        return path.exists()
    return True


def _drop_unused_copies() -> None:
    """Remove the copies, of whatever store, that nobody has opened for a day and this process does not map.

    Another process that maps one is not harmed: on Linux a file without a name lives on until the last mapping ends.
    """
    before = time.time() - _UNUSED_S
    mapped = ""
    with suppress(OSError):
        mapped = Path("/proc/self/maps").read_text()
    for copy in [path for path in (_host_folder() / _COPIES).rglob("*") if path.is_file()]:
        with suppress(OSError):  # another process was quicker
            is_used = copy.stat().st_mtime >= before or (str(copy.resolve()) in mapped and _touched(copy))
            if not is_used:
                copy.unlink()


def _host_folder() -> Path:
    """This user's folder for what may be lost: `TIDEGATE_CACHE`, or one in the system's temporary folder."""
    given = os.environ.get("TIDEGATE_CACHE")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"tidegate-{os.getuid()}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
