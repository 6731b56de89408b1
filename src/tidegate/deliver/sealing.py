"""Sealed texts: what is in a link, so that nobody can make one up. They are vouched for, not hidden."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import sha256

_MAC_BYTES = 16


def sealed(key: bytes, purpose: str, text: str) -> str:
    """A text as the last part of a link; one that was sealed for another purpose is not taken for it."""
    content = text.encode()
    return urlsafe_b64encode(_mac(key, purpose, content) + content).decode().rstrip("=")


def unsealed(key: bytes, purpose: str, token: str) -> str | None:
    """The text of such a part; None if it was not sealed here, for this purpose."""
    try:
        decoded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        mac, content = decoded[:_MAC_BYTES], decoded[_MAC_BYTES:]
        text = content.decode()
    except (NotBase64, ValueError):
        return None
    return text if hmac.compare_digest(mac, _mac(key, purpose, content)) else None


def _mac(key: bytes, purpose: str, content: bytes) -> bytes:
    return hmac.digest(key, purpose.encode() + b":" + content, sha256)[:_MAC_BYTES]
