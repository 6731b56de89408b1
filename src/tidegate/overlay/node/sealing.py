"""Seals of messages: each says from whom, to whom and when, and is vouched for by the key that all peers share.

A message counts once, and not for long: by its number, which is the time it was sent at (no two of a sender are alike),
it is known whether it came before, and whether it is too old for that to be known. So clocks of peers have to agree to
a minute. Datagrams may overtake what goes by connections, however many: numbers of the two are kept apart. Without a
key, the seal proves nothing, and keeps only damage out. What is said can be read on the way.
"""

import hmac
import struct
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from tidegate.deliver.seal import MAC_BYTES
from tidegate.overlay.node.carrier import DATAGRAM
from tidegate.overlay.node.messages import LARGEST, Kind
from tidegate.overlay.node.reading import MalformedError, Reader

ANYBODY: Final = 0
"""Whom a letter is for if one does not know who is there."""
_HEAD: Final = struct.Struct(">2sBBQQQ")
_MARK, _VERSION = b"TG", 1
_KINDS: Final = frozenset(map(int, Kind))
_LONGEST_US: Final = 60_000_000
_NUMBERS: Final = 128
_MOST_SENDERS: Final = 1 << 14
"""More than are heard in a minute: a peer with 1,000 topics has 4,000 neighbours, and 7,680 are welcomed."""
_LOOK_US: Final = 1_000_000
"""How often it is looked who can be forgotten, where there is no more room: it takes longer than to hear somebody."""


class RefusedError(MalformedError):
    """A message that is not heeded; `why` is one of few words, to be counted by."""

    def __init__(self, why: str) -> None:
        """For one of the reasons in `Seal.opened`."""
        super().__init__(why)
        self.why = why


class Opened(NamedTuple):
    """A message that is genuine, and new."""

    kind: Kind
    sender: int
    number: int
    body: bytes


class Seal:
    """Seals what one peer says, and opens what is said to it."""

    def __init__(self, me: int, key: bytes | None, clock: Callable[[], float] = time.time) -> None:
        """For the peer with the id `me`; `clock` tells the time in seconds."""
        self._me, self._clock = me, clock
        self._key = hmac.digest(key or b"no key", b"tidegate overlay", sha256)
        self._last = 0
        self._heard: dict[int, tuple[array[int], array[int]]] = {}
        """Numbers of each sender, rising, of datagrams and of what is too large for one: eight bytes each."""
        self._looked_at = -_LOOK_US

    def sealed(self, kind: Kind, to: int, body: bytes) -> tuple[int, bytes]:
        """Return the number of a message, and the message."""
        self._last = max(self._last + 1, self._now())
        said = _HEAD.pack(_MARK, _VERSION, kind, self._me, to, self._last) + body
        return self._last, said + self._mac(said)

    @property
    def is_ahead(self) -> bool:
        """Whether the clock was put back, so far that others may soon take what is said for too early.

        Numbers only rise; and what was heard by a wrong clock could be said again when its time comes. It takes another
        id to be heard again.
        """
        return self._last - self._now() > _LONGEST_US // 2

    def opened(self, data: bytes) -> Opened:
        """Return what was said, or raise `RefusedError`.

        Why is one of `size`, `version`, `receiver` (it is for somebody else), `key`, `kind`, `time`, `again` and
        `crowd`: more senders than can be kept apart. Nothing is remembered of what is not sealed by the key.
        """
        if not _HEAD.size + MAC_BYTES <= len(data) <= LARGEST:
            raise RefusedError("size")
        said, mac = data[:-MAC_BYTES], data[-MAC_BYTES:]
        reader = Reader(said)
        mark, version, kind, sender, receiver, number = reader.unpacked(_HEAD)
        if mark != _MARK or version != _VERSION:
            raise RefusedError("version")
        if receiver != self._me and (receiver != ANYBODY or kind != Kind.JOIN):
            raise RefusedError("receiver")
        if not hmac.compare_digest(mac, self._mac(said)):
            raise RefusedError("key")
        if kind not in _KINDS or sender in (self._me, ANYBODY):
            raise RefusedError("kind")
        self._check_new(sender, number, is_large=len(data) > DATAGRAM)
        return Opened(Kind(kind), sender, number, reader.rest())

    def _check_new(self, sender: int, number: int, *, is_large: bool) -> None:
        now = self._now()
        if abs(number - now) > _LONGEST_US:
            raise RefusedError("time")
        if sender not in self._heard and len(self._heard) >= _MOST_SENDERS:
            self._make_room(now)
        # By size, which is sealed, and not by how it came: else what came one way could come once more the other way.
        numbers = self._heard.setdefault(sender, (_none(), _none()))[is_large]
        at = bisect_left(numbers, number)
        # What is older than all that are remembered may have come before them.
        if (at == 0 and len(numbers) == _NUMBERS) or (at < len(numbers) and numbers[at] == number):
            raise RefusedError("again")
        numbers.insert(at, number)
        del numbers[:-_NUMBERS]

    def _make_room(self, now: int) -> None:
        """Forget senders of whom nothing can come again: it would be too old. `RefusedError` if there are none."""
        if abs(now - self._looked_at) >= _LOOK_US:
            self._looked_at = now
            self._heard = {
                sender: ways
                for sender, ways in self._heard.items()
                if max(numbers[-1] for numbers in ways if numbers) >= now - _LONGEST_US
            }
        if len(self._heard) >= _MOST_SENDERS:
            raise RefusedError("crowd")

    def _mac(self, said: bytes) -> bytes:
        return hmac.digest(self._key, said, sha256)[:MAC_BYTES]

    def _now(self) -> int:
        return int(self._clock() * 1e6)


def _none() -> "array[int]":
    return array("Q")
