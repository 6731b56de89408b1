"""`tidegate workload`: generate who follows what and how many events come there, and analyse it."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from tidegate.cli.options import ConfOption, MasterOption, check_places
from tidegate.errors import ConfigError

# A command imports what it needs when it runs: help must not wait for compilers.
# ruff: noqa: PLC0415

app = typer.Typer(help="Generate workloads of topics and subscribers, and analyse them.", no_args_is_help=True)


@app.command()
def generate(
    like: Annotated[str, typer.Option(help="Which trace it is to be like: spotify or twitter.")],
    into: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for its Parquet files.")],
    scale: Annotated[float, typer.Option(min=1e-6, max=100, help="How large, the trace being 1.")] = 1.0,
    topics: Annotated[int | None, typer.Option(min=1, help="So many topics, whatever the scale.")] = None,
    subscribers: Annotated[int | None, typer.Option(min=1, help="So many subscribers.")] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="So many pairs of a subscriber and a topic, about.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same workload.")] = 1,
) -> None:
    """Draw a workload like one that was measured, and write it as Parquet."""
    from tidegate.workload.social import KINDS, Social
    from tidegate.workload.social_files import write_workload

    if like not in KINDS:
        raise ConfigError(f"no workload is called {like!r}: choose one of {', '.join(KINDS)}")
    kind = KINDS[like]
    asked = {"topics": topics, "subscribers": subscribers, "pairs": pairs}
    given = {name: number for name, number in asked.items() if number is not None}
    numbers = kind.numbers.scaled(scale)._replace(**given)
    console = Console()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("settling", total=None)
        social = Social.draw(kind, numbers, seed)
        progress.update(task, description="writing pairs")
        write_workload(social, into, done=lambda written, total: progress.update(task, completed=written, total=total))
    made = social.numbers
    console.print(
        f"{into}: {made.topics:,} topics with {int(social.events.sum()):,} events in ten days, "
        f"{made.subscribers:,} subscribers, {made.pairs:,} pairs",
        soft_wrap=True,
        highlight=False,
    )


@app.command()
def analyze(
    folder: Annotated[Path | None, typer.Argument(help="A folder as `generate` writes it.")] = None,
    pairs: Annotated[str | None, typer.Option(help="Parquet with columns subscriber and topic.")] = None,
    topics: Annotated[str | None, typer.Option(help="Parquet with columns topic and events.")] = None,
    publications: Annotated[
        str | None, typer.Option(help="Parquet with columns hour, service, site and origin, and maybe events.")
    ] = None,
    subscriptions: Annotated[
        str | None, typer.Option(help="Parquet with columns hour, service, subscribed, unsubscribed and standing.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write tables and figures to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report with the figures to this file.")] = None,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
) -> None:
    """Show what a workload looks like: who follows how much, how many events come, and when."""
    from tidegate.cli import running
    from tidegate.cli.analysing import Inputs, analyse_workload

    check_places(json, html)
    inputs = Inputs.of(folder, pairs, topics, publications, subscriptions)
    settings = {"spark.master": master, **running.settings(conf or ())}
    analyse_workload(Console(width=None if sys.stdout.isatty() else 160), inputs, settings, json, html)
