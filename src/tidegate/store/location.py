"""Where a store lies: a folder, or a prefix in an object store. Small files, whole or not at all, by relative name.

Delta's own files are written by `deltalake`; this is for what lies beside the table.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, from_url

from tidegate.errors import StoreError

_SCHEMES = ("s3://", "s3a://", "gs://", "az://", "abfs://", "abfss://")


@dataclass(frozen=True)
class Location:
    """Picklable and hashable: what is held open is opened by each process when it is first needed.

    `options` are the storage options of `deltalake` (`AWS_ENDPOINT_URL` and the like); without them the environment
    counts.
    """

    url: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, where: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> "Location":
        """Read a folder's name or an address such as s3://bucket/prefix."""
        text = os.fspath(where)
        if "://" in text and not text.startswith((*_SCHEMES, "file://")):
            raise StoreError(f"{text}: not a place for a store; give a folder or one of {', '.join(_SCHEMES)}")
        if re.match(r"(?!file:)\w{2,}:/(?!/)", text):
            raise StoreError(
                f"{text}: not a place that can be told from a folder's name; write {text.replace(':/', '://', 1)}"
            )
        if text.startswith(_SCHEMES):
            return cls(text.rstrip("/"), tuple(sorted((options or {}).items())))
        return cls(
            str(Path(text.removeprefix("file://").removeprefix("file:")).absolute()),
            tuple(sorted((options or {}).items())),
        )

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one."""
        return None if "://" in self.url else Path(self.url)

    def within(self, name: str) -> "Location":
        """The place of this name inside."""
        return Location(f"{self.url}/{name}", self.options)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file unless there is one of this name; tell whether it was written. Of several writers one wins."""
        try:
            self._put(name, content, mode="create")
        except AlreadyExistsError:
            return False
        return True

    def write(self, name: str, content: bytes | Path) -> None:
        """Write a file, or upload one, in place of what was there."""
        self._put(name, content, mode="overwrite")

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if there is none."""
        try:
            return bytes(obstore.get(self._files, name).bytes())
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.url}/{name}: cannot be read: {_first_line(error)}") from error

    def names(self, prefix: str) -> Iterator[str]:
        """The names of all files below a folder."""
        for name, _ in self.listing(prefix):
            yield name

    def listing(self, prefix: str) -> Iterator[tuple[str, float]]:
        """The names of all files below a folder, each with the time of its writing in seconds since 1970."""
        try:
            for chunk in obstore.list(self._files, prefix):
                yield from ((meta["path"], meta["last_modified"].timestamp()) for meta in chunk)
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.url}/{prefix}: cannot be listed: {_first_line(error)}") from error

    def top(self) -> list[str]:
        """The names of the files that lie here and not in a folder below."""
        try:
            return [meta["path"] for meta in obstore.list_with_delimiter(self._files)["objects"]]
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.url}: cannot be listed: {_first_line(error)}") from error

    def delete(self, name: str) -> None:
        """Remove a file; there need not be one."""
        try:
            obstore.delete(self._files, name)
        except FileNotFoundError:
            pass
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.url}/{name}: cannot be removed: {_first_line(error)}") from error

    def _put(self, name: str, content: bytes | Path, *, mode: Any) -> None:
        try:
            obstore.put(self._files, name, content, mode=mode)
            if self.folder is not None:
                synced(self.folder / name)
        except AlreadyExistsError:
            raise
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.url}/{name}: cannot be written: {_first_line(error)}") from error

    @cached_property
    def _files(self) -> Any:
        if self.folder is not None:
            try:
                return LocalStore(self.folder, mkdir=True)
            except (BaseError, OSError) as error:
                raise StoreError(f"{self.url}: cannot be opened: {_first_line(error)}") from error
        # What deltalake takes as options, obstore divides in two.
        lower: Any = {key.lower(): value for key, value in self.options}
        plain_http = lower.pop("aws_allow_http", lower.pop("allow_http", "false")) == "true"
        client: Any = {"allow_http": True} if plain_http else None
        return from_url(self.url, config=lower, client_options=client)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what only this process can use."""
        return {"url": self.url, "options": self.options}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def synced(path: Path) -> None:
    """Wait until a file and its name are on disk."""
    for name in (path, path.parent):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
