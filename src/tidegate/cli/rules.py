"""`tidegate rules`: show the rules of delivery, and what they would do with an event."""

import json as jsons
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.deliver.rules import Rules

# A command imports what it needs when it runs: help must not wait for it.
# ruff: noqa: PLC0415

app = typer.Typer(help="Show the rules of delivery, and test what they would do.", no_args_is_help=True)

File = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE", envvar="TIDEGATE_RULES", help="Rules in JSON; else those published, or the usual."
    ),
]
Base = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", envvar="TIDEGATE_DATABASE", help="Where published rules are."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def show(rules: File = None, database: Base = None, json: AsJson = False) -> None:
    """Print the rules in force, in the order in which they are tried."""
    chosen = _rules(rules, database)
    if json:
        typer.echo(jsons.dumps(chosen.to_json(), indent=2))
        return
    table = Table("rule", "when", "then")
    for rule in chosen.rules:
        asked = rule.when.to_json()
        conditions = "\n".join(f"{name}: {_plain(value)}" for name, value in asked.items()) or "always"
        table.add_row(Text(rule.name), Text(conditions), ", ".join(rule.then))
    _console().print(table)


@app.command()
def publish(
    rules: Annotated[Path, typer.Option("--rules", metavar="FILE", help="Rules in JSON.")],
    database: Annotated[str, typer.Option(metavar="URL", envvar="TIDEGATE_DATABASE", help="Where the inbox is.")],
) -> None:
    """Put rules into force for all that deliver from a database, at once."""
    from tidegate.deliver.database import Database
    from tidegate.deliver.rule_table import RuleTable

    chosen = _rules(rules)
    opened = Database.open(database)
    try:
        version = RuleTable(opened).publish(chosen)
    finally:
        opened.close()
    typer.echo(f"the rules of {rules} are in force, as version {version}")


@app.command(name="test")
def try_out(
    event: Annotated[
        str, typer.Option(metavar="JSON|FILE", help="What happens: topic, topic_type, at, post, reasons.")
    ],
    subscriber: Annotated[
        str, typer.Option(metavar="JSON|FILE", help="Who is told: id, online, devices, preferences.")
    ] = '{"id": "somebody"}',
    rules: File = None,
    database: Base = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When it is decided, with its zone; now.")] = None,
    sent: Annotated[
        list[str] | None, typer.Option(metavar="TIME", help="When it was last sent something, for caps; any number.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what an event would do for a subscriber, and why."""
    from tidegate.deliver.event import Event
    from tidegate.deliver.fields import as_moment, microseconds
    from tidegate.deliver.planning import plan
    from tidegate.deliver.subscriber import Subscriber

    chosen = _rules(rules, database)
    now = time.time_ns() // 1_000 if at is None else microseconds("--at", at)
    happening = Event.from_json("event", {"at": now, **_object("--event", event)})
    who = Subscriber.from_json("subscriber", _object("--subscriber", subscriber))
    recent = tuple(sorted(microseconds("--sent", moment) for moment in sent or ()))
    decided = plan(happening, who, chosen, recent, now)
    # Where something is muted no rule is ever asked.
    passed_over = chosen.passed_over(happening, who) if decided.is_ruled else ()
    why = [*passed_over, *decided.why]
    sends = [{"channel": send.channel, "at": as_moment(send.at).isoformat()} for send in decided.sends]
    if json:
        reasons = [reason.subscription for reason in decided.reasons]
        typer.echo(jsons.dumps({"sends": sends, "reasons": reasons, "why": why}, indent=2))
        return
    console = _console()
    for send in sends or [{"channel": "nothing", "at": ""}]:
        waits = "" if send["at"] in ("", as_moment(now).isoformat()) else f"  at {send['at']}"
        console.print(Text.assemble((send["channel"], "bold"), waits), soft_wrap=True)
    for line in why:
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)


def _rules(path: Path | None, database: str | None = None) -> "Rules":
    """The rules of a file; else those that are published in a database; else the usual ones."""
    from tidegate.deliver.rules import Rules, hybrid_rules
    from tidegate.deliver.watched_rules import RuleFile

    if path is not None:
        return Rules.parse(RuleFile(path).text())
    return hybrid_rules() if database is None else _published(database)


def _published(database: str) -> "Rules":
    from tidegate.deliver.database import Database
    from tidegate.deliver.rule_table import RuleTable
    from tidegate.deliver.rules import Rules

    opened = Database.open(database)
    try:
        return Rules.parse(RuleTable(opened).text())
    finally:
        opened.close()


def _object(option: str, given: str) -> dict[str, Any]:
    """Read JSON, or a file of it: what begins with a brace is meant as JSON."""
    try:
        document = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8")
        value = jsons.loads(document)
    except OSError as error:
        raise ConfigError(f"{option} is {given!r:.80}, neither a JSON object nor a file: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{option} is no JSON ({error}): give an object, or a file with one") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{option} is {value!r:.80}: give a JSON object")
    return value


def _plain(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else jsons.dumps(value)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 160)
