"""Profiles as they travel: who a peer is, where it is reached, what it follows and how many neighbours it has there.

Topics are told by what their names hash to: all are equally long, and who does not follow a topic does not learn its
name. A profile is passed on as the bytes it came in, so that naming a peer costs next to nothing.
"""

import struct
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.reading import MalformedError, Reader
from tidegate.overlay.poldercast.settings import LONGEST_RING_VIEW
from tidegate.overlay.poldercast.state import Ways

Digests = NDArray[np.uint64]
Held = NDArray[np.int8]
Steps = NDArray[np.uint8]

MOST_TOPICS: Final = 1000
"""That one peer follows."""
LONGEST_TOPIC: Final = 200
"""In bytes."""
_NOBODY: Final = 255
_HEAD: Final = struct.Struct(">QQH")
_TOPIC_BYTES: Final = 8 + 1 + 2
_ADDRESS_BYTES: Final = (4, 16)


class Profile(NamedTuple):
    """A peer as another one knows it."""

    id: int
    """Where on the circle of 64 bits it is."""
    version: int
    """Of two profiles of a peer the one with the higher is later: when it was written, in millionths of a second."""
    address: Address
    topics: Digests
    """Rising."""
    held: Held
    """By topic, how many ring neighbours it has."""
    steps: Steps
    """By topic, how far the next ones are on either side, as `steps_of` writes it."""
    packed: bytes
    """As it travels."""

    @classmethod
    def of(cls, id_: int, version: int, address: Address, topics: Digests, held: Held, steps: Steps) -> "Profile":
        """Write a profile down; topics rise, and the host is an IP address."""
        head = _HEAD.pack(id_, version, len(topics)) + packed_address(address)
        packed = head + topics.astype(">u8").tobytes() + held.tobytes() + steps.tobytes()
        return cls(id_, version, address, topics, held, steps, packed)


def read_profile(reader: Reader) -> Profile:
    """Read one; `MalformedError` if it is none, or larger than one may be."""
    begin = reader.at
    _, _, count = reader.unpacked(_HEAD)
    if count > MOST_TOPICS:
        raise MalformedError(f"a profile with {count} topics")
    reader.taken(reader.taken(1)[0] + 2 + _TOPIC_BYTES * count)
    return _parsed(reader.since(begin))


@lru_cache(maxsize=1024)
def _parsed(packed: bytes) -> Profile:
    """Read a profile of the right length: mostly one that came before."""
    reader = Reader(packed)
    id_, version, count = reader.unpacked(_HEAD)
    if id_ == 0:
        raise MalformedError("a profile of nobody")
    address = read_address(reader)
    topics = np.frombuffer(reader.taken(8 * count), ">u8").astype(np.uint64)
    held = np.frombuffer(reader.taken(count), np.int8)
    steps = np.frombuffer(reader.rest(), np.uint8).reshape(count, 2)
    if (topics[1:] <= topics[:-1]).any() or (held < 0).any() or (held > LONGEST_RING_VIEW).any():
        raise MalformedError("a profile whose topics do not rise, or with more neighbours than there may be")
    return Profile(id_, version, address, topics, held, steps, packed)


def steps_of(gaps: Ways) -> Steps:
    """Return ways along the circle as one byte each: a quarter of a doubling for each step, and 255 for no way at all.

    >>> steps_of(np.array([[1, 2.0**63], [5, np.inf]], np.float32)).tolist()
    [[0, 252], [9, 255]]
    """
    fine = np.floor(4 * np.log2(np.maximum(gaps, 1)))
    return np.where(np.isinf(gaps), _NOBODY, np.minimum(fine, _NOBODY - 1)).astype(np.uint8)


def gaps_of(steps: Steps) -> Ways:
    """Return the ways that steps stand for: a little shorter than they were, so that nobody seems nearer than it is.

    >>> gaps_of(np.array([[0, 252], [8, 255]], np.uint8)).tolist() == [[1.0, 2.0**63], [4.0, np.inf]]
    True
    """
    return np.where(steps == _NOBODY, np.inf, 2.0 ** (steps / 4)).astype(np.float32)


def packed_address(address: Address) -> bytes:
    """Write an address, whose host is an IP address."""
    host = ip_address(address.host).packed
    return bytes([len(host)]) + host + address.port.to_bytes(2)


def read_address(reader: Reader) -> Address:
    """Read one where somebody can be."""
    (length,) = reader.taken(1)
    if length not in _ADDRESS_BYTES:
        raise MalformedError(f"an address of {length} bytes")
    host = ip_address(reader.taken(length))
    port = int.from_bytes(reader.taken(2))
    if port == 0 or host.is_multicast or host.is_unspecified:
        raise MalformedError(f"nobody can be reached at {host}, port {port}")
    return Address(str(host), port)


def topic_bytes(name: str) -> bytes:
    """Return the bytes of a topic's name; refuse one that is empty or too long.

    >>> topic_bytes("nasa")
    b'nasa'
    """
    try:
        written = name.encode()
    except UnicodeEncodeError:
        written = b""
    if not 0 < len(written) <= LONGEST_TOPIC:
        raise ConfigError(f"no topic is called {name!r:.80}: give a text of 1 to {LONGEST_TOPIC} bytes")
    return written


def is_topic(name: str) -> bool:
    """Whether a topic may be called so.

    >>> is_topic("nasa"), is_topic("")
    (True, False)
    """
    try:
        return bool(topic_bytes(name))
    except ConfigError:
        return False


def digest_of(name: str) -> int:
    """Return what stands for a topic in profiles.

    >>> digest_of("nasa") == digest_of("nasa") != digest_of("esa")
    True
    """
    return int.from_bytes(blake2b(topic_bytes(name), digest_size=8, person=b"tidegate topic").digest())
