"""What travels over a link, and what it weighs: chunks as they are, or posts once and chunks by ids."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidegate.overlay.needs import HEADER_BYTES, ID_BYTES, NOTICE_BYTES, RANK_BYTES
from tidegate.rank.links import Deduplication, LeftGuard, Publication, Rehydration, RightGuard, Sent
from tidegate.rank.messages import End, Message, Part


class Notice(NamedTuple):
    """An event has won in a chunk that has not ended: who reads it need not wait for the end."""

    feed: str
    chunk: int
    id: str
    rank: int


Carried = Message | Sent | Notice


class PlainCarrier:
    """Chunks as they are: CHUNK."""

    def send(self, message: Message) -> Iterator[Carried]:
        """Yield what travels for a message."""
        yield message

    def receive(self, carried: Carried) -> Iterator[Message | Notice]:
        """Yield the messages that something stands for which has arrived."""
        assert not isinstance(carried, Sent | Notice)
        yield carried


@dataclass
class OnceCarrier:
    """Every post once, chunks by ids, and winners as soon as they have won: B-CHUNK, for the posts of one source."""

    _deduplication: Deduplication = field(default_factory=Deduplication)
    _rehydration: Rehydration = field(default_factory=Rehydration)
    _told: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    def send(self, message: Message) -> Iterator[Carried]:
        """Yield what travels for a message."""
        yield from self._deduplication.receive(message)
        name = message.feed, message.chunk
        if isinstance(message, End):
            self._told.pop(name, None)
        elif isinstance(message, Part) and message.role == "top":
            told = self._told.setdefault(name, set())
            if message.event.id not in told:
                told.add(message.event.id)
                yield Notice(*name, message.event.id, message.rank)

    def receive(self, carried: Carried) -> Iterator[Message | Notice]:
        """Yield the messages that something stands for which has arrived."""
        if isinstance(carried, Notice):
            yield carried
        else:
            assert isinstance(carried, Sent)
            yield from self._rehydration.receive(carried)


def is_publication(carried: Carried) -> bool:
    """Whether a post travels, and not only its id."""
    return isinstance(carried, Publication) or (isinstance(carried, Part) and carried.is_news)


def nbytes_of(carried: Carried) -> int:
    """Return what ids weigh; nothing for posts, nor for what CHUNK says besides them."""
    match carried:
        case LeftGuard():
            return HEADER_BYTES + ID_BYTES * len(carried.ids)
        case RightGuard():
            return HEADER_BYTES + ID_BYTES * len(carried.ids) + (ID_BYTES + RANK_BYTES) * len(carried.ranks)
        case Notice():
            return NOTICE_BYTES
        case _:
            return 0
