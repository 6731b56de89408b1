"""Links that unsubscribe with one click: they name a subscriber and what to stop, and nobody can make them up."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

_MAC_BYTES = 16


class Wish(NamedTuple):
    """What a link stands for: this channel for this subscriber is to be turned off."""

    subscriber: str
    channel: str


@dataclass(frozen=True)
class UnsubscribeLinks:
    """Links below `base`, as in https://tidegate.example/unsubscribe/, valid for ever: mail is old when it is read."""

    base: str
    key: bytes

    def link(self, wish: Wish) -> str:
        """The address that stands for the wish; opening it (GET) must do nothing, posting to it grants the wish."""
        named = f"{wish.channel}:{wish.subscriber}".encode()
        return self.base + urlsafe_b64encode(self._mac(named) + named).decode().rstrip("=")

    def wish(self, token: str) -> Wish | None:
        """What the last part of such an address stands for; None if it is not one of ours."""
        try:
            decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            mac, named = decoded[:_MAC_BYTES], decoded[_MAC_BYTES:]
            channel, _, subscriber = named.decode().partition(":")
        except (NotBase64, ValueError):
            return None
        return Wish(subscriber, channel) if hmac.compare_digest(mac, self._mac(named)) else None

    def _mac(self, named: bytes) -> bytes:
        return hmac.digest(self.key, b"unsubscribe:" + named, sha256)[:_MAC_BYTES]
