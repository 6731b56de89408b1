"""One visit to one feed: ask, read, and decide when to come back."""

import logging
import random
from typing import Final, NamedTuple

from tidegate.spark.sources.feed_entries import Entry, entries_of
from tidegate.spark.sources.feed_fetch import Fetcher, FetchError, Validators

_LOGGER: Final = logging.getLogger(__name__)
_DAY: Final = 86_400.0
_LONGEST_RETRY_AFTER: Final = 7 * _DAY


class Feed(NamedTuple):
    """What must be remembered of a feed to visit it again."""

    url: str
    validators: Validators = Validators()
    failures: int = 0
    """Visits in vain since the last good one."""


class Visit(NamedTuple):
    """What came of a visit at time `at` (seconds); `next_poll` is None where a feed is gone for good."""

    feed: Feed
    """The feed as it is to be remembered."""
    at: float
    next_poll: float | None
    entries: list[Entry] | None = None
    """All entries of the document, seen before or not; None if there was no new document."""
    error: str | None = None


def visit(feed: Feed, fetcher: Fetcher, interval: float, now: float) -> Visit:
    """Poll a feed once. It never raises: whatever is wrong with a feed is the visit's `error`, and logged."""
    try:
        document = fetcher.fetch(feed.url, feed.validators)
        if document is None:
            return Visit(feed._replace(failures=0), now, now + interval)
        entries = entries_of(document, feed.url, now)
        return Visit(Feed(feed.url, document.validators), now, now + interval, entries)
    except Exception as error:  # a parser meeting the web: no document may stop the other feeds
        next_poll = None if isinstance(error, FetchError) and error.gone else now + _wait(feed, interval, error)
        _LOGGER.warning("feed %s: %s; %s", feed.url, error, _outlook(next_poll, now))
        return Visit(feed._replace(failures=feed.failures + 1), now, next_poll, error=str(error) or repr(error))


def _wait(feed: Feed, interval: float, error: Exception) -> float:
    """Seconds to the next visit: doubled with every failure up to a day, spread so that feeds do not return in step."""
    doubled = min(interval * 2.0 ** min(feed.failures + 1, 32), max(_DAY, 2 * interval))
    asked = error.retry_after if isinstance(error, FetchError) else 0.0
    return max(doubled * random.uniform(0.5, 1.0), min(asked, _LONGEST_RETRY_AFTER))


def _outlook(next_poll: float | None, now: float) -> str:
    return "it is not asked again" if next_poll is None else f"next try in {next_poll - now:.0f} s"
