"""Where a subscriber wants to be reached: an e-mail address, a webhook, devices that take pushes."""

import re
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass
from typing import Any

from tidegate.deliver.fields import fields, items, text
from tidegate.deliver.public_addresses import AddressError, web_target
from tidegate.errors import ConfigError

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
# The form of RFC 5322 without quotes, comments and routes.
_MAIL = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")
_LONGEST = 2_048


@dataclass(frozen=True)
class PushAddress:
    """A device's subscription at its push service, as browsers give it: where, and the keys to encrypt for it."""

    endpoint: str
    p256dh: str
    auth: str

    @classmethod
    def from_json(cls, where: str, value: object) -> "PushAddress":
        """Read {"endpoint": URL, "keys": {"p256dh": …, "auth": …}}; what else browsers add is passed over."""
        given = value if isinstance(value, dict) else {}
        keys = fields(f"{where}.keys", given.get("keys"), ("p256dh", "auth"))
        return cls(
            web_address(f"{where}.endpoint", given.get("endpoint")),
            _key(f"{where}.keys.p256dh", keys.get("p256dh"), 65),
            _key(f"{where}.keys.auth", keys.get("auth"), 16),
        )

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        return {"endpoint": self.endpoint, "keys": {"p256dh": self.p256dh, "auth": self.auth}}


@dataclass(frozen=True)
class Addresses:
    """All of a subscriber's, by channel."""

    email: str | None = None
    webhook: str | None = None
    push: tuple[PushAddress, ...] = ()
    is_confirmed: bool = True
    """Whether the reader of `email` wants letters there; not given with the addresses, but noted when it is."""

    def has(self, channel: str) -> bool:
        """Whether the channel leads anywhere."""
        return bool(getattr(self, channel, True))

    @classmethod
    def from_json(cls, where: str, value: object) -> "Addresses":
        """Read {"email": …, "webhook": URL, "push": [subscription, …]}, all of them optional."""
        given = fields(where, value, ("email", "webhook", "push"))
        return cls(
            None if given.get("email") is None else mail_address(f"{where}.email", given["email"]),
            None if given.get("webhook") is None else web_address(f"{where}.webhook", given["webhook"]),
            tuple(
                PushAddress.from_json(f"{where}.push[{number}]", device)
                for number, device in enumerate(items(f"{where}.push", given.get("push", [])))
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        every = {"email": self.email, "webhook": self.webhook, "push": [device.to_json() for device in self.push]}
        return {channel: address for channel, address in every.items() if address}


def mail_address(where: str, value: object) -> str:
    """Return one plain address, as in ann@example.org: without a name, a list or anything that ends a header."""
    if isinstance(value, str) and len(value) <= 254 and _MAIL.fullmatch(value):
        return value
    raise ConfigError(f"{where} is {value!r:.80}: give one e-mail address, as in ann@example.org")


def web_address(where: str, value: object) -> str:
    """Return an address of the web that can be read in one way only; whether it may be called turns out when it is."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ConfigError(f"{where} is {value!r:.80}: give an address that begins with https:// or http://")
    try:
        web_target(value)
    except AddressError as error:
        raise ConfigError(f"{where}: {error}") from error
    return value


def _key(where: str, value: object, size: int) -> str:
    key = text(where, value)
    try:
        decoded = urlsafe_b64decode(key + "=" * (-len(key) % 4))
    except (NotBase64, ValueError):
        decoded = b""
    if len(decoded) != size:
        raise ConfigError(f"{where} is {key!r:.80}: give the {size} bytes of the browser's key in URL-safe base64")
    return key
