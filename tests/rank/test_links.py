"""Chunks that are sent as they grow, over links that carry an event once, through any number of brokers."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rank.feeds import cut, events_of, feeds, windows
from tidegate.errors import ConfigError, PipelineError
from tidegate.rank.chunks import Chunk, chunk_of
from tidegate.rank.dechunking import Dechunker
from tidegate.rank.event import Event
from tidegate.rank.incremental import Chunker
from tidegate.rank.links import Deduplication, LeftGuard, Publication, Rehydration
from tidegate.rank.messages import Assembly, End, Message, Part, Start
from tidegate.rank.reconstruction import is_explained
from tidegate.rank.windows import Windows


def grown(stretches: Sequence[Sequence[Event]], by: Windows, feed: str = "f") -> list[Message]:
    chunker = Chunker(feed, by)
    messages: list[Message] = []
    for stretch in stretches:
        for event in stretch:
            messages += chunker.receive(event)
        messages += chunker.finish()
    return messages


def assembled(messages: Sequence[Message]) -> list[Chunk]:
    assembly = Assembly()
    return [chunk for message in messages if (chunk := assembly.receive(message)) is not None]


@given(feed=feeds())
@settings(max_examples=300)
def test_a_chunk_that_grows_is_the_chunk_of_the_whole_stretch(feed: tuple[Windows, list[list[Event]]]) -> None:
    by, stretches = feed
    messages = grown(stretches, by)
    for chunk, stretch in zip(assembled(messages), stretches, strict=True):
        whole = chunk_of(stretch, by)
        assert (chunk.length, chunk.left, chunk.right) == (whole.length, whole.left, whole.right)
        assert dict(chunk.tops) == dict(whole.tops)
    news = [message.event for message in messages if isinstance(message, Part) and message.is_news]
    assert len(news) == sum(len(chunk_of(stretch, by).events) for stretch in stretches), "each is sent once"


def test_the_papers_setting_sends_43_of_100() -> None:
    messages = grown([events_of(range(100, 0, -1))], Windows(1, 20, 20))
    assert sum(isinstance(message, Part) and message.is_news for message in messages) == 43


def test_a_chunk_ends_only_in_step() -> None:
    chunker = Chunker("f", Windows(1, 4, 2))
    assert not chunker.can_finish
    list(chunker.receive(Event("a", 1.0)))
    assert not chunker.can_finish
    with pytest.raises(ConfigError, match="a chunk of 1 events"):
        list(chunker.finish())
    list(chunker.receive(Event("b", 1.0)))
    assert chunker.can_finish


@dataclass
class Feed:
    """A subscriber: what of the stream it matches, how it scores, and what it has got."""

    name: str
    by: Windows
    scores: dict[str, float]
    chunks_of: int
    got: set[Event] = field(default_factory=set)

    def seen(self, event: Event) -> Event:
        return event._replace(score=self.scores[event.id])

    def matches(self, event: Event) -> bool:
        return event.id in self.scores


@dataclass
class Chain:
    """Sources at one end, subscribers at the other, brokers between them; links are slow, but keep their order."""

    feeds: list[Feed]
    hops: int
    random: Random
    by_count: bool = False
    published: Counter[int] = field(default_factory=Counter)

    def run(self, sources: Sequence[Sequence[Event]]) -> None:
        """Let every source publish and every chunk arrive, in any order that links allow."""
        queues: list[list[deque[object]]] = []
        handlers: list[list[Callable[[object], list[object]]]] = []
        for number, source in enumerate(sources):
            handlers.append(self._pipeline())
            queues.append([deque() for _ in range(self.hops + 2)])
            queues[-1][0].extend(self._source(number, source))
        assemblies = {feed.name: Assembly() for feed in self.feeds}
        dechunkers = {feed.name: Dechunker(feed.by) for feed in self.feeds}
        named = {feed.name: feed for feed in self.feeds}
        while ready := [(s, h) for s, one in enumerate(queues) for h, queue in enumerate(one[:-1]) if queue]:
            which, hop = self.random.choice(ready)
            for out in handlers[which][hop](queues[which][hop].popleft()):
                self.published[hop] += isinstance(out, Publication)
                queues[which][hop + 1].append(out)
            while queues[which][-1]:
                message = queues[which][-1].popleft()
                assert isinstance(message, Start | Part | End)
                chunk = assemblies[message.feed].receive(message)
                if chunk is not None:
                    feed = named[message.feed]
                    feed.got.update(dechunkers[feed.name].receive(chunk))

    def _source(self, number: int, events: Sequence[Event]) -> list[Message]:
        chunkers = {feed.name: Chunker(feed.name, feed.by) for feed in self.feeds}
        left = {feed.name: sum(map(feed.matches, events)) for feed in self.feeds}
        messages: list[Message] = []
        for event in events:
            for feed in filter(lambda feed: feed.matches(event), self.feeds):
                chunker = chunkers[feed.name]
                messages += chunker.receive(feed.seen(event))
                left[feed.name] -= 1
                is_long = chunker.length >= feed.chunks_of or left[feed.name] < feed.by.shift
                if chunker.can_finish and is_long:
                    messages += chunker.finish()
        # Chunks of two sources have different numbers.
        return [message._replace(chunk=1000 * number + message.chunk) for message in messages]

    def _pipeline(self) -> list[Callable[[object], list[object]]]:
        steps: list[Callable[[object], list[object]]] = []
        named = {feed.name: feed for feed in self.feeds}
        count = (lambda name, event: named[name].matches(event)) if self.by_count else None
        for hop in range(self.hops + 1):
            receiver = Rehydration(by_count=count) if hop % 2 else Deduplication()
            steps.append(lambda message, receiver=receiver: list(receiver.receive(message)))  # type: ignore[misc]
        return steps


@st.composite
def chains(draw: st.DrawFn) -> tuple[Chain, list[list[Event]]]:
    """Two sources, some feeds that score alike, and one, two or three links."""
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=2).filter(lambda some: sum(some) <= 9))
    sources = [
        events_of(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), publisher)
        for publisher, n in zip("ab", lengths, strict=False)
    ]
    made = []
    for number in range(draw(st.integers(1, 3))):
        matched = [event for event in chain.from_iterable(sources) if draw(st.booleans())]
        by = draw(windows(widest=3))
        scores = {event.id: event.score for event in matched}
        made.append(Feed(f"feed{number}", by, scores, draw(st.integers(1, 6))))
    links = draw(st.integers(1, 3))
    return Chain(made, 2 * links - 1, Random(draw(st.integers(0, 2**16)))), sources


def in_chunks(feed: Feed, sources: Sequence[Sequence[Event]]) -> list[list[Event]]:
    """The events of a feed that some chunk has: what is left over at the end waits for more."""
    own = [[feed.seen(event) for event in source if feed.matches(event)] for source in sources]
    return [source[: len(source) - len(source) % feed.by.shift] for source in own]


@given(case=chains())
@settings(max_examples=150, deadline=None)
def test_whatever_the_delays_what_feeds_get_is_explained_and_a_link_carries_an_event_once(
    case: tuple[Chain, list[list[Event]]],
) -> None:
    brokers, sources = case
    brokers.run(sources)
    for feed in brokers.feeds:
        assert is_explained(in_chunks(feed, sources), feed.got, feed.by)
    assert max(brokers.published.values(), default=0) <= sum(map(len, sources))


def test_winners_told_by_their_number_are_not_explained() -> None:
    """The printed rehydration takes an event that is there for another feed for a winner."""
    events = events_of([0, 0, 5, 1, 100, 99, 0, 0])
    first = Feed("first", Windows(1, 2, 2), {event.id: event.score for event in events}, 8)
    # The other one has a guard where the first has none.
    second = Feed("second", Windows(1, 1, 1), {events[5].id: 99.0}, 1)
    right, wrong = (Chain([first, second], 1, Random(1)), Chain([first, second], 1, Random(1), by_count=True))
    right.run([events])
    assert is_explained([events], first.got, first.by)
    first.got.clear()
    wrong.run([events])
    assert not is_explained([events], first.got, first.by)


def test_a_left_guard_is_told_as_soon_as_it_is_complete() -> None:
    deduplication, chunker = Deduplication(), Chunker("f", Windows(1, 3, 3))
    sent = [
        out for event in events_of([1, 2, 3]) for one in chunker.receive(event) for out in deduplication.receive(one)
    ]
    assert isinstance(sent[-1], LeftGuard)
    assert sent[-1].ids == ("p000", "p001", "p002")


@given(feed=feeds())
def test_beyond_a_link_an_event_is_news_once_in_a_chunk(feed: tuple[Windows, list[list[Event]]]) -> None:
    by, stretches = feed
    deduplication, rehydration = Deduplication(), Rehydration()
    told = [
        out
        for message in grown(stretches, by)
        for sent in deduplication.receive(message)
        for out in rehydration.receive(sent)
    ]
    news = Counter(message.chunk for message in told if isinstance(message, Part) and message.is_news)
    assert [news[number] for number in range(len(stretches))] == [len(chunk_of(one, by).events) for one in stretches]


def test_both_ends_forget_what_no_chunk_can_need() -> None:
    deduplication, rehydration = Deduplication(), Rehydration()
    stretches = cut(events_of(range(1200, 0, -1)), [40] * 30)
    most = 0
    for message in grown(stretches, Windows(1, 4, 4)):
        for sent in deduplication.receive(message):
            list(rehydration.receive(sent))
        most = max(most, deduplication.remembered, rehydration.buffered)
    assert most <= 40
    assert deduplication.remembered <= 1


def test_what_has_not_begun_cannot_go_on() -> None:
    with pytest.raises(PipelineError, match="chunk 3 of feed f goes on, but has not begun"):
        Assembly().receive(Part("f", 3, "left", Event("a", 1.0)))
