"""`tidegate satisfy` and `tidegate provision`: whom can be satisfied with what there is, and what it costs for all."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tidegate.capacity.optimisations import Optimisation
from tidegate.cli.options import check_places
from tidegate.errors import ConfigError

DemandArgument = Annotated[
    Path,
    typer.Argument(
        help="A folder with topics.parquet (topic, events), pairs/ (subscriber, topic) and, for subscribers whose "
        "threshold is another than --threshold, thresholds.parquet (subscriber, threshold)."
    ),
]
ThresholdOption = Annotated[int, typer.Option(min=1, help="Events in a period that satisfy a subscriber (τ).")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")]


def satisfy(
    demand: DemandArgument,
    threshold: ThresholdOption = 10,
    capacity: Annotated[
        str,
        typer.Option(
            help="Events to subscribers that can be sent in a period: a number, or, of all there are, as in 10%."
        ),
    ] = "10%",
    goal: Annotated[
        str, typer.Option(help="b3m: as many satisfied subscribers as can be; fb3m: shares of thresholds, added up.")
    ] = "fb3m",
    own_costs: Annotated[
        bool,
        typer.Option(
            "--own-costs", help="Topics cost what the column cost of topics.parquet says, and so is capacity."
        ),
    ] = False,
    into: Annotated[
        Path | None, typer.Option(help="Write all topics to this Parquet file: topic, events, followers, cost, served.")
    ] = None,
    json_path: JsonOption = None,
) -> None:
    """Choose the topics to serve within a capacity so that subscribers are satisfied; the others are to offload."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tidegate.capacity.bounds import b3m_bound, fb3m_bound
    from tidegate.capacity.offloading import Goal
    from tidegate.capacity.pair_files import PairFiles
    from tidegate.capacity.satisfaction import b3m, fb3m

    check_places(into, json_path)
    if goal not in list(Goal):
        raise ConfigError(f"no goal is called {goal!r}: choose one of {', '.join(Goal)}")
    files = PairFiles(demand)
    read, mended = files.demand()
    thresholds = files.thresholds_of(read.subscriber_names, threshold)
    costs = files.costs[read.topic_names] if own_costs else None
    prices = read.costs if costs is None else costs
    whole = int(prices.sum())
    room = capacity_of(capacity, whole)
    chosen = (b3m if goal == Goal.SATISFIED else fb3m)(read, thresholds, room, costs)
    count = goal == Goal.SATISFIED
    reached = chosen.satisfied if count else chosen.satisfaction
    bound = (b3m_bound if count else fb3m_bound)(read, thresholds, room, costs)
    figures = {
        "goal": goal,
        "threshold": threshold,
        "own_thresholds": int(np.count_nonzero(files.own_thresholds)),
        "costs": "own" if own_costs else "events to subscribers",
        "capacity": room,
        "capacity_pct": 100 * room / whole if whole else 0.0,
        "used": chosen.cost,
        "topics": read.n_topics,
        "served_topics": len(chosen.topics),
        "offloaded_topics": read.n_topics - len(chosen.topics),
        "subscribers": read.n_subscribers,
        "satisfied": chosen.satisfied,
        "satisfaction": chosen.satisfaction,
        "bound": bound,
        "ratio": reached / bound if bound else 1.0,
        "left_out": mended._asdict(),
    }
    if into is not None:
        served = np.zeros(read.n_topics, np.bool_)
        served[chosen.topics] = True
        followers = np.diff(read.followers.offsets)
        columns = {"topic": read.topic_names, "events": read.events, "followers": followers, "cost": prices}
        pq.write_table(pa.table({**columns, "served": served}), into)
    _tell(figures, str(mended), json_path)


