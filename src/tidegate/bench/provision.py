"""Benchmark `provision`: what it costs to satisfy everybody, step by step, and how fast (Figures 7.4 to 7.9).

The thesis counts events over ten days, and leaves open in what time a machine has to send them: within ten days, one
machine would do for all of Spotify. Here it is an hour for Spotify's and half an hour for Twitter's, so that the naive
way takes as many machines as its savings come to ($2,000 are 38 % there, $4,000 are 74 %: about 150 machines for ten
days). Machines are paid for ten days, and traffic once: these are the events of ten days. A share of a trace is taken
in that share of the time, and paid for as all of it, so that there are as many machines.
"""

import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tidegate.bench.report import Report, Row, Scale
from tidegate.bench.traces import demand_like
from tidegate.capacity.demand import Demand
from tidegate.capacity.fewest import fewest_pairs
from tidegate.capacity.least import book_bill, least_bill
from tidegate.capacity.packing import first_fit, followers_of, packed
from tidegate.capacity.pair_files import PairFiles
from tidegate.capacity.pairs import greedy_pairs, random_pairs
from tidegate.capacity.pricing import Pricing, Terms
from tidegate.capacity.provisioning import Bill, bill, excess, filled_up, steps
from tidegate.capacity.streamed import chosen_pairs
from tidegate.errors import ConfigError, TidegateError
from tidegate.workload.social import SPOTIFY, TWITTER, Kind, Social
from tidegate.workload.social_files import write_workload

_SCALES: Final = {"small": (0.1, 0.01, 0.01), "paper": (1.0, 0.1, 1.0), "max": (1.0, 0.3, 1.0)}
"""Spotify and Twitter in memory, and Twitter on disk, as shares of the traces."""
_THRESHOLDS: Final = (10, 100, 1000)
_MACHINES: Final = ("c3.large", "c3.xlarge")


@dataclass(frozen=True)
class Trace:
    """What is set for a trace, and what the thesis tells of it."""

    kind: Kind
    unit_s: float
    """In what time the events of ten days are taken to come."""
    greedy: dict[tuple[str, int], float]
    """By machine and threshold: what greedy pairs save, in percent."""
    each: dict[str, str]
    """By step: what it saves of what is left."""
    in_all: float
    """What all of them save of the naive cost, at most."""
    figures: tuple[str, str, str]
    """Of costs, and of the times of both stages."""
    times: str
    """What it tells of these."""


_TRACES: Final = (
    Trace(
        SPOTIFY,
        3600.0,
        dict(zip(product(_MACHINES, _THRESHOLDS), (33.0, 27.6, 10.9, 32.7, 17.6, 10.8), strict=True)),
        {"(b)": "-1.6 to 3.5", "(c)": "up to 2.5", "(d)": "up to 10.7", "(e)": "up to 1.2"},
        38.0,
        ("7.4", "7.6", "7.8"),
        "greedy pairs take two seconds more than random ones at most, packing up to a tenth of first fit's time",
    ),
    Trace(
        TWITTER,
        1800.0,
        dict(zip(product(_MACHINES, _THRESHOLDS), (71.0, 51.4, 29.1, 70.0, 51.9, 20.3), strict=True)),
        {"(b)": "slightly", "(c)": "up to 2.4", "(d)": "up to 9.5", "(e)": "up to 0.2"},
        74.0,
        ("7.5", "7.7", "7.9"),
        "of all pairs, random ones take up to 986 s, greedy ones 1,471 s; packing a thousandth of first fit's",
    ),
)


def run(scale: Scale, seed: int = 1, posts: Path | None = None) -> Report:
    """Measure at `scale`; raise `TidegateError` if a subscriber is not satisfied, or a cost is below the least."""
    if posts is not None:
        raise ConfigError(f"benchmark 'provision' takes no posts, and {posts.name} was given: leave --posts out")
    *shares, stored = _SCALES[scale]
    units = {f"{trace.kind.name} rates": f"events in {trace.unit_s / 60:g} minutes" for trace in _TRACES}
    report = Report("provision", scale, {"seed": seed, **units, "spotify": shares[0], "twitter": shares[1]})
    _compile()
    found = [_figures(report, trace, share, seed) for trace, share in zip(_TRACES, shares, strict=True)]
    streamed_s = _streamed(report, stored, seed)
    report.summary = {
        "mcss_spotify_s": found[0]["seconds"],
        "mcss_twitter_s": streamed_s,
        "saving_twitter_pct": found[1]["saving"],
        "saving_spotify_pct": found[0]["saving"],
        "over_lower_bound_pct": max(one["over"] for one in found),
    }
    return report


def plot(report: Report, path: Path) -> None:
    """Draw the costs of all steps, and the seconds of both stages."""
    drawn(report).savefig(path, dpi=110)


