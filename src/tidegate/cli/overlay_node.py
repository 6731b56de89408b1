"""`tidegate overlay node`: a peer on real sockets, from its input to its output."""

from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.options import ForOption, check_places, seconds

# A command imports what it needs when it runs: help must not wait for it.
# ruff: noqa: PLC0415


def node(
    topics: Annotated[
        str, typer.Option(help="What it is subscribed to: names, separated by commas, or a file with one on each line.")
    ] = "",
    listen: Annotated[
        str, typer.Option(help="Where it listens, by UDP and TCP: HOST:PORT; port 0: any that is free.")
    ] = "127.0.0.1:0",
    join: Annotated[
        list[str] | None, typer.Option(help="A peer that is there already: HOST:PORT; any number, one has to answer.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="The key that all peers share; beyond this machine there has to be one.")
    ] = None,
    advertise: Annotated[
        str | None, typer.Option(help="Where others reach it, if that is not where it listens: HOST:PORT.")
    ] = None,
    publish: Annotated[
        str | None, typer.Option(help="The topic of lines of the input that name none.", metavar="TOPIC")
    ] = None,
    period: Annotated[str, typer.Option(help="How often it gossips, as in 500ms.")] = "1s",
    patience: Annotated[str, typer.Option(help="Whoever has not answered for so long is taken to be gone.")] = "3s",
    fan_out: Annotated[
        int, typer.Option(min=2, max=64, help="To how many peers an event is passed on; more are faster and dearer.")
    ] = 2,
    within: Annotated[
        str, typer.Option(help="How long what is published waits for somebody who follows its topic.")
    ] = "10s",
    best: Annotated[
        int | None, typer.Option(min=1, help="Print only so many of every window (--of), the best by a score (--by).")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(help="How large a window is: a number of events (100), or a time, as in 10m.", metavar="WINDOW"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Where the text of an event, as JSON, has its score, as in post.likes.", metavar="NAME"),
    ] = None,
    status_file: Annotated[
        Path | None, typer.Option(help="Keep in this file, as JSON, whom it knows and what it has done.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Leave when the input has ended, and all of it is told.")
    ] = False,
    for_: ForOption = None,
) -> None:
    """Be a peer: join others, publish what is read, and print what they publish, as JSON lines, until it is stopped.

    A line of the input is a topic, a tab and a text, or JSON: {"topic": …, "text": …}, {"subscribe": TOPIC} or
    {"unsubscribe": TOPIC}. How it fares is said on the error output.
    """
    from tidegate.cli.peering import Peering, be_peer, named_topics, picking_of
    from tidegate.deliver.ends import Address, read_key
    from tidegate.overlay.node.settings import NodeSettings

    check_places(status_file)
    what = "place of a peer"
    settings = NodeSettings(
        Address.parse(listen, what=what, least=0),
        tuple(Address.parse(one, what=what) for one in join or ()),
        None if key_file is None else read_key(key_file, "peers"),
        None if advertise is None else Address.parse(advertise, what=what, least=0),
        seconds(period),
        seconds(patience),
        fan_out,
    )
    picking = picking_of(best, of, by)
    be_peer(Peering(settings, named_topics(topics), publish, seconds(within), status_file, once, for_, picking))
