"""What a workload looks like: the counts behind every figure of chapter 5 of the thesis on social publish/subscribe.

An analysis is made of small tables, whoever counted: a process, or the tasks of a Spark job, one part each.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.workload.histogram import Histogram, Moments
from tidegate.workload.tally import SubscriberCounts, Tally, Topics, every, sampled

_TOPICS_SHOWN: Final = 3_000


@dataclass(frozen=True)
class TopicCounts:
    """Of the topics of one part of all."""

    popularity: Histogram
    """By followers: how many, and their events."""
    moments: Moments
    """Of followers, and events."""
    sample: Int64
    """Followers and events, of some."""

    @classmethod
    def of(cls, start: int, followers: Any, events: Int64, topics: int) -> Self:
        """Count the topics from `start` on, of so many in all; those that nobody follows count as well."""
        numbers = followers.astype(np.int64)
        chosen = np.arange(start, start + len(events)) % max(topics // _TOPICS_SHOWN, 1) == 0
        sample = sampled([np.stack((numbers[chosen], events[chosen]))])
        return cls(Histogram.of(numbers, events), Moments.of(numbers, events), sample)


@dataclass(frozen=True)
class Analysis:
    """All counts of a workload."""

    popularity: Histogram
    """Of topics by followers, with their events."""
    rates: Histogram
    """Of topics by events."""
    sizes: Histogram
    """Of subscribers by topics followed, with the events they are sent."""
    received: Histogram
    """Of subscribers by the events they are sent, to three digits."""
    most_received: int
    rate_by_popularity: float
    """The correlation of a topic's followers and its events."""
    received_by_size: float
    """The correlation of how many topics a subscriber follows and the events it is sent."""
    topic_sample: Int64
    """Followers and events of some topics."""
    subscriber_sample: Int64
    """Topics followed and events of some subscribers."""
    repeated: int
    """Pairs that were there twice, and count once."""
    unrated: int
    """Pairs of topics without a rate, left out."""
    nulls: int = 0
    """Pairs without a subscriber or a topic, left out."""

    @classmethod
    def of(cls, topics: Topics, of_subscribers: Iterable[SubscriberCounts], of_topics: Iterable[TopicCounts]) -> Self:
        """Put the parts together."""
        subscribers, followed = list(of_subscribers), list(of_topics)
        sizes = Histogram.merged(part.sizes for part in subscribers)
        if not sizes.total:
            raise ConfigError("there are no pairs of a subscriber and a topic with a rate: nothing to analyse")
        return cls(
            popularity=Histogram.merged(part.popularity for part in followed),
            rates=Histogram.of(topics.events),
            sizes=sizes,
            received=Histogram.merged(part.received for part in subscribers),
            most_received=max(part.most for part in subscribers),
            rate_by_popularity=_correlation([part.moments for part in followed]),
            received_by_size=_correlation([part.moments for part in subscribers]),
            topic_sample=sampled([part.sample for part in followed]),
            subscriber_sample=sampled([part.sample for part in subscribers]),
            repeated=sum(part.repeated for part in subscribers),
            unrated=sum(part.unrated for part in subscribers),
        )

    @property
    def topics(self) -> int:
        """How many there are, followed or not."""
        return self.popularity.total

    @property
    def subscribers(self) -> int:
        """How many follow a topic that has a rate."""
        return self.sizes.total

    @property
    def pairs(self) -> int:
        """How many different ones there are."""
        return int(self.sizes.values @ self.sizes.counts)

    @property
    def events(self) -> int:
        """Of all topics."""
        return int(self.popularity.sums.sum())

    def share(self, received: Any) -> Any:
        """Return so many events as a normalised notification rate: in percent of all."""
        return 100 * received / max(self.events, 1)


def analysed(topics: Topics, subscribers: Any, followed: Any) -> Analysis:
    """Analyse pairs that are in memory, in any order."""
    who, what = np.asarray(subscribers), np.asarray(followed)
    order = np.argsort(who, kind="stable")
    tally = Tally(topics, every(len(who)))
    tally.take(who[order], what[order])
    of_topics = TopicCounts.of(0, tally.followers, topics.events, len(topics.events))
    return Analysis.of(topics, [tally.ended()], [of_topics])


def _correlation(parts: list[Moments]) -> float:
    together = Moments()
    for part in parts:
        together = together.plus(part)
    return together.correlation
