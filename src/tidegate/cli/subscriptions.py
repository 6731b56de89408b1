"""`tidegate subscriptions`: add, import, list, remove and export what a store holds."""

import json
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from tidegate.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from tidegate.query.region import Rectangle
    from tidegate.store.store import Store

# A command imports what it needs when it runs: help must not wait for compilers.
# ruff: noqa: PLC0415

app = typer.Typer(help="Add, import, list, remove and export the subscriptions of a store.", no_args_is_help=True)

Where = Annotated[
    str,
    typer.Option("--store", metavar="DIR", envvar="TIDEGATE_STORE", help="A folder, or an address such as s3://…/…"),
]
Format = Annotated[str | None, typer.Option(help="parquet, csv or jsonl; otherwise as the name of the file ends.")]
_HERE = "subscriptions"
_SPANS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@app.command()
def add(
    query: Annotated[
        str, typer.Argument(help="As in: 'storm (coast OR harbour)'; write -- before one that begins with -")
    ],
    subscriber: Annotated[str, typer.Option(help="Whose subscription it is.")],
    id: Annotated[str | None, typer.Option(help="Its id; a subscription of this id is replaced.")] = None,  # noqa: A002
    region: Annotated[str | None, typer.Option(metavar="W,S,E,N", help="Only posts from here, in degrees.")] = None,
    ranking: Annotated[str | None, typer.Option(metavar="JSON", help="How it is to be ranked: an object.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag to find it by; may be given several times.")] = None,
    expires: Annotated[str | None, typer.Option(help="A time with its zone, or from now: 12h, 30d, 8w.")] = None,
    store: Where = _HERE,
) -> None:
    """Make a subscription, or replace the one of the same id; print its id and what it means."""
    from tidegate.store.checking import checked_query
    from tidegate.store.schema import region_text
    from tidegate.store.store import Store
    from tidegate.text.analyzer import Analyzer

    area = None if region is None else _rectangle(region)
    ranked = None if ranking is None else _object(ranking)
    until = None if expires is None else _moment(expires)
    meaning = checked_query(query, region_text(area), Analyzer()).canonical
    made = Store.open(store).subscribe(
        subscriber, query, id=id, region=area, ranking=ranked, tags=tag or (), expires=until
    )
    console = Console()
    console.print(Text.assemble(("id     ", "bold"), made), soft_wrap=True)
    console.print(Text.assemble(("means  ", "bold"), meaning), soft_wrap=True)


@app.command(name="import")
def import_(
    files: Annotated[list[str], typer.Argument(help="Parquet, CSV or JSON lines: files, folders or patterns.")],
    format: Format = None,  # noqa: A002
    rejects: Annotated[
        Path | None, typer.Option(help="Where to list what is refused; else FILE.rejects.jsonl.")
    ] = None,
    store: Where = _HERE,
) -> None:
    """Subscribe everything in files; what cannot be accepted is listed with its line and the reason."""
    from tidegate.store.importing import import_subscriptions
    from tidegate.store.store import Store

    if rejects is not None and len(files) > 1:
        raise ConfigError(f"--rejects names one list for {len(files)} files: import them one by one, or leave it out")
    into = Store.open(store)
    console = Console()
    for file in files:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(f"importing {file}", total=1.0)
            done = import_subscriptions(
                into,
                file,
                format=format,
                rejects=rejects,
                progress=lambda _, share: progress.update(task, completed=share),  # noqa: B023
            )
        said = f"{file}: {done.accepted:,} accepted, {done.refused:,} refused, {done.superseded:,} superseded"
        console.print(Text(f"{said} in {done.seconds:.1f} s"), soft_wrap=True)
        for listed in done.rejects:
            console.print(Text(f"reasons are in {listed}"), soft_wrap=True)


@app.command(name="list")
def list_(
    subscriber: Annotated[str | None, typer.Option(help="Only the subscriptions of this one.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on each line, with all there is.")] = False,
    store: Where = _HERE,
) -> None:
    """Show subscriptions, the newest first."""
    import pyarrow.compute as pc

    from tidegate.store.exporting import json_line

    rows = existing_store(store).subscriptions()
    if subscriber is not None:
        rows = rows.filter(pc.equal(rows.column("subscriber"), subscriber))
    newest = rows.sort_by([("created", "descending"), ("id", "ascending")]).slice(0, limit).to_pylist()
    if json:
        for row in newest:
            typer.echo(json_line(row))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    names = ("id", "subscriber", "query", "created", "expires")
    table = Table(*names)
    for row in newest:
        table.add_row(*(Text(_shown(row[name])) for name in names))
    console.print(table)
    console.print(f"{len(newest):,} of {rows.num_rows:,} subscriptions", highlight=False)


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of subscriptions.")], store: Where = _HERE
) -> None:
    """Remove subscriptions: all that are named, or none if one of them does not exist."""
    import pyarrow as pa

    held = existing_store(store)
    newest = held.table.newest(pa.array(ids), held.version, ["removed"]).to_pylist()
    living = {row["id"] for row in newest if not row["removed"]}
    missing = [repr(wanted) for wanted in dict.fromkeys(ids) if wanted not in living]
    if missing:
        raise ConfigError(f"there is no subscription {', '.join(missing)}: none was removed")
    held.apply(pa.table({"id": ids, "operation": ["unsubscribe"] * len(ids)}))
    typer.echo(f"removed {len(set(ids)):,}")


@app.command()
def export(
    file: Annotated[
        Path, typer.Argument(help="What to write: its name ends in .parquet, .csv or .jsonl, or these .gz")
    ],
    format: Format = None,  # noqa: A002
    version: Annotated[int | None, typer.Option(min=0, help="As the store was at this version.")] = None,
    store: Where = _HERE,
) -> None:
    """Write all subscriptions to a file that `import` reads again."""
    from tidegate.store.exporting import export_subscriptions

    n = export_subscriptions(existing_store(store), file, format=format, version=version)
    typer.echo(f"{file}: {n:,} subscriptions")


def existing_store(where: str) -> "Store":
    """Open a store that must be there: one made by mistake would be empty, and nothing would ever match."""
    from tidegate.store.store import Store

    try:
        return Store.open(where, create=False)
    except StoreError as error:
        raise StoreError(f"{error}; name the store by --store, or make it: tidegate subscriptions add") from error


def _rectangle(text: str) -> "Rectangle":
    from tidegate.query.region import RegionError, rectangle

    try:
        west, south, east, north = map(float, text.split(","))
        return rectangle(west, south, east, north)
    except RegionError as error:
        raise ConfigError(f"--region is {text}: {error.problem} ({error.hint})") from error
    except ValueError as error:
        raise ConfigError(f"--region is {text!r}: give west,south,east,north in degrees, as in -10,36,4,44") from error


def _object(text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        if isinstance(read := json.loads(text), dict):
            return read
    raise ConfigError(f'--ranking is {text!r:.80}: give a JSON object, as in {{"k": 5, "window": "1h"}}')


def _moment(text: str) -> datetime:
    """Read a time, or a span from now."""
    span = re.fullmatch(r"([0-9]+)([hdw])", text)
    with suppress(ValueError, OverflowError):
        return datetime.now(UTC) + int(span[1]) * _SPANS[span[2]] if span else datetime.fromisoformat(text)
    raise ConfigError(f"--expires is {text!r}: give a time such as 2026-01-31T18:00:00+00:00, or 12h, 30d or 8w")


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return "" if value is None else str(value)
