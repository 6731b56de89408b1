"""`tidegate learn`: what is learned from a history of posts, and what is shown of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tidegate.route.learning import Learned
from tidegate.route.plan import Plan
from tidegate.spark.columns import Columns
from tidegate.spark.learning import Lesson, learn_plan
from tidegate.spark.process import quiet_session, scratch_log
from tidegate.spark.sources.posts import read_history
from tidegate.store.store import Store


@dataclass(frozen=True)
class Learning:
    """What the command was asked for."""

    posts: str
    schema: str | None
    columns: Columns
    store: Store
    lesson: Lesson
    spark: Mapping[str, str]
    publish: bool
    explain: bool


def wanted_plan(text: str, matchers: int) -> Plan | None:
    """Read what to learn: a kind of plan, perhaps with its placement; None for whichever is best."""
    if text in ("auto", "replicate"):
        return None if text == "auto" else Plan.replicate()
    kind, _, placement = text.partition(":")
    return Plan.parse(f"{kind}:{matchers}" + (f":{placement}" if placement else ""))


def learn(console: Console, learning: Learning) -> None:
    """Learn a plan, explain the choice if that was asked for, and publish it unless it was not."""
    with scratch_log() as log, quiet_session(learning.spark, log) as spark:
        posts = read_history(spark, learning.posts, schema=learning.schema)
        chosen, every = learn_plan(posts, learning.columns, learning.store, learning.lesson, console.print)
    if learning.explain:
        _explain(console, chosen, every)
    if learning.publish:
        plan = learning.store.publish(chosen.plan, chosen.words, chosen.places)
        console.print(f"published {plan} as version {plan.version}: jobs follow it from their next batch on")


def _explain(console: Console, chosen: Learned, every: list[Learned]) -> None:
    table = Table(title="What is to be expected of each plan", title_justify="left")
    for name in (
        "plan",
        "head",
        "spread",
        "imbalance",
        "router µs",
        "slowest matcher µs",
        "posts/s",
        "MB a host",
        "fits",
    ):
        table.add_column(name, justify="left" if name == "plan" else "right")
    for one in sorted(every, key=lambda one: -one.forecast.throughput):
        told = one.forecast
        table.add_row(
            f"[bold]{one.plan}[/]" if one is chosen else str(one.plan),
            f"{told.head:.0%}" + (f" ({one.plan.head:,} words)" if one.plan.head else ""),
            f"{told.spread:.2f}",
            f"{told.imbalance:.2f}",
            f"{told.router_us:.2f}",
            f"{told.matcher_us:.3f}",
            f"{told.throughput:,.0f}",
            f"{told.host_bytes / 1e6:,.1f}",
            "yes" if told.fits else "no",
        )
    console.print(table)
    console.print(_reason(chosen, every), highlight=False)


def _reason(chosen: Learned, every: list[Learned]) -> str:
    if len(every) == 1:
        return f"{chosen.plan} was asked for."
    if not chosen.forecast.fits:
        return f"No plan fits the hosts; {chosen.plan} needs the least memory."
    others = [one for one in every if one is not chosen]
    faster = [one for one in others if one.forecast.throughput > chosen.forecast.throughput]
    if faster:
        names = ", ".join(str(one.plan) for one in faster)
        return f"{chosen.plan} is the fastest that fits the hosts; {names} would be faster, but needs more memory."
    rival = max(others, key=lambda one: one.forecast.throughput)
    ratio = chosen.forecast.throughput / rival.forecast.throughput
    return f"{chosen.plan} fits the hosts and is the fastest: {ratio:.2f} × {rival.plan}, the next."
