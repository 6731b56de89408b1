"""Benchmark `workload`: workloads like Spotify's and Twitter's are generated, and analysed on Spark (Figures 5.1–5.15).

What the thesis reports of the traces stands beside what is found. Where it fits into memory, the same analysis is made
there as well, without Spark, and has to find the same.
"""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq
from rich.progress import Progress

from tidegate.bench.parts import run_parts
from tidegate.bench.report import Report, Row, Scale
from tidegate.bench.workload.claims import of_spotify, of_twitter
from tidegate.bench.workload.memory import peak_memory
from tidegate.bench.workload.sizes import SIZES, Sizes
from tidegate.errors import ConfigError, TidegateError
from tidegate.spark.trials.batch import trial_session
from tidegate.spark.workload import analyse, publications, read, subscriptions
from tidegate.workload.account import Account
from tidegate.workload.analysis import Analysis, analysed
from tidegate.workload.figures import Figure
from tidegate.workload.pictures import draw
from tidegate.workload.social import SPOTIFY, TWITTER, Kind, Social
from tidegate.workload.social_files import PAIRS, PUBLICATIONS, SUBSCRIPTIONS, TOPICS, write_workload
from tidegate.workload.tally import Topics

__all__ = ["plot", "run"]
_CORES: Final = 2
_IN_MEMORY: Final = 20_000_000
"""Pairs that are analysed without Spark as well."""
_NUMBERS: Final = {
    "spotify": ("5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "5.10"),
    "twitter": ("5.11", "5.11", "5.12", "5.14", "5.15", "5.13"),
}
"""The thesis's figures in the order of an account's."""
_MOST_S: Final = {"spotify": 60.0, "twitter": 15 * 60.0}
_MOST_GB: Final = 16.0


@dataclass
class FiguresReport(Report):
    """A report that keeps its figures: they have more points than a table should have rows."""

    figures: list[Figure] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it with the figures."""
        return {**super().as_json(), "figures": [figure.as_json() for figure in self.figures]}


def run(
    scale: Scale,
    seed: int = 1,
    posts: Path | None = None,
    progress: Progress | None = None,
    sizes: Sizes | None = None,
) -> Report:
    """Generate and analyse both workloads at `scale` (or of these `sizes`); raise `TidegateError` at a wrong answer."""
    if posts is not None:
        raise ConfigError(f"benchmark 'workload' takes no posts, and {posts.name} was given: leave --posts out")
    sizes = sizes or SIZES[scale]
    report = FiguresReport("workload", scale, {"seed": seed, **sizes._asdict()})
    run_parts(_parts(report, sizes, seed), "generating spotify", 5, progress)
    return report


def plot(report: Report, path: Path) -> None:
    """Draw all figures into one picture."""
    draw(report.figures if isinstance(report, FiguresReport) else [], path)


def _parts(report: FiguresReport, sizes: Sizes, seed: int) -> Iterator[str]:
    """Do one part after the other; yield the name of the next before it begins."""
    times: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as scratch, trial_session(_CORES) as spark:
        for kind, scale, claims in ((SPOTIFY, sizes.spotify, of_spotify), (TWITTER, sizes.twitter, of_twitter)):
            if kind is TWITTER:
                yield "generating twitter"
            folder = Path(scratch) / kind.name
            start = perf_counter()
            social = Social.draw(kind, kind.numbers.scaled(scale), seed)
            write_workload(social, folder)
            generated = perf_counter() - start
            pairs = social.numbers.pairs
            del social
            yield f"analysing {kind.name}"
            start = perf_counter()
            with peak_memory() as peak:
                account = _account(spark, folder, kind)
                account.tables()
            analysed_in = perf_counter() - start
            same = _checked(account.analysis, folder) if pairs <= _IN_MEMORY else None
            shutil.rmtree(folder)
            report.section(
                f"{kind.name.title()}, {scale:g} of its size: what the thesis reports", claims(account, scale)
            )
            report.section(f"{kind.name.title()}: the figures, by powers of ten", _decades(account.analysis))
            report.figures += _named(account, kind)
            times.append(_times(kind, scale, pairs, generated, analysed_in, peak.gb, same))
            report.summary |= {f"{kind.name}_analysis_s": analysed_in, f"{kind.name}_generation_s": generated}
    report.section("On two cores", times, note="memory: of Spark, its workers and this process, at most")
    verdicts = [row["holds"] for section in report.sections for row in section.rows if "property" in row]
    report.summary |= {"properties_held": verdicts.count("yes"), "properties_missed": verdicts.count("no")}


def _account(spark: Any, folder: Path, kind: Kind) -> Account:
    analysis = analyse(read(spark, str(folder / PAIRS)), read(spark, str(folder / TOPICS)))
    if not kind.has_traffic:
        return Account(analysis)
    return Account(
        analysis,
        publications(read(spark, str(folder / PUBLICATIONS))),
        subscriptions(read(spark, str(folder / SUBSCRIPTIONS))),
    )


def _checked(found: Analysis, folder: Path) -> str:
    """Make the analysis in memory; raise if it is not the same."""
    pairs, topics = pq.read_table(folder / PAIRS), pq.read_table(folder / TOPICS)
    start = perf_counter()
    expected = analysed(Topics.of(topics["topic"], topics["events"]), pairs["subscriber"], pairs["topic"])
    seconds = perf_counter() - start
    for name in ("popularity", "rates", "sizes", "received"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        if not all(np.array_equal(getattr(ours, part), getattr(theirs, part)) for part in ("values", "counts", "sums")):
            raise TidegateError(f"Spark and one process disagree about the {name} of {folder.name}")
    return f"the same in {seconds:.1f} s"


def _times(
    kind: Kind, scale: float, pairs: int, generated: float, analysed_in: float, memory_gb: float, same: str | None
) -> Row:
    within = analysed_in <= _MOST_S[kind.name] and memory_gb <= _MOST_GB
    return {
        "workload": kind.name,
        "scale": scale,
        "pairs": pairs,
        "generated, s": generated,
        "analysed, s": analysed_in,
        "at most, s": _MOST_S[kind.name],
        "memory, GB": memory_gb,
        "at most, GB": _MOST_GB,
        "in one process": same,
        "holds": "yes" if within else "no",
    }


def _named(account: Account, kind: Kind) -> list[Figure]:
    numbers = zip(_NUMBERS[kind.name], account.figures, strict=True)
    return [replace(figure, title=f"Figure {number}, {kind.name}: {figure.title}") for number, figure in numbers]


def _decades(found: Analysis) -> list[Row]:
    """Return the figures by powers of ten: shares of at least so many, and means of all from there to the next."""
    rows: list[Row] = []
    for exponent in range(int(np.log10(max(found.popularity.most, found.sizes.most, found.rates.most))) + 1):
        low, high = 10**exponent, 10 ** (exponent + 1)
        rows.append(
            {
                "x": low,
                "topics with x followers": found.popularity.above(low - 1) / found.topics,
                "subscribers of x topics": found.sizes.above(low - 1) / found.subscribers,
                "topics with x events": found.rates.above(low - 1) / found.topics,
                "events of topics with x followers": found.popularity.between(low, high),
                "NNR, %, of subscribers of x topics": None
                if (sent := found.sizes.between(low, high)) is None
                else found.share(sent),
            }
        )
    return rows
