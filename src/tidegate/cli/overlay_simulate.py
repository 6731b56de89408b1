"""`tidegate overlay simulate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tidegate.cli.options import check_places

# A command imports what it needs when it runs: help must not wait for compilers.
# ruff: noqa: PLC0415


def simulate(
    peers: Annotated[
        int, typer.Option(min=3, help="How many peers there are; of a file with fewer users, all of these.")
    ] = 1_000,
    topics: Annotated[
        str,
        typer.Option(
            help="What they follow: each other, like facebook or twitter, or a file (Parquet: src, dst), of which a "
            "part is taken breadth first, with every follow inside."
        ),
    ] = "facebook",
    mean: Annotated[
        int | None, typer.Option(min=1, help="Topics that a peer follows, in the mean: 10 or 30; not of a file.")
    ] = None,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Follows of a file go both ways: it has each friendship once.")
    ] = False,
    cycles: Annotated[int, typer.Option(min=1, help="So often everybody gossips; a cycle is a minute.")] = 40,
    churn: Annotated[
        str,
        typer.Option(
            help="Who comes and goes: none, skype, crowd, departure, partition, or a file (Parquet: node, start_s, "
            "end_s)."
        ),
    ] = "none",
    latency: Annotated[
        str, typer.Option(help="How long letters take: none, drawn, or a file (Parquet: src, dst, rtt_ms).")
    ] = "drawn",
    fan_out: Annotated[int, typer.Option(help="To how many others an event is passed on; 2 at least.")] = 2,
    every: Annotated[int, typer.Option(min=1, help="Measure every so many cycles.")] = 5,
    show: Annotated[bool, typer.Option("--show", help="Draw the ring of a topic as it forms, as a page.")] = False,
    topic: Annotated[int | None, typer.Option(min=0, help="Which, with --show; else one of about 48 peers.")] = None,
    into: Annotated[Path, typer.Option(help="The page, with --show.")] = Path("overlay.html"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same run.")] = 1,
) -> None:
    """Let peers find their rings by gossip, and show how complete these are and whom events reach."""
    from tidegate.cli.simulating import Simulation
    from tidegate.cli.simulating import simulate as start

    if show:
        check_places(into)
    what = Simulation(peers, topics, mean, cycles, churn, latency, fan_out, every, seed, mutual)
    start(Console(width=None if sys.stdout.isatty() else 160), what, topic, into if show else None)
