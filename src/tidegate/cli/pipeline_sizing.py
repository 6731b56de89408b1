"""`tidegate provision --pipeline`: the cluster that a stream and its subscriptions need, kind by kind of machine."""

from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.capacity.pipeline_costs import PipelineCosts
from tidegate.capacity.pipeline_sizing import Load, Sizing, cheapest
from tidegate.capacity.pricing import Pricing
from tidegate.errors import ConfigError
from tidegate.rank.duration import duration


def pipeline_figures(load: Load, costs: PipelineCosts, prices: str, machine: str, billed: str) -> dict[str, Any]:
    """Return what a pipeline needs, of the kind of machine that was named or of each, the cheapest first."""
    listed = Pricing.read(prices)
    if machine == "mixed":
        raise ConfigError("the machines of a pipeline are all of one kind: name it, or let the cheapest be chosen")
    kinds = listed.machines if machine == "cheapest" else (listed.machine(machine),)
    hours = duration("billed", billed) / 3.6e9
    found = cheapest(load, costs, listed, kinds)
    return {
        **_row(found[0], hours),
        "posts_per_s": load.posts_per_s,
        "subscriptions": load.subscriptions,
        "matches_per_s": load.matches_per_s,
        "headroom_pct": 100 * load.headroom,
        "prices": listed.name,
        "currency": listed.currency,
        "billed": billed,
        "measured": costs.measured,
        "beyond_measured": max(load.subscriptions / costs.sizes[-1], 1.0),
        "kinds_compared": [_row(one, hours) for one in found],
    }


def show_pipeline(console: Console, figures: dict[str, Any]) -> None:
    """Print them as tables."""
    rows = figures["kinds_compared"]
    table = Table(
        title=f"{figures['posts_per_s']:,.0f} posts a second, {figures['subscriptions']:,.0f} subscriptions, "
        f"{figures['matches_per_s']:,.0f} matches a second",
        title_justify="left",
    )
    table.add_column("")
    for row in rows:
        table.add_column(row["machine"], justify="right")
    for name in rows[0]:
        if name != "machine":
            table.add_row(name.replace("_", " "), *(_cell(row[name]) for row in rows))
    console.print(table)
    console.print(f"costs in {figures['currency']} for {figures['billed']}: {figures['prices']}", highlight=False)
    console.print(f"measured: {figures['measured']}", highlight=False, soft_wrap=True)
    if figures["beyond_measured"] > 1:
        times = f"{figures['beyond_measured']:,.1f}"
        console.print(f"on paper: {times} times the subscriptions that were measured", highlight=False)


def _row(one: Sizing, hours: float) -> dict[str, Any]:
    return {
        "machine": one.machine.name,
        "machines": one.machines,
        "executors": one.executors,
        "cores": one.cores,
        "plan": one.plan,
        "head_pct": 100 * one.head,
        "visits_per_post": one.visits,
        "core_us_per_post": one.post_us,
        "memory_gb_per_host": one.host_bytes / 1e9,
        "memory_gb": one.machines * one.host_bytes / 1e9,
        "mbit_per_s_per_host": one.mbit_per_s,
        "used_cores_pct": 100 * one.used["cores"],
        "used_memory_pct": 100 * one.used["memory"],
        "used_network_pct": 100 * one.used["network"],
        "binds": one.binds,
        "inbox_databases": one.databases,
        "cost_machines": one.hourly * hours,
        "cost_traffic": one.traffic_hourly * hours,
        "cost": one.cost_per_hour * hours,
    }


def _cell(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
