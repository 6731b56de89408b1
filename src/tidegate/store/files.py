"""Files derived from the table, where this host can map them into memory.

In a folder they lie in the store itself; from an object store each host keeps a copy. All of them can be built anew
from the table at any time, so what is missing or damaged costs time and nothing else.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from tidegate.errors import StoreError
from tidegate.store.location import Location


class Files:
    """The derived files of one store, by name."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self.location = location
        self._folder = location.folder or _host_folder() / _digest(location.url)

    def path(self, name: str) -> Path:
        """Where this host has a file, or will have it; fetched if it lies elsewhere and there is such a file."""
        path = self._folder / name
        if self.location.folder is None and not path.exists():
            content = self.location.read(name)
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                scratch = path.with_name(f".{path.name}.{os.getpid()}")
                scratch.write_bytes(content)
                scratch.replace(path)
        return path

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

    def forget(self, name: str) -> None:
        """Drop this host's copy, so that it is fetched anew."""
        if self.location.folder is None:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        """Remove a file everywhere but from where it is mapped. Other hosts drop their copies with their folder."""
        self.forget(name)
        self.location.delete(name)

    @contextmanager
    def building(self, what: str) -> Iterator[None]:
        """Let one process of this host at a time build a thing; the system ends the lock with its holder."""
        folder = _host_folder() / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _digest(f"{self.location.url} {what}")).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _host_folder() -> Path:
    """This user's folder for what may be lost: `TIDEGATE_CACHE`, or one in the system's temporary folder."""
    given = os.environ.get("TIDEGATE_CACHE")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"tidegate-{os.getuid()}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
