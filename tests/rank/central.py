"""Ranked feeds by definition: all matches in one place, in plain Python."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate.rank.event import Event, best
from tidegate.rank.ranking import Ranking, TimeWindows, ranking_of


class Match(NamedTuple):
    """A row of what is ranked; times are microseconds."""

    id: str
    time: int
    author: str | None
    likes: int
    subscriber: str
    subscription: str
    ranking: str


MATCHES = pa.schema(
    {
        "id": pa.string(),
        "ts": pa.timestamp("us", tz="UTC"),
        "author": pa.string(),
        "likes": pa.int64(),
        "subscriber": pa.string(),
        "subscription": pa.string(),
        "ranking": pa.string(),
    }
)
"""The same, as columns."""

Batch = Sequence[Sequence[Match]]
"""The matches of a micro-batch, slice by slice."""


class Best(NamedTuple):
    """A post among the best of a window."""

    subscriber: str
    subscription: str | None
    ranking: str
    window: int
    rank: int
    id: str


def watermarks(batches: Sequence[Batch], delay: int) -> list[float]:
    """The watermark with which each batch begins, and the last."""
    latest, found = -inf, [-inf]
    for batch in batches:
        latest = max([latest, *(match.time - delay for part in batch for match in part)])
        found.append(latest)
    return found


def delivered(batches: Sequence[Batch], delay: int) -> list[Best]:
    """What all feeds deliver in the end, sorted."""
    feeds: dict[tuple[str, str | None, Ranking], list[tuple[float, list[Match]]]] = defaultdict(list)
    starts = watermarks(batches, delay)
    for watermark, batch in zip(starts, batches, strict=False):
        for part in batch:
            own: dict[Any, dict[str, Match]] = defaultdict(dict)
            for match in part:
                ranking = ranking_of(match.ranking)
                name = match.subscriber, None if ranking.feed else match.subscription, ranking
                own[name].setdefault(match.id, match)
            for name, matches in own.items():
                feeds[name].append((watermark, list(matches.values())))
    found: list[Best] = []
    for (subscriber, subscription, ranking), parts in feeds.items():
        timed = isinstance(ranking.windows, TimeWindows)
        windows = _by_time(ranking, parts, starts[-1]) if timed else _by_count(ranking, parts)
        for window, tops in _bounded(ranking, windows):
            for rank, match in enumerate(tops, 1):
                found.append(Best(subscriber, subscription, ranking.canonical, window, rank, match.id))
    return sorted(found, key=lambda one: (one.subscriber, one.subscription or "", *one[2:]))


def _chosen(ranking: Ranking, matches: Iterable[Match]) -> list[Match]:
    def event(match: Match) -> Event:
        score = match.likes if ranking.score.value == "field:likes" else match.time
        return Event(match.id, score, match.time)

    by_event = {event(match): match for match in matches}
    found: list[Match] = []
    for one in best(by_event, len(by_event)):
        author = by_event[one].author
        if not ranking.diverse or author is None or all(author != other.author for other in found):
            found.append(by_event[one])
    return found[: ranking.windows.k]


def _by_count(ranking: Ranking, parts: list[tuple[float, list[Match]]]) -> list[tuple[int, list[Match]]]:
    events = [match for _, part in parts for match in part]
    width, shift = ranking.windows.width, ranking.windows.shift
    starts = range(0, len(events) - width + 1, shift)
    return [(start // shift, _chosen(ranking, events[start : start + width])) for start in starts]


def _by_time(ranking: Ranking, parts: list[tuple[float, list[Match]]], end: float) -> list[tuple[int, list[Match]]]:
    width, shift = ranking.windows.width, ranking.windows.shift
    inside: dict[int, dict[str, Match]] = defaultdict(dict)
    for watermark, part in parts:
        for match in part:
            for window in range((match.time - width) // shift + 1, match.time // shift + 1):
                if window * shift + width > watermark:
                    inside[window].setdefault(match.id, match)
    complete = sorted(window for window in inside if window * shift + width <= end)
    return [(window, _chosen(ranking, inside[window].values())) for window in complete]


def _bounded(ranking: Ranking, windows: list[tuple[int, list[Match]]]) -> Iterable[tuple[int, list[Match]]]:
    if ranking.most is None:
        yield from windows
        return
    period, used = 0, 0
    for window, tops in windows:
        by = ranking.windows
        timed = isinstance(by, TimeWindows)
        moment = window * by.shift + by.width - 1 if timed else max(match.time for match in tops)
        if moment // ranking.most.per > period:
            period, used = moment // ranking.most.per, 0
        served = tops[: ranking.most.posts - used]
        used += len(served)
        yield window, served
