"""The columns that posts have, as the jobs say that rank them: a score by a column nobody has is refused by that."""

import json
from collections.abc import Collection

from tidegate.errors import StoreError
from tidegate.store.location import Location

_FOLDER = "columns"


def note_columns(location: Location, run: str, names: Collection[str]) -> None:
    """Note what columns the posts of a job have; what it said before no longer counts."""
    location.write(f"{_FOLDER}/{run}.json", json.dumps(sorted(names)).encode())


def noted_columns(location: Location) -> frozenset[str] | None:
    """The columns that posts of some job have; None if no job has said."""
    contents = [(name, location.read(name)) for name in location.names(_FOLDER)]
    noted = [_read(f"{location.url}/{name}", content) for name, content in contents if content is not None]
    return frozenset().union(*noted) if noted else None


def _read(name: str, content: bytes) -> list[str]:
    try:
        return [str(column) for column in json.loads(content)]
    except (ValueError, TypeError) as error:
        raise StoreError(f"{name}: the columns of a job's posts are damaged: remove the file") from error
