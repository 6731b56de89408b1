"""Benchmark `provision`: what it costs to satisfy everybody, step by step, and how fast (Figures 7.4 to 7.9).

The thesis leaves open in what time its rates come. Here it is an hour, machines are paid for ten days, and traffic
for one hour: then cost follows machines, as it does there, and the naive way at full size costs about what its savings
say ($2,000 are 38 %). A share of a trace is taken in that share of an hour, so that there are as many machines.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tidegate.bench.demands import SPOTIFY, TWITTER, Like, demand_like, files_like
from tidegate.bench.report import Report, Row, Scale
from tidegate.capacity.demand import Demand
from tidegate.capacity.packing import first_fit, followers_of, packed
from tidegate.capacity.pairs import greedy_pairs, random_pairs
from tidegate.capacity.pricing import Pricing, Terms
from tidegate.capacity.provisioning import bill, excess, least_bill, steps
from tidegate.capacity.streamed import chosen_pairs
from tidegate.errors import TidegateError

_SCALES: Final = {"small": (0.02, 0.001, 0.001), "paper": (1.0, 0.01, 0.1), "max": (1.0, 0.01, 1.0)}
"""Spotify and Twitter in memory, and Twitter on disk, as shares of the traces."""
_TOLD: Final = {
    "spotify": {10: (33.0, 38.0), 100: (27.6, None), 1000: (10.9, None)},
    "twitter": {10: (71.0, 74.0), 100: (51.4, None), 1000: (29.1, None)},
}
"""By threshold, what the thesis saves by greedy pairs, and in all, in percent of the naive cost."""
_TRAFFIC_S: Final = 3600.0


def run(scale: Scale, seed: int = 1, posts: Path | None = None) -> Report:
    """Measure at `scale`; raise `TidegateError` if a subscriber is not satisfied, or a cost is below the least."""
    spotify, twitter, stored = _SCALES[scale]
    report = Report("provision", scale, {"seed": seed, "rates": "events in 1h", "spotify": spotify, "twitter": twitter})
    _compile()
    found = {
        name: _figures(report, name, like, size, seed)
        for name, like, size in (("spotify", SPOTIFY, spotify), ("twitter", TWITTER, twitter))
    }
    streamed_s = _streamed(report, stored, seed)
    report.summary = {
        "mcss_spotify_s": found["spotify"][1],
        "mcss_twitter_s": streamed_s,
        "saving_twitter_pct": found["twitter"][0],
        "saving_spotify_pct": found["spotify"][0],
        "over_lower_bound_pct": found["spotify"][2],
    }
    return report


def plot(report: Report, path: Path) -> None:
    """Draw the costs of all steps."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    figure = Figure(figsize=(14, 5), layout="constrained")
    for axes, section in zip(figure.subplots(1, 2), report.sections[:3:2], strict=True):
        for threshold in sorted({row["τ"] for row in section.rows}):
            rows = [row for row in section.rows if row["τ"] == threshold and row["machine"] == "c3.large"]
            axes.plot(
                [row["step"] for row in rows], [row["cost"] for row in rows], marker="o", label=f"τ = {threshold}"
            )
        axes.set_title(section.title, fontsize=9)
        axes.tick_params(axis="x", rotation=30)
        axes.legend()
    figure.savefig(path, dpi=110)


def _terms(name: str, scale: float) -> Terms:
    prices = Pricing.read("ec2-2014")
    period = _TRAFFIC_S * scale
    return Terms(prices.machine(name), prices, period, 200, 864_000.0, period)


def _figures(report: Report, name: str, like: Like, scale: float, seed: int) -> tuple[float, float, float]:
    demand = demand_like(like, scale, seed)
    rows, times = list[Row](), list[Row]()
    for threshold in _TOLD[name]:
        for machine in ("c3.large", "c3.xlarge"):
            terms = _terms(machine, scale)
            if 2 * demand.events.max() > terms.capacity:
                continue
            timed = _timed(demand, threshold, terms, seed)
            chosen, naive = timed.pop("pairs")
            rows += _rows(demand, threshold, terms, chosen, naive, _TOLD[name][threshold])
            times.append({"τ": threshold, "machine": machine, **timed})
    figure, runtimes = ("7.4", "7.6 and 7.8") if name == "spotify" else ("7.5", "7.7 and 7.9")
    report.section(f"Figure {figure}: {name}, what each step saves", rows)
    report.section(f"Figures {runtimes}: {name}, seconds of the stages", times)
    last = next(row for row in rows if row["step"].startswith("(e)") and row["τ"] == 10)
    both = max(row["greedy pairs s"] + row["packing s"] for row in times)
    return last["saved, %"], both, last["over the least, %"]


def _timed(demand: Demand, threshold: int, terms: Terms, seed: int) -> dict[str, Any]:
    begun = [time.perf_counter()]
    naive = random_pairs(demand, threshold, seed)
    begun.append(time.perf_counter())
    chosen = greedy_pairs(demand, threshold)
    begun.append(time.perf_counter())
    packed(demand.events, followers_of(chosen, demand.n_topics), terms)
    begun.append(time.perf_counter())
    first_fit(demand.events, chosen, terms)
    begun.append(time.perf_counter())
    if min(int(excess(demand, threshold, pairs).min()) for pairs in (naive, chosen)) < 0:
        raise TidegateError(f"a subscriber is not satisfied at a threshold of {threshold:,}")
    names = ("random pairs s", "greedy pairs s", "packing s", "first fit s")
    return {"pairs": (chosen, naive), **{n: begun[i + 1] - begun[i] for i, n in enumerate(names)}}


def _rows(demand: Demand, threshold: int, terms: Terms, chosen: Any, naive: Any, told: tuple[Any, Any]) -> list[Row]:
    least = least_bill(demand, threshold, terms)
    rows: list[Row] = []
    for step, one in steps(demand.events, chosen, naive, terms):
        if one.cost < least.cost - 1e-6:
            raise TidegateError(f"{step}: {one.cost:,.2f} is below the least there is, {least.cost:,.2f}")
        rows.append(
            {
                "τ": threshold,
                "machine": terms.machine.name,
                "step": step,
                "machines": one.machines,
                "events": one.events,
                "cost": one.cost,
                "saved, %": 100 * (1 - one.cost / (rows[0]["cost"] if rows else one.cost)),
                "thesis, %": {"(a)": told[0], "(e)": told[1]}.get(step[:3])
                if terms.machine.name == "c3.large"
                else None,
                "over the least, %": 100 * (one.cost / least.cost - 1),
            }
        )
    return rows


def _streamed(report: Report, scale: float, seed: int) -> float:
    with TemporaryDirectory() as folder:
        files = files_like(TWITTER, scale, seed, Path(folder))
        terms = _terms("c3.xlarge", scale)
        begun = time.perf_counter()
        chosen = chosen_pairs(files, 10)
        first_s = time.perf_counter() - begun
        packing = packed(chosen.events, chosen.counts, terms)
        seconds = time.perf_counter() - begun
    row = {"pairs": chosen.pairs, "stage 1 s": first_s, "both s": seconds, "machines": bill(packing, terms).machines}
    report.section("Twitter from Parquet on disk, τ = 10", [{**row, "thesis s": 1484.7}])
    return seconds


def _compile() -> None:
    tiny, _ = Demand.of([3, 4, 5], [0, 0, 1], [0, 1, 2])
    _timed(tiny, 3, _terms("c3.large", 1.0), 1)
    with TemporaryDirectory() as folder:
        chosen_pairs(files_like(SPOTIFY, 1e-5, 1, Path(folder)), 3)
