"""Options that several commands have: each is written down once, and means the same everywhere."""

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from tidegate.errors import ConfigError

PostsOption = Annotated[
    str, typer.Option(help="Where posts come from, as in: parquet:posts/, kafka://HOST:PORT/TOPIC.")
]
StoreOption = Annotated[str, typer.Option(envvar="TIDEGATE_STORE", help="The folder or address of the subscriptions.")]
CheckpointOption = Annotated[str | None, typer.Option(help="Where to keep how far the job is; beside the store.")]
TriggerOption = Annotated[str, typer.Option(help="How often a batch starts, as in 500ms; 0: without a pause.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Take the posts that are there, and end.")]
PerHostOption = Annotated[int, typer.Option(min=1, help="The matchers of one host, which share its memory.")]
HostMemoryOption = Annotated[
    float | None, typer.Option(min=0.001, help="Memory of a host for subscriptions, in GB; without it, any.")
]
IdOption = Annotated[str, typer.Option(help="The column with a post's id.")]
TextOption = Annotated[str, typer.Option(help="The column with its text.")]
AuthorOption = Annotated[str | None, typer.Option(help="The column with its author.")]
LangOption = Annotated[str | None, typer.Option(help="The column with its language.")]
LatOption = Annotated[str | None, typer.Option(help="The column with its degrees north.")]
LonOption = Annotated[str | None, typer.Option(help="The column with its degrees east.")]
SchemaOption = Annotated[str | None, typer.Option(help="The columns of posts, as in: 'id string, text string'.")]
MetricsPortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Serve Prometheus metrics on this port of loopback; 0: do not.")
]
MasterOption = Annotated[str, typer.Option(help="Where Spark runs, as in: local[4], spark://HOST:PORT.")]
ConfOption = Annotated[list[str] | None, typer.Option(help="A setting of Spark, name=value; any number.")]
ForOption = Annotated[float | None, typer.Option("--for", min=0, help="Stop after so many seconds.")]

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Read a time as a user writes it.

    >>> seconds("500ms"), seconds("2 m"), seconds("1.5")
    (0.5, 120.0, 1.5)
    """
    written = re.fullmatch(r"(\d+(?:\.\d+)?) *(ms|s|m|h)?", text.strip())
    if written is None:
        raise ConfigError(f"{text!r} is no time: write a number and one of {', '.join(_UNITS)}, as in 500ms")
    return float(written[1]) * _UNITS[written[2] or "s"]


def check_places(*paths: Path | None) -> None:
    """Refuse now what could not be written when all is done; None is nothing to write."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{path}: there is no folder {path.absolute().parent} to write to")
        if path is not None and path.is_dir():
            raise ConfigError(f"{path}: this is a folder; name a file in it")
        if path is not None:
            _check_file(path)


def _check_file(path: Path) -> None:
    """Refuse a file that cannot be opened; it is left as it was, or not there. Pipes and devices are not tried."""
    # What a link leads to, if that is not there yet, and not the link.
    path = path.resolve()
    is_new = not path.exists()
    if not is_new and not path.is_file():
        return
    try:
        path.open("xb" if is_new else "ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"{path}: this cannot be written: {error.strerror}") from error