def drawn(report: Report) -> Any:
    """Return all figures of a report as one: a row for each trace."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - drawing is optional

    figure = Figure(figsize=(18, 9), layout="constrained")
    for place, (trace, row) in enumerate(zip(_TRACES, figure.subplots(len(_TRACES), 3), strict=True)):
        costs, times = (section.rows for section in report.sections[2 * place : 2 * place + 2])
        stages = (("random pairs s", "greedy pairs s"), ("first fit s", "packing s"))
        _draw_costs(row[0], costs)
        for axes, names in zip(row[1:], stages, strict=True):
            _draw_times(axes, times, names)
        titles = ("cost of each step", "seconds of stage 1", "seconds of stage 2")
        for axes, number, title in zip(row, trace.figures, titles, strict=True):
            axes.set_title(f"Figure {number}: {trace.kind.name}, {title}", fontsize=9)
            axes.legend(fontsize=7)
    return figure


def _draw_costs(axes: Any, rows: list[Row]) -> None:
    for threshold, machine in product(_THRESHOLDS, _MACHINES):
        own = [row for row in rows if row["τ"] == threshold and row["machine"] == machine]
        names, costs = [row["step"] for row in own], [row["cost"] for row in own]
        axes.plot(names, costs, marker="o", label=f"τ = {threshold}, {machine}")
    axes.tick_params(axis="x", rotation=30)


def _draw_times(axes: Any, rows: list[Row], names: tuple[str, ...]) -> None:
    for name, machine in product(names, _MACHINES):
        own = [row for row in rows if row["machine"] == machine]
        axes.plot([row["τ"] for row in own], [row[name] for row in own], marker="o", label=f"{name}, {machine}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("τ")


def _terms(machine: str, unit_s: float, scale: float) -> Terms:
    prices = Pricing.read("ec2-2014")
    return Terms(prices.machine(machine), prices, unit_s * scale, 200, 864_000.0, unit_s)


def _figures(report: Report, trace: Trace, scale: float, seed: int) -> dict[str, float]:
    demand = demand_like(trace.kind, scale, seed)
    rows, times = list[Row](), list[Row]()
    for threshold in _THRESHOLDS:
        for machine in _MACHINES:
            terms = _terms(machine, trace.unit_s, scale)
            if 2 * demand.events.max() > terms.capacity:
                continue
            timed = _timed(demand, threshold, terms, seed)
            rows += _rows(demand, threshold, terms, timed.pop("pairs"), trace)
            times.append({"τ": threshold, "machine": machine, **timed})
    name = trace.kind.name
    report.section(
        f"Figure {trace.figures[0]}: {name}, what each step saves",
        rows,
        f"Thesis: up to {trace.in_all:g} % in all, and within 15 % of its bound in many cases. (f) is not in it.",
    )
    numbers = " and ".join(trace.figures[1:])
    report.section(f"Figures {numbers}: {name}, seconds of the stages", times, f"Thesis: {trace.times}.")
    last = [row for row in rows if row["step"].startswith("(e)")]
    return {
        "saving": last[0]["saved in all, %"],
        "over": max(row["over the least, %"] for row in last),
        "seconds": max(row["greedy pairs s"] + row["packing s"] for row in times),
    }


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
    fewest = fewest_pairs(demand, threshold)
    begun.append(time.perf_counter())
    if min(int(excess(demand, threshold, pairs).min()) for pairs in (naive, chosen, fewest)) < 0:
        raise TidegateError(f"a subscriber is not satisfied at a threshold of {threshold:,}")
    names = ("random pairs s", "greedy pairs s", "packing s", "first fit s", "fewest events s")
    return {"pairs": (chosen, naive, fewest), **{n: begun[i + 1] - begun[i] for i, n in enumerate(names)}}


def _rows(demand: Demand, threshold: int, terms: Terms, pairs: Any, trace: Trace) -> list[Row]:
    chosen, naive, fewest = pairs
    least, book = least_bill(demand, threshold, terms), book_bill(demand, threshold, terms)
    told = {**trace.each, "(a)": trace.greedy[terms.machine.name, threshold]}
    rows: list[Row] = []
    for step, one in steps(demand.events, chosen, naive, terms, fewest):
        if one.cost < least.cost - 1e-6:
            raise TidegateError(f"{step}: {one.cost:,.2f} is below the least there is, {least.cost:,.2f}")
        before = rows[-1]["cost"] if rows else one.cost
        rows.append(
            {
                "τ": threshold,
                "machine": terms.machine.name,
                "step": step,
                "machines": one.machines,
                "events": one.events,
                "cost": one.cost,
                "saved, %": 100 * (1 - one.cost / before),
                "thesis, %": told.get(step[:3]),
                "saved in all, %": 100 * (1 - one.cost / (rows[0]["cost"] if rows else one.cost)),
                "over the least, %": _over(one, least),
                "over Algorithm 13, %": _over(one, book),
            }
        )
    return rows


def _over(one: Bill, least: Bill) -> float:
    return 100 * (one.cost / least.cost - 1)


def _streamed(report: Report, scale: float, seed: int) -> float:
    with TemporaryDirectory() as folder:
        files = PairFiles(Path(folder) / "twitter")
        write_workload(Social.draw(TWITTER, TWITTER.numbers.scaled(scale), seed), files.folder)
        terms = _terms("c3.xlarge", _TRACES[1].unit_s, scale)
        begun = time.perf_counter()
        chosen = chosen_pairs(files, 10)
        first_s = time.perf_counter() - begun
        packing = packed(chosen.events, chosen.counts, terms)
        seconds = time.perf_counter() - begun
    found = bill(packing, terms)
    row = {"pairs": chosen.pairs, "stage 1 s": first_s, "both s": seconds, "machines": found.machines}
    over = _over(found, filled_up(chosen.least_events, terms))
    report.section("Twitter from Parquet on disk, τ = 10", [{**row, "over the least, %": over, "thesis s": 1484.7}])
    return seconds


def _compile() -> None:
    tiny, _ = Demand.of([3, 4, 5], [0, 0, 1], [0, 1, 2])
    _timed(tiny, 3, _terms("c3.large", 3600.0, 1.0), 1)
    with TemporaryDirectory() as folder:
        files = PairFiles(Path(folder) / "tiny")
        write_workload(Social.draw(SPOTIFY, SPOTIFY.numbers.scaled(1e-5), 1), files.folder)
        chosen_pairs(files, 3)
