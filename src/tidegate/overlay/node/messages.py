"""What peers say to each other, as bytes: the one schema, whose sizes are all bounded. Seals are another matter."""

import secrets
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.profile import (
    LONGEST_TOPIC,
    Profile,
    packed_address,
    read_address,
    read_profile,
    topic_bytes,
)
from tidegate.overlay.node.reading import MalformedError, Reader
from tidegate.overlay.poldercast.settings import MODULES

LARGEST: Final = 1 << 18
"""No message is longer, seal and all."""
LARGEST_EVENT: Final = 1 << 16
"""In bytes, of its text."""
EVENT_ID_BYTES: Final = 16
OLDEST: Final = 1 << 29
"""No age is higher, in ticks: entries of views have room for times up to twice as much."""
_ROOM: Final = LARGEST - 64
_LETTER: Final = struct.Struct(">BB")
_AGE: Final = struct.Struct(">I")
_EVENT: Final = struct.Struct(f">{EVENT_ID_BYTES}sB")
_RECEIPT: Final = struct.Struct(">QB")


class Kind(IntEnum):
    """What a message is."""

    JOIN = 1
    """A letter of somebody who knows nobody yet."""
    WELCOME = 2
    """The letter in answer to that."""
    OPEN = 3
    ANSWER = 4
    """Letters of gossip."""
    EVENT = 5
    RECEIPT = 6
    """Whether an event was taken."""
    LEAVE = 7
    """Nothing more will come from the sender."""


class Letter(NamedTuple):
    """Peers that one names to another, with their ages; and the sender's own profile."""

    module: int
    sender: Profile
    named: Sequence[tuple[int, Profile]] = ()

    @property
    def sender_at(self) -> tuple[int, Address]:
        """Whom an answer is for, and where it goes."""
        return self.sender.id, self.sender.address

    def to_bytes(self) -> bytes:
        """Write it; those named last are left out if it were too large otherwise."""
        parts, size = [self.sender.packed], len(self.sender.packed)
        for age, profile in self.named:
            size += _AGE.size + len(profile.packed)
            if size > _ROOM:
                break
            parts.append(_AGE.pack(min(age, OLDEST)) + profile.packed)
        return _LETTER.pack(self.module, len(parts) - 1) + b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes, most: int) -> "Letter":
        """Read one that names `most` peers at most."""
        reader = Reader(data)
        module, count = reader.unpacked(_LETTER)
        if module >= len(MODULES) or count > most:
            raise MalformedError(f"a letter of module {module} that names {count}: there are {len(MODULES)}, of {most}")
        sender = read_profile(reader)
        named = tuple((_age(reader), read_profile(reader)) for _ in range(count))
        reader.end()
        return cls(module, sender, named)


class Event(NamedTuple):
    """What is published: the same id is the same event, however often and from whomever it comes."""

    id: bytes
    topic: str
    body: bytes

    @classmethod
    def of(cls, topic: str, body: bytes | str, id_: bytes | None = None) -> "Event":
        """Make one, with an id of its own if none is given; `ConfigError` if there is no such event."""
        topic_bytes(topic)
        try:
            written = body.encode() if isinstance(body, str) else body
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"an event that is no text ({error}): give text that UTF-8 can write, or bytes"
            ) from error
        if len(written) > LARGEST_EVENT:
            raise ConfigError(f"an event of {len(written):,} bytes: {LARGEST_EVENT:,} are the most")
        if id_ is not None and len(id_) != EVENT_ID_BYTES:
            raise ConfigError(f"an event with an id of {len(id_)} bytes: give {EVENT_ID_BYTES}")
        return cls(id_ or secrets.token_bytes(EVENT_ID_BYTES), topic, written)

    def to_bytes(self, receipt_to: Address) -> bytes:
        """Write it, with where the peer that passes it on awaits a receipt."""
        topic = topic_bytes(self.topic)
        return packed_address(receipt_to) + _EVENT.pack(self.id, len(topic)) + topic + self.body

    @classmethod
    def from_bytes(cls, data: bytes) -> "tuple[Event, Address]":
        """Read one, and where its receipt goes."""
        reader = Reader(data)
        receipt_to = read_address(reader)
        id_, length = reader.unpacked(_EVENT)
        if not 0 < length <= LONGEST_TOPIC or len(data) - reader.at - length > LARGEST_EVENT:
            raise MalformedError(f"an event of {len(data)} bytes, with a topic of {length}")
        try:
            topic = reader.taken(length).decode()
        except UnicodeDecodeError as error:
            raise MalformedError("a topic that is no text") from error
        return cls(id_, topic, reader.rest()), receipt_to


class Taken(IntEnum):
    """What a peer does with an event that comes to it."""

    NO = 0
    """Nothing: it does not follow the topic."""
    CARRIED = 1
    """It passes the event on, and tells it nobody."""
    DELIVERED = 2
    """It passes it on, and its own reader is told, now or earlier."""


class Receipt(NamedTuple):
    """Says of the event that came as message `number` whether it was taken."""

    number: int
    taken: Taken

    def to_bytes(self) -> bytes:
        """Write it."""
        return _RECEIPT.pack(*self)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Receipt":
        """Read one."""
        reader = Reader(data)
        number, taken = reader.unpacked(_RECEIPT)
        reader.end()
        if taken > Taken.DELIVERED:
            raise MalformedError(f"a receipt that says {taken}")
        return cls(number, Taken(taken))


def _age(reader: Reader) -> int:
    (age,) = reader.unpacked(_AGE)
    return min(int(age), OLDEST)
