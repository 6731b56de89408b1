"""A link between two brokers that carries every event once, for all feeds behind it (Algorithms 3 and 4).

Deduplication, at its one end, sends an event when a chunk first needs it, and of chunks only ids. Rehydration, at the
other, makes the chunks of them again. Both forget what is older than every chunk under way, here or further back. A
link has such a pair for every source, whose events have rising times.

As printed, the ids of the left guard are sent only once something wins, and what won is told by its number alone: the
`n` highest in the buffer between the guards. That takes events which are there for other feeds for winners. Ids are
sent here; the printed form is kept as `by_count`, to be shown wrong.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tidegate.errors import PipelineError
from tidegate.rank.event import Event, best
from tidegate.rank.messages import End, Message, Part, Start


class Publication(NamedTuple):
    """An event, sent once."""

    event: Event


class LeftGuard(NamedTuple):
    """A chunk begins with these events."""

    start: Start
    ids: tuple[str, ...]


class RightGuard(NamedTuple):
    """A chunk ends with these events, and these have won windows inside of it."""

    end: End
    ids: tuple[str, ...]
    ranks: tuple[tuple[str, int], ...]


Sent = Publication | LeftGuard | RightGuard


@dataclass
class _Passing:
    start: Start
    since: float = inf
    left: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    is_begun: bool = False


class Deduplication:
    """The sending end: turns the messages of chunks into what the other end needs to make them again."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._latest = -inf
        self._sent: dict[str, float] = {}
        self._passing: dict[tuple[str, int], _Passing] = {}

    @property
    def remembered(self) -> int:
        """How many events it still knows to be at the other end."""
        return len(self._sent)

    def receive(self, message: Message) -> Iterator[Sent]:
        """Yield what is to be sent for a message."""
        name = message.feed, message.chunk
        if isinstance(message, Start):
            self._passing[name] = _Passing(message)
            return
        passing = self._passing[name]
        if isinstance(message, End):
            yield from self._begun(passing)
            del self._passing[name]
            # Another feed may not have been told of the latest event yet.
            oldest = min(message.oldest, self._latest, *(other.since for other in self._passing.values()))
            end = message._replace(oldest=oldest)
            yield RightGuard(end, tuple(passing.right), tuple(passing.ranks.items()))
            self._sent = {id_: time for id_, time in self._sent.items() if time >= oldest}
            return
        time = message.event.time
        self._latest, passing.since = max(self._latest, time), min(passing.since, time)
        if message.event.id not in self._sent:
            self._sent[message.event.id] = time
            yield Publication(message.event)
        if message.role == "left":
            passing.left.append(message.event.id)
            if len(passing.left) == passing.start.width:
                yield from self._begun(passing)
        elif message.role == "right":
            passing.right.append(message.event.id)
        else:
            known = passing.ranks.get(message.event.id, message.rank)
            passing.ranks[message.event.id] = min(message.rank, known)

    def _begun(self, passing: _Passing) -> Iterator[Sent]:
        if not passing.is_begun:
            passing.is_begun = True
            yield LeftGuard(passing.start, tuple(passing.left))


class Rehydration:
    """The receiving end: makes the messages of chunks again."""

    def __init__(self, *, by_count: Callable[[str, Event], bool] | None = None) -> None:
        """Start with nothing received. `by_count`, which events belong to a feed, is the wrong way of the paper."""
        self._buffer: dict[str, Event] = {}
        self._left: dict[tuple[str, int], tuple[str, ...]] = {}
        self._by_count = by_count

    @property
    def buffered(self) -> int:
        """How many events it keeps."""
        return len(self._buffer)

    def receive(self, sent: Sent) -> Iterator[Message]:
        """Yield the messages of chunks that what was sent stands for."""
        if isinstance(sent, Publication):
            self._buffer[sent.event.id] = sent.event
        elif isinstance(sent, LeftGuard):
            feed, chunk, _ = sent.start
            self._left[feed, chunk] = sent.ids
            yield sent.start
            for id_ in sent.ids:
                yield Part(feed, chunk, "left", self._event(id_))
        else:
            feed, chunk = sent.end.feed, sent.end.chunk
            left = self._left.pop((feed, chunk))
            for event, rank in self._tops(sent, left):
                yield Part(feed, chunk, "top", event, rank, event.id not in left)
            known = {*left, *(id_ for id_, _ in sent.ranks)}
            for id_ in sent.ids:
                yield Part(feed, chunk, "right", self._event(id_), is_news=id_ not in known)
            yield sent.end
            self._buffer = {id_: one for id_, one in self._buffer.items() if one.time >= sent.end.oldest}

    def _tops(self, sent: RightGuard, left: tuple[str, ...]) -> list[tuple[Event, int]]:
        winners = [(self._event(id_), rank) for id_, rank in sent.ranks]
        if self._by_count is None:
            return winners
        guards = {*left, *sent.ids}
        begin, end = self._event(left[-1]).time, self._event(sent.ids[0]).time
        between = [one for one in self._buffer.values() if begin < one.time < end]
        own = [one for one in between if self._by_count(sent.end.feed, one)]
        number = sum(event.id not in guards for event, _ in winners)
        return [(event, rank) for event, rank in winners if event.id in guards] + [(e, 0) for e in best(own, number)]

    def _event(self, id_: str) -> Event:
        if id_ not in self._buffer:
            raise PipelineError(f"event {id_} is named by a chunk, but was not sent or is forgotten already")
        return self._buffer[id_]
