"""How many files wait to be read by a stream: Spark does not say, so the folder is compared with the stream's log."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tidegate.spark.address import Address
from tidegate.spark.metrics import Lag
from tidegate.store.location import Location

_KINDS = ("parquet", "json", "csv")
# With these, which files belong to a stream is for Spark to say.
_CHOOSING = frozenset(("pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter", "cleanSource"))


class FileBacklog:
    """The files of a folder that a stream has not read yet."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        """Look into `folder`, and into the log of the only source of the stream with this checkpoint."""
        self._folder, self._log = folder, checkpoint / "sources" / "0"
        self._taken: set[str] = set()
        self._logged = -1

    @classmethod
    def at(cls, posts: Address, checkpoint: str) -> "FileBacklog | None":
        """The backlog of the files at an address; None where it cannot be told, as outside a plain local folder."""
        place = Location.of(checkpoint).folder
        folder = Path(posts.target).absolute()
        if posts.kind not in _KINDS or place is None or not folder.is_dir() or _CHOOSING & posts.options.keys():
            return None
        return cls(folder, place)

    def __call__(self) -> Lag | None:
        """Count them; None as soon as there are folders among them, into which Spark may look or not."""
        self._read_log()
        entries = [entry for entry in self._folder.iterdir() if not entry.name.startswith((".", "_"))]
        if any(entry.is_dir() for entry in entries):
            return None
        return Lag(sum(str(entry) not in self._taken for entry in entries), "files")

    def _read_log(self) -> None:
        """Read what the log has gained: a file per batch, and now and then one with all entries so far."""
        logs = [path for path in self._log.glob("[0-9]*") if path.name.removesuffix(".compact").isdigit()]
        for number, path in sorted((int(path.name.removesuffix(".compact")), path) for path in logs):
            if number > self._logged:
                _version, *lines = path.read_text().splitlines()
                self._taken.update(unquote(urlsplit(json.loads(line)["path"]).path) for line in lines)
                self._logged = number
