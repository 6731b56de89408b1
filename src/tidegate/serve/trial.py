"""What a query would do: how it is understood, which recent posts it matches and why, and how many a day."""

from dataclasses import dataclass
from typing import Any

from tidegate.deliver.breadth import Estimate
from tidegate.index.matcher import Matcher
from tidegate.query.conjunction import Conjunction, Query, phrase_text
from tidegate.query.reason import Reason
from tidegate.serve.recent import Recent
from tidegate.serve.sample import Sample


@dataclass(frozen=True)
class Trial:
    """What a query matches among the recent posts: the newest of them first, with the reason."""

    estimate: Estimate
    sample: Sample
    matches: list[tuple[dict[str, Any], Reason]]


def tried(query: Query, recent: Recent, limit: int = 0) -> Trial:
    """Match a query against the recent posts; explain at most `limit` of the matches."""
    sample = recent.sample()
    matcher = Matcher()
    matcher.subscribe("query", query.canonical)
    found = matcher.match(sample.posts)
    rows = [row for row, _ in found.pairs()]
    matches = []
    for row in rows[: -limit - 1 : -1] if limit else ():
        reason = found.why(row, "query")
        assert reason is not None
        matches.append((sample.posts.slice(row, 1).to_pylist()[0], reason))
    return Trial(_estimate(rows, sample), sample, matches)


def _estimate(matching: list[int], sample: Sample) -> Estimate:
    each, matched = sample.each_per_day, len(matching)
    if not sample.per_day:
        return Estimate(matched, sample.posts.num_rows, 0.0)
    # Posts that stand for many more than others are fewer witnesses than they seem (Kish's effective sample size).
    witnesses = sample.per_day**2 / float((each**2).sum())
    share = float(each[matching].sum()) / sample.per_day
    return Estimate(matched, sample.posts.num_rows, sample.per_day, share, witnesses)


def wanted(conjunction: Conjunction) -> list[str]:
    """What a post must have for a conjunction."""
    return [*conjunction.positive, *map(phrase_text, conjunction.phrases), *map(str, conjunction.regions)]


def excluded(conjunction: Conjunction) -> list[str]:
    """What a post must not have."""
    return [*conjunction.negative, *map(phrase_text, conjunction.without_phrases), *map(str, conjunction.outside)]
