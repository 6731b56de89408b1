"""Posts that are handed in: durable before they are acknowledged, in a folder that a job reads.

A file appears whole or not at all, and is never changed, as Spark's file source needs it, until it is forgotten. Posts
that come while a file is being written share the next one.
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tidegate.errors import ConfigError, StoreError
from tidegate.serve.post import DDL, Post
from tidegate.store.group_commit import GroupCommit
from tidegate.store.location import synced

_OWN: Final = re.compile(r"\d{20}-[0-9a-f]{8}\.json")
# What was being written when somebody died.
_HIDDEN: Final = re.compile(r"\.\d{20}-[0-9a-f]{8}\.json\.[0-9a-f]{8}")


class Postbox:
    """A folder of JSON lines. May be shared by threads, and several services may write to one folder."""

    def __init__(self, folder: Path) -> None:
        """Write to a folder; make it where there is none."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._put_down(DDL, "_columns")
        except OSError as error:
            raise ConfigError(f"{folder}: no folder for posts can be made here: {error.strerror}") from error
        self._group = GroupCommit(self._write)

    def put(self, posts: list[Post]) -> None:
        """Write posts; when this returns they are on the disk."""
        self._group.submit(posts)

    def last(self, limit: int) -> list[tuple[int, Post]]:
        """The last posts that were handed in, and when (microseconds since 1970), the oldest first."""
        found: list[tuple[int, Post]] = []
        for path in sorted(self.folder.glob("*.json"), reverse=True):
            # Another service may forget it meanwhile.
            with suppress(FileNotFoundError):
                arrived = path.stat().st_mtime_ns // 1000
                found[:0] = [(arrived, post) for post in _posts(path)]
            if len(found) >= limit:
                break
        return found[-limit:]

    def forget(self, before: float, newest: int, go_on: Callable[[], bool] = lambda: True) -> int:
        """Remove files of before a time (seconds since 1970) that are not among so many `newest`; return how many.

        What others have put into the folder is left alone.
        """
        limit = f"{max(0, round(before * 1e9)):020}"
        names = [entry.name for entry in os.scandir(self.folder)]
        own = sorted(name for name in names if _OWN.fullmatch(name))
        torn = [name for name in names if _HIDDEN.fullmatch(name)]
        removed = 0
        for name in [*torn, *own[: max(0, len(own) - newest)]]:
            if name.lstrip(".") >= limit:
                continue
            if not go_on():
                break
            (self.folder / name).unlink(missing_ok=True)
            removed += 1
        return removed

    def _write(self, groups: list[list[Post]]) -> int:
        lines = "".join(post.model_dump_json(exclude_none=True) + "\n" for posts in groups for post in posts)
        # By name as by time; and Spark passes over what begins with a dot.
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}.json"
        try:
            self._put_down(lines, name)
        except OSError as error:
            raise StoreError(f"{self.folder}: posts cannot be written: {error}") from error
        return len(groups)

    def _put_down(self, text: str, name: str) -> None:
        hidden = self.folder / f".{name}.{secrets.token_hex(4)}"
        try:
            hidden.write_text(text, encoding="utf-8")
            synced(hidden)
            synced(hidden.rename(self.folder / name))
        finally:
            hidden.unlink(missing_ok=True)


def _posts(path: Path) -> Iterator[Post]:
    """The posts of a file; others may write to the folder, too, and what is no post here is passed over."""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        with suppress(ValidationError):
            yield Post.model_validate_json(line)
