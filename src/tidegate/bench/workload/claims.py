"""What the thesis reports of the traces, beside what the analysis finds in the workloads that are to be like them."""

from typing import Any, Final

import numpy as np

from tidegate.bench.report import Row
from tidegate.workload.account import Account
from tidegate.workload.histogram import Histogram

_EVENING, _NIGHT = 18, 2
_ALIKE: Final = 0.2
_ENOUGH: Final = 20
"""With fewer, chance decides how many there are."""
_FAMOUS: Final = 1 / 300
"""Of subscribers: 10⁵ of Twitter's 30 million."""


def of_spotify(account: Account, scale: float) -> list[Row]:
    """Return the statements about Spotify's trace."""
    found = account.analysis
    presence, playlist = (account.days[f"published, {name}"] for name in ("presence", "playlist"))
    published, changed = account.publications, account.subscriptions
    assert published is not None
    assert changed is not None
    services = {name: int(counts.sum()) for name, counts in published.by_service.items()}
    standing = {name: float(counts.mean()) for name, counts in changed.standing.items()}
    few = 1 - found.received.above(found.events * 1e-5) / found.subscribers
    fits, full = account.fits, scale >= 1
    return [
        _counted("topics", 1_100_000, found.topics, scale),
        _counted("subscribers", 4_900_000, found.subscribers, scale),
        _counted("pairs", 12_000_000, found.pairs, scale),
        _near("events of a topic, mean", 2_763, found.rates.mean, 0.02),
        _claim("5.1: topic popularity", "a power law", *_law(fits["followers of a topic"], wanted=True)),
        _claim("5.2: subscription size", "a power law", *_law(fits["topics followed by a subscriber"], wanted=True)),
        _claim("5.3: event rate", "no power law", *_law(fits["events of a topic"], wanted=False)),
        _claim(
            "5.3: falls so many times as steeply beyond 15,200 events, 0.0005 % of all",
            "> 2",
            bend := _bend(found.rates, 15_200),
            bend > 2,
        ),
        _claim("5.4: subscribers with an NNR below 0.001 %, share", "> 0.9", few, few > 0.9, judged=full),
        _claim(
            "5.4: the largest NNR, %",
            "0.2",
            largest := found.share(found.most_received),
            0.1 < largest < 0.4,
            judged=full,
        ),
        _claim(
            "5.5: NNR by subscription size, correlation", "linear", found.received_by_size, found.received_by_size > 0.9
        ),
        _claim(
            "5.6: rate by popularity, correlation",
            "none",
            found.rate_by_popularity,
            abs(found.rate_by_popularity) < 0.02,
        ),
        _claim("5.7: presence, busiest hour", _EVENING, presence.peak, presence.peak == _EVENING),
        _claim("5.7: presence, quietest hour", _NIGHT, presence.trough, presence.trough == _NIGHT),
        _claim("5.7: presence at weekends, weekdays being 1", "< 1", presence.weekend, presence.weekend < 1),
        _claim("5.7: playlists at weekends", "> 1", playlist.weekend, playlist.weekend > 1),
        _claim(
            "5.7: most published",
            "presence",
            most := max(services, key=lambda name: services[name]),
            most == "presence",
        ),
        _claim(
            "5.8: remote events, local being 1",
            "about 0.1",
            published.remote_share,
            0.05 < published.remote_share < 0.2,
        ),
        _near("5.9: unsubscribed, subscribed being 1", 1.0, changed.balance, 0.02),
        _claim("5.10: subscriptions vary by", "little", changed.variation, changed.variation < 0.05),
        _claim(
            "5.10: most subscriptions",
            "presence",
            most := max(standing, key=lambda name: standing[name]),
            most == "presence",
        ),
    ]