def capacity_of(text: str, whole: int) -> int:
    """Read a capacity: a whole number, or a share of what serving everything takes.

    >>> capacity_of("2.5%", 1000), capacity_of("70", 1000)
    (25, 70)
    """
    try:
        value = float(text.removesuffix("%")) if text.endswith("%") else int(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise ConfigError(f"a capacity of {text!r}: give a whole number of events, or a share as in 10%")
    return int(whole * value / 100) if text.endswith("%") else int(value)


def provision(
    demand: Annotated[
        Path | None, typer.Argument(help="A folder as `satisfy` takes it; with --pipeline there is none.")
    ] = None,
    threshold: ThresholdOption = 10,
    prices: Annotated[
        str | None, typer.Option(help="A price list in JSON, or the name of one that comes along: ec2-2014, …")
    ] = None,
    machine: Annotated[
        str, typer.Option(help="A kind of machine of the list; cheapest: whichever; mixed: several kinds at once.")
    ] = "cheapest",
    period: Annotated[str, typer.Option(help="In what time the events of the demand come: the unit of rates.")] = "1h",
    billed: Annotated[str, typer.Option(help="How long machines are paid for.")] = "10d",
    traffic_billed: Annotated[
        str | None, typer.Option(help="For how long traffic is paid, if not as long as machines; as in 1h: one period.")
    ] = None,
    message_bytes: Annotated[int, typer.Option(min=1, help="Of an event.")] = 200,
    into: Annotated[Path | None, typer.Option(help="Write the allocation here: machine, topic, pairs.")] = None,
    fewest_events: Annotated[
        bool,
        typer.Option("--fewest-events", help="Send everybody as few events as can be, not a greedy choice."),
    ] = False,
    pairs_into: Annotated[Path | None, typer.Option(help="Write it pair by pair: machine, topic, subscriber.")] = None,
    previous: Annotated[
        Path | None, typer.Option("--from", help="An allocation to start from: as little as possible is moved.")
    ] = None,
    within: Annotated[
        float, typer.Option(min=0, help="With --from: how much dearer than from scratch it may be, as a share.")
    ] = 0.05,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show what each optimisation saves; takes memory for the chosen pairs.")
    ] = False,
    without: Annotated[
        list[Optimisation] | None,
        typer.Option(
            help="Leave out an optimisation, any number: c dear topics first, d most free first, e by cost; b by "
            "topic, and the others with it: pairs are packed as they come, in memory."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random choice to compare with.")] = 1,
    pipeline: Annotated[
        bool,
        typer.Option("--pipeline", help="Find the cluster that `tidegate run` needs instead, from measured costs."),
    ] = False,
    posts_per_second: Annotated[float, typer.Option(help="Of the stream, at its peak (pipeline).")] = 10_000,
    subscriptions: Annotated[float, typer.Option(help="That stand, as in 1e9 (pipeline).")] = 1e6,
    matches_per_post: Annotated[float, typer.Option(help="On average (pipeline).")] = 10,
    post_bytes: Annotated[int, typer.Option(help="Of a post; of a match --message-bytes (pipeline).")] = 300,
    headroom: Annotated[float, typer.Option(help="The share of cores and network to leave free (pipeline).")] = 0.3,
    cores_per_executor: Annotated[int, typer.Option(help="At most (pipeline).")] = 8,
    inbox: Annotated[bool, typer.Option("--inbox", help="Matches go into inboxes (pipeline).")] = False,
    measured: Annotated[
        list[Path] | None,
        typer.Option(help="JSON of tidegate bench pipeline, index, route or delivery to go by; any number (pipeline)."),
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure this machine first, for a minute (pipeline).")
    ] = False,
    json_path: JsonOption = None,
) -> None:
    """Find the machines that satisfy every subscriber, what they cost, and how far that is from the least.

    With --pipeline: the machines on which a stream is matched, for so many posts a second and subscriptions.
    """
    from tidegate.cli.provisioning import Wanted, provisioned

    check_places(into, pairs_into, json_path)
    if pipeline:
        from tidegate.capacity.pipeline_costs import PipelineCosts
        from tidegate.capacity.pipeline_sizing import Load
        from tidegate.cli import pipeline_sizing

        if demand is not None:
            raise ConfigError(f"{demand}: a pipeline is for posts and subscriptions, not for a demand in a folder")
        of_demand = {
            "--into": into,
            "--pairs-into": pairs_into,
            "--from": previous,
            "--compare": compare,
            "--without": without,
        }
        if meant := [name for name, value in of_demand.items() if value]:
            raise ConfigError(f"{', '.join(meant)} with --pipeline: a pipeline has no allocation; leave it out")
        load = Load(
            posts_per_second,
            subscriptions,
            matches_per_post,
            post_bytes,
            message_bytes,
            headroom,
            cores_per_executor,
            inbox,
        )
        costs = PipelineCosts.read(measured or ())
        if calibrate:
            from tidegate.bench.pipeline.calibration import calibration

            costs = costs.with_report(calibration(seed).as_json(), "calibrated now")
        found = pipeline_sizing.pipeline_figures(load, costs, prices or "ec2-7i", machine, billed)
        pipeline_sizing.show_pipeline(_console(), found)
        _write(found, json_path)
        return
    if demand is None:
        raise ConfigError("name a folder with the demand, or ask for a cluster by --pipeline")
    of_pipeline = {"--calibrate": calibrate, "--measured": measured, "--inbox": inbox}
    if meant := [name for name, value in of_pipeline.items() if value]:
        raise ConfigError(f"{', '.join(meant)} with a demand: this is for a cluster; ask for one by --pipeline")
    wanted = Wanted(
        demand,
        threshold,
        prices or "ec2-2014",
        machine,
        period,
        billed,
        traffic_billed,
        message_bytes,
        into,
        pairs_into,
        previous,
        within,
        fewest_events,
        frozenset(without or ()),
        seed if compare else None,
    )
    figures, left_out = provisioned(wanted)
    _tell(figures, left_out, json_path)


def _tell(figures: dict[str, Any], left_out: str, json_path: Path | None) -> None:
    console = _console()
    table = Table(show_header=False)
    for name, value in figures.items():
        if not isinstance(value, list | dict):
            table.add_row(name.replace("_", " "), f"{value:,.2f}" if isinstance(value, float) else _whole(value))
    console.print(table)
    for name, value in figures.get("kinds", {}).items():
        console.print(f"{value:,} of kind {name}")
    if rows := figures.get("steps"):
        shown = Table(*(name.replace("_", " ") for name in rows[0]))
        for row in rows:
            shown.add_row(*(f"{v:,.2f}" if isinstance(v, float) else _whole(v) for v in row.values()))
        console.print(shown)
    if left_out:
        console.print(f"left out: {left_out}", highlight=False)
    _write(figures, json_path)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120)


def _write(figures: dict[str, Any], json_path: Path | None) -> None:
    if json_path is not None:
        json_path.write_text(json.dumps(figures, indent=1) + "\n")


def _whole(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
