"""How a source or a sink is written on one line: `KIND:TARGET?option=value&…`, as in `parquet:posts/` or
`kafka://127.0.0.1:9092/posts?startingOffsets=earliest`."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from tidegate.errors import ConfigError

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}


@dataclass(frozen=True)
class Address:
    """A kind of place, the place, and options for whoever reads or writes it."""

    kind: str
    target: str
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, kinds: tuple[str, ...]) -> "Address":
        """Read an address of one of some kinds; a bare path is of the kind that its suffix, or its files', says."""
        kind, colon, rest = text.partition(":")
        if not colon or kind not in kinds:
            known = ", ".join(f"{name}:" for name in kinds)
            if colon and "/" not in kind and "\\" not in kind:
                raise ConfigError(f"{text!r}: {kind!r} is none of the kinds {known}")
            guessed = _kind_of(Path(text))
            if guessed is None or guessed not in kinds:
                raise ConfigError(f"{text!r}: cannot tell its kind: write one of {known} before it")
            return cls(guessed, text)
        target, _, query = rest.partition("?")
        return cls(kind, target, dict(parse_qsl(query, keep_blank_values=True)))

    @property
    def topic(self) -> tuple[str, str]:
        """Of a Kafka address: the servers and the topic."""
        servers, slash, topic = self.target.removeprefix("//").rpartition("/")
        if not slash or not servers or not topic:
            raise ConfigError(f"kafka:{self.target}: write kafka://HOST:PORT/TOPIC")
        return servers, topic

    def folder(self) -> str:
        """Of an address of files: the folder, which must be named."""
        if not self.target:
            raise ConfigError(f"{self.kind}: has no folder: write {self.kind}:FOLDER")
        return self.target


def _kind_of(path: Path) -> str | None:
    if path.is_dir():
        kinds = {_SUFFIXES[file.suffix] for file in path.iterdir() if file.suffix in _SUFFIXES}
        return kinds.pop() if len(kinds) == 1 else None
    return _SUFFIXES.get(path.suffix)
