"""What the pipeline pays with, as benchmarks have measured it: microseconds of a core, and bytes.

Figures are data: those that come along say where and when they were measured, others are read from the JSON of
`tidegate bench pipeline`, `index`, `route` and `delivery`.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tidegate.errors import ConfigError

_USUAL: Final = files("tidegate.capacity") / "measured" / "usual.json"
_THROUGHPUT: Final = re.compile(r"Throughput: ([\d,]+) subscriptions")
_MEMORY: Final = re.compile(r"Memory: ([\d,]+) subscriptions")
_CLOCKED: Final = re.compile(r"Clocked plans, \d+ matchers")
_PER_POST: Final = "tidegate, replicate, a row per post"
_PER_MATCH: Final = "tidegate, replicate"
_FLAT: Final = "flat, µs"
# Noise may hide that a post costs more against more subscriptions; it does.
_LEAST_GROWN: Final = 0.02


@dataclass(frozen=True)
class PipelineCosts:
    """By post and in microseconds of one core, unless it says otherwise."""

    measured: str
    """Where and when."""
    sizes: tuple[float, ...]
    """Numbers of subscriptions that posts were matched against, rising."""
    post_us: tuple[float, ...]
    """What a post takes then, from the source to one row with its matches, with every subscription on every host."""
    growth: float
    """Beyond the last size, the part of it that grew with sizes goes on with this power of them."""
    row_us: float
    """A match as a row of its own."""
    visit_us: float
    """A post on its way to one matcher that it has to visit, and being read there."""
    visits: tuple[tuple[float, float], ...]
    """By the share of subscriptions that every host has: how many visits a post makes for the others."""
    imbalance: float
    """What the busiest matcher has to do over the mean, where subscriptions are spread."""
    subscription_bytes: float
    """What a subscription takes of a host, mapped once for all of its workers."""
    worker_bytes: float
    """What a Python worker, of which every core has one, takes besides."""
    executor_bytes: float
    """What the JVM of an executor takes."""
    inbox_rows_per_s: float
    """Notifications that one database takes."""

    def __post_init__(self) -> None:
        """Refuse what cannot have been measured."""
        if not self.sizes or len(self.sizes) != len(self.post_us) or list(self.sizes) != sorted(set(self.sizes)):
            raise ConfigError(f"{self.measured}: costs are of rising numbers of subscriptions, one for each")
        numbers = {name: value for name, value in asdict(self).items() if isinstance(value, int | float)}
        for name, value in {**numbers, "post_us": min(self.post_us), "sizes": min(self.sizes)}.items():
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"{self.measured}: {name} is {value}: it is above 0")

    @classmethod
    def usual(cls) -> Self:
        """Return those that come along."""
        value = json.loads(_USUAL.read_text())
        tuples = {name: tuple(value[name]) for name in ("sizes", "post_us")}
        return cls(**{**value, **tuples, "visits": tuple(map(tuple, value["visits"]))})

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Self:
        """Read reports of benchmarks, in JSON; what none of them tells is as usual."""
        costs = cls.usual()
        for path in paths:
            try:
                report = json.loads(path.read_text())
            except (OSError, ValueError) as error:
                raise ConfigError(f"{path} is no report of a benchmark: {error}") from error
            costs = costs.with_report(report, str(path.name))
        return costs

    def with_report(self, report: Any, name: str) -> Self:
        """Return what a report of a benchmark tells, and of the rest what was known before."""
        found = _READERS[report["bench"]](report) if _is_report(report) else {}
        if not found:
            known = ", ".join(f"tidegate bench {bench}" for bench in _READERS)
            raise ConfigError(f"{name} tells nothing of what the pipeline costs: give the JSON of {known}")
        if "post_us" in found:
            found = self._as_fast(found)
        return replace(self, measured=f"{report['machine']}, {report['scale']} ({name})", **found)

    def _as_fast(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return what was found, and what it was not measured for as known before, on a machine as fast as that one."""
        last, costs = found["sizes"][-1], found["post_us"][-1]
        slower = costs / self.post(last)
        larger = [size for size in self.sizes if size > last]
        grown = [costs + slower * (self.post(size) - self.post(last)) for size in larger]
        whole = {"sizes": (*found["sizes"], *larger), "post_us": (*found["post_us"], *grown)}
        return {"visit_us": self.visit_us * slower, **found, **whole}

    def post(self, subscriptions: float) -> float:
        """Return what a post costs against so many subscriptions, without rows for its matches."""
        if subscriptions <= self.sizes[-1]:
            return float(np.interp(np.log(max(subscriptions, 1.0)), np.log(self.sizes), self.post_us))
        grown = max(self.post_us[-1] - self.post_us[0], _LEAST_GROWN * self.post_us[0])
        return float(self.post_us[0] + grown * (subscriptions / self.sizes[-1]) ** self.growth)

    def visits_beside(self, head: float) -> float:
        """Return how many visits a post makes if every host has this share of the subscriptions."""
        shares, visits = zip(*sorted(self.visits), strict=True)
        return float(np.interp(head, shares, visits))


