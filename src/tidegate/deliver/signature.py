"""Signatures of webhooks, in the form of the Standard Webhooks specification, so that receivers need no code of ours.

HMAC-SHA-256 over id, time stamp and body: a stolen request cannot be altered, nor sent again later.
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from hashlib import sha256

from tidegate.errors import ConfigError

PREFIX = "whsec_"
TOLERANCE_S = 300
"""By how much the clocks of the two sides may differ, and how old a request may be."""


def secret_text(key: bytes) -> str:
    """Write a key as a receiver gets it."""
    return PREFIX + b64encode(key).decode()


def signed(secrets: Iterable[str], id: str, seconds: int, body: bytes) -> dict[str, str]:  # noqa: A002
    """The headers that vouch for a body sent at that time (seconds since 1970), to whoever knows one of the secrets."""
    content = f"{id}.{seconds}.".encode() + body
    macs = [hmac.digest(_key(secret), content, sha256) for secret in secrets]
    return {
        "webhook-id": id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(mac).decode()}" for mac in macs),
    }


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes, seconds: int) -> bool:
    """Whether a request received at that time is what was signed, and not an old one. Header names in lower case."""
    sent = headers.get("webhook-timestamp", "")
    if not (sent.isascii() and sent.isdecimal()) or abs(int(sent[:15]) - seconds) > TOLERANCE_S:
        return False
    wanted = signed([secret], headers.get("webhook-id", ""), int(sent), body)["webhook-signature"]
    # While a secret is being changed there are several signatures.
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(wanted.encode(), one.encode()) for one in given)


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if not 24 <= len(key) <= 64:
        raise ConfigError(f"the secret of a webhook is {PREFIX} and 24 to 64 bytes in base64; this one is not")
    return key
