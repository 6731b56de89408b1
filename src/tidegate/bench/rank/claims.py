"""What has to hold of ranked dissemination, beside ours; and the summary."""

from typing import Any, Final

from tidegate.bench.rank.comparison import PAPER_ONCE
from tidegate.bench.rank.streamed import BY_COUNT, BY_TIME, MIXED, RANDOM, SHUFFLED, STREAMED
from tidegate.bench.report import Report, Row, Section

_ALIKE: Final = 0.05
_GAIN: Final = 10.0
_SECONDS: Final = 60.0
_SHUFFLED_BY_COUNT: Final = 0.46
_SHUFFLED_BY_TIME: Final = 0.12
_MATCHES_PER_S: Final = 50_000


def summarise(report: Report, gains: dict[str, float]) -> None:
    """Report the claims, held or not; `gains` are those of synchronised chunks at the source, in points."""
    traffic, latency = _section(report, "Figure 3a").rows, _section(report, "Figure 3b").rows
    once = [row["source"] for row in _of(traffic, "B-CHUNK")]
    each = [row["source"] / row["subscribers"] for row in _of(traffic, "CHUNK")]
    delivered = [row["delivered, %"] for row in traffic]
    alike = max(
        abs(ours["mean, s"] / edge["mean, s"] - 1)
        for ours, edge in zip(_of(latency, "B-CHUNK"), _of(latency, "EDGE"), strict=True)
    )
    plain, together = _section(report, "Figure 10, Facebook-like").rows[-2:]
    longer = together["mean chunk"] / plain["mean chunk"]
    seconds = max(row["seconds"] for row in _section(report, "Scalability").rows)
    by_count, by_time = (_shuffled(report, windows) for windows in (BY_COUNT, BY_TIME))
    pace = min(row["matches/s"] for row in _section(report, STREAMED).rows if row["windows"] == MIXED)
    report.summary |= {
        "bchunk_source_fraction": max(once, key=lambda value: abs(value - PAPER_ONCE)),
        "sync_gain_points_facebook": gains["Facebook-like"],
        "sync_gain_points_twitter": gains["Twitter-like"],
        "simulation_seconds": seconds,
        "spark_shuffle_fraction_count": by_count,
        "spark_shuffle_fraction_time": by_time,
        "ranked_matches_per_s": pace,
    }
    report.section(
        "What has to hold",
        [
            _claim(
                "B-CHUNK at the source, EDGE being 1, for any number of subscribers", "= 0.43", max(once), _near(once)
            ),
            _claim("CHUNK at the source, for each subscriber", "= 0.43", max(each), _near(each)),
            _claim("less at subscribers' edges, %, all ways", "= 95", 100 - max(delivered), _near(delivered, 5.0)),
            _claim("B-CHUNK's mean latency differs from EDGE's by", f"<= {_ALIKE}", alike, alike <= _ALIKE),
            _claim(
                "synchronised chunks gain at the source, most subscribers, Facebook-like, points",
                f">= {_GAIN:g}",
                gains["Facebook-like"],
                gains["Facebook-like"] >= _GAIN,
            ),
            _claim("their mean chunk, over that by count", "<= 1", longer, longer <= 1),
            _claim("seconds to count the slowest chain", f"<= {_SECONDS:g}", seconds, seconds <= _SECONDS),
            _claim(
                "rows shuffled on Spark, windows by count",
                f"<= {_SHUFFLED_BY_COUNT}",
                by_count,
                by_count <= _SHUFFLED_BY_COUNT,
            ),
            _claim(
                "rows shuffled on Spark, windows of time",
                f"<= {_SHUFFLED_BY_TIME}",
                by_time,
                by_time <= _SHUFFLED_BY_TIME,
            ),
            _claim(
                "matches ranked a second on Spark, half of each, the slower graph",
                f">= {_MATCHES_PER_S:,}",
                pace,
                pace >= _MATCHES_PER_S,
            ),
        ],
    )


def _section(report: Report, title: str) -> Section:
    return next(section for section in report.sections if section.title.startswith(title))


def _shuffled(report: Report, windows: str) -> float:
    rows = _section(report, SHUFFLED).rows
    return next(row["rows, of"] for row in rows if (row["windows"], row["score"]) == (windows, RANDOM))  # type: ignore[no-any-return]


def _of(rows: list[Row], way: str) -> list[Row]:
    return [row for row in rows if row["way"] == way]


def _near(values: list[float], wanted: float = PAPER_ONCE) -> bool:
    return all(abs(value - wanted) < 0.005 * max(wanted, 1) for value in values)


def _claim(what: str, claim: str, ours: Any, holds: bool) -> Row:
    return {"statement": what, "claim": claim, "ours": ours, "holds": "yes" if holds else "no"}