def _is_report(report: Any) -> bool:
    return isinstance(report, dict) and report.get("bench") in _READERS and isinstance(report.get("rows"), list)


def _pipeline(report: Mapping[str, Any]) -> dict[str, Any]:
    cores = _cores(report)
    posts: dict[float, float] = {}
    row_us = 0.0
    for row in report["rows"]:
        if size := _THROUGHPUT.match(row["section"]):
            if row["stage"] == _PER_POST:
                posts[_number(size[1])] = 1e6 * cores / row["posts/s"]
            elif row["stage"] == _PER_MATCH:
                whole, matches = 1e6 * cores / row["posts/s"], row["matches a post"]
            if row["stage"] == _PER_POST and matches:
                row_us = (whole - posts[_number(size[1])]) / matches
    if not posts:
        return {}
    # A larger index is never faster: what says so is noise.
    sizes = sorted(posts)
    found = {"sizes": tuple(sizes), "post_us": tuple(np.maximum.accumulate([posts[size] for size in sizes]).tolist())}
    return {**found, **({"row_us": row_us} if row_us > 0 else {}), **_memory(report)}


def _memory(report: Mapping[str, Any]) -> dict[str, Any]:
    rows = [(size, row) for row in report["rows"] if (size := _MEMORY.match(row["section"]))]
    if not rows:
        return {}
    subscriptions = _number(rows[0][0][1])
    mapped = max(row["of it segments, resident MB"] for _, row in rows)
    apart = [row["proportional, MB"] - row["segments, proportional MB"] for _, row in rows]
    return {"subscription_bytes": 1e6 * mapped / subscriptions, "worker_bytes": 1e6 * max(apart)}


def _index(report: Mapping[str, Any]) -> dict[str, Any]:
    """How matching time grows, from the two largest of Figure 11."""
    points = sorted(
        (row["subscriptions"], row[_FLAT])
        for row in report["rows"]
        if row["section"].startswith("Figure 11") and row.get(_FLAT)
    )[-2:]
    if len(points) < 2:
        return {}
    (few, quick), (many, slow) = points
    return {"growth": min(max(math.log(slow / quick) / math.log(many / few), 0.05), 1.0)}


def _route(report: Mapping[str, Any]) -> dict[str, Any]:
    rows = [row for row in report["rows"] if _CLOCKED.match(row["section"])]
    ours = [row for row in rows if row["plan"] == "head and tail"]
    spread = [row["visits a post"] for row in rows if row["plan"] == "SALB, keys"]
    if not ours or not spread:
        return {}
    points = {0.0: max(spread), 1.0: 0.0}
    points |= {row["head, % of subscriptions"] / 100: row["visits a post"] for row in ours}
    return {"visits": tuple(sorted(points.items())), "imbalance": max(row["slowest over mean"] for row in ours)}


def _delivery(report: Mapping[str, Any]) -> dict[str, Any]:
    paces = [value for name, value in report["summary"].items() if name.startswith("inbox_rows_per_s")]
    return {"inbox_rows_per_s": min(paces)} if paces else {}


_READERS: Final = {"pipeline": _pipeline, "index": _index, "route": _route, "delivery": _delivery}


def _cores(report: Mapping[str, Any]) -> int:
    """The cores that a report's figures are of: the benchmark of the pipeline uses two."""
    return int(report.get("params", {}).get("cores", 2))


def _number(text: str) -> float:
    return float(text.replace(",", ""))