def of_twitter(account: Account, scale: float) -> list[Row]:
    """Return the statements about Twitter's trace."""
    found = account.analysis
    most = found.popularity.most
    glitches = {at: found.sizes.count(at) / max(_around(found.sizes, at), 1e-9) for at in (20, 2_000)}
    slope, line, beyond = _rise(found.popularity, _FAMOUS * found.subscribers)
    return [
        _counted("topics", 8_000_000, found.topics, scale),
        _counted("subscribers", 30_000_000, found.subscribers, scale),
        _counted("pairs", 683_500_000, found.pairs, scale),
        _counted("events", 455_000_000, found.events, scale),
        *(
            _claim(f"5.11: so many times more follow {at:,} than nearby numbers", "> 5", times, times > 5)
            for at, times in glitches.items()
        ),
        _counted("5.11: follow more than 10,000", 550, found.sizes.above(1e4), scale),
        _counted(
            "5.11: topics with more than 10⁴ followers", 4_000, found.popularity.above(1e4), scale, within=most > 1e5
        ),
        _counted(
            "5.11: topics with more than 10⁶ followers", 66, found.popularity.above(1e6), scale, within=most > 3e6
        ),
        _near("5.12: topics with fewer than 10 events, share", 0.5, 1 - found.rates.above(9) / found.topics, 0.06),
        _counted("5.12: topics with more than 1,000 events", 46_000, found.rates.above(1_000), scale),
        _counted("5.12: topics with more than 10⁵ events", 1, found.rates.above(1e5), scale),
        _claim(
            "5.13: mean rate by followers, up to a 300th of subscribers: R² of a straight line",
            "linear",
            line,
            line > 0.8,
        ),
        _claim("5.13: mean rate beyond, of what the line says", "< 1", beyond, beyond < 1 and slope > 0),
        _near(
            "5.14: subscribers sent more than 7,000 events, share",
            0.1,
            found.received.above(7_000) / found.subscribers,
            0.3,
        ),
        _near("5.14: the most events sent to one", 18e6, found.most_received, 0.5, judged=scale >= 1),
        _claim("5.15: NNR by followings, correlation", "linear", found.received_by_size, found.received_by_size > 0.9),
    ]


def _counted(what: str, thesis: float, ours: int, scale: float, *, within: bool = True) -> Row:
    """A count, which is to be in proportion to the scale; within a fifth, where that leaves enough to count."""
    wanted = thesis * scale
    near = abs(ours - wanted) <= max(_ALIKE * wanted, 2 * wanted**0.5)
    return _claim(what, thesis, ours / scale, near, judged=within and wanted >= min(thesis, _ENOUGH))


def _near(what: str, thesis: float, ours: float, tolerance: float, *, judged: bool = True) -> Row:
    return _claim(what, thesis, ours, abs(ours / thesis - 1) <= tolerance, judged=judged)


def _claim(what: str, thesis: Any, ours: Any, holds: bool, *, judged: bool = True) -> Row:
    """A statement; what a workload is too small for is shown, and not judged."""
    verdict = ("yes" if holds else "no") if judged else "too small"
    return {"property": what, "thesis": thesis, "ours": ours, "holds": verdict}


def _law(fit: Any, *, wanted: bool) -> tuple[str, bool]:
    if fit is None:
        return "too few values", False
    told = f"{fit.verdict} (exponent {fit.exponent:.2f}, from {fit.least:,})"
    return told, (fit.verdict != "no power law") == wanted


def _bend(rates: Histogram, at: float) -> float:
    """Return how many times as steeply a CCDF falls beyond a value as before it, on logarithmic axes."""

    def slope(low: float, high: float) -> float:
        return float(np.log(rates.above(low) / max(rates.above(high), 0.5)) / np.log(high / low))

    return slope(at, at * 4) / slope(at / 4, at)


def _around(sizes: Histogram, at: int) -> float:
    """Return how many have a value near this one, but not this one, by value."""
    near = max(at // 20, 2)
    return (sizes.above(at - near - 1) - sizes.above(at + near) - sizes.count(at)) / (2 * near)


def _rise(popularity: Histogram, famous: float) -> tuple[float, float, float]:
    """Return the slope of the mean rate up to `famous` followers, how straight it is, and the rate beyond, of the line.

    The line is through the means of bins of equal width, weighted by how many topics are in them.
    """
    there = (popularity.values > 0) & (popularity.values <= famous)
    values, counts, sums = popularity.values[there], popularity.counts[there], popularity.sums[there]
    place = np.minimum((values / famous * 10).astype(np.int64), 9)
    n = np.bincount(place, counts, 10)
    full = n > 0
    x, y = np.bincount(place, values * counts, 10)[full] / n[full], np.bincount(place, sums, 10)[full] / n[full]
    slope, start = np.polyfit(x, y, 1, w=np.sqrt(n[full]))
    # How straight: every bin alike, or the many that hardly anybody follows would be all that counts.
    straight = 1 - float(((y - start - slope * x) ** 2).sum() / max(((y - y.mean()) ** 2).sum(), 1e-9))
    far = popularity.values > famous
    if not far.any():
        return float(slope), straight, 0.0
    expected = float(start * popularity.counts[far].sum() + slope * (popularity.values[far] @ popularity.counts[far]))
    return float(slope), straight, float(popularity.sums[far].sum()) / expected
