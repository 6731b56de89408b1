"""Seals: frames of one connection and one direction are vouched for, each in its place.

What is altered, left out, said again, said on another connection or sent back to where it came from is not genuine.
"""

import hmac
from hashlib import sha256
from typing import Final

MAC_BYTES: Final = 16


class Seal:
    """Vouches for one frame after the other, or tells whether the other side has."""

    def __init__(self, key: bytes, speaker: bytes, listener: bytes) -> None:
        """Of a key that both sides share, and what each has drawn for this connection."""
        self._key = hmac.digest(key, b"tidegate link:" + speaker + listener, sha256)
        self._count = 0

    def mac(self, body: bytes) -> bytes:
        """What vouches for the next frame."""
        self._count += 1
        return hmac.digest(self._key, self._count.to_bytes(8) + body, sha256)[:MAC_BYTES]

    def is_genuine(self, mac: bytes, body: bytes) -> bool:
        """Whether this is the next frame, as the other side has sent it."""
        return hmac.compare_digest(mac, self.mac(body))
