"""The channel push: to browsers and phones by Web Push (RFC 8030), encrypted for the device, with our name under it.

Push services see who sends (VAPID, RFC 8292) but not what (RFC 8291). Their addresses come from clients, so they are
called like any stranger's.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02

from tidegate.deliver.addresses import PushAddress
from tidegate.deliver.clock import SECOND, Clock
from tidegate.deliver.letter import post_text, subject
from tidegate.deliver.outward import NoAnswerError, Outward
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.public_addresses import AddressError, WebTarget, web_target
from tidegate.errors import ConfigError

_KEPT_S = 86_400
_VOUCHED_S = 43_200
# With all else in it, a message stays below the 4,096 bytes that every service takes, whatever the alphabet.
_MOST_CHARACTERS = 600


@dataclass(frozen=True)
class WebPush:
    """Sends to targets as `PushAddress` reads them; one that is gone should be forgotten.

    `key` signs: a P-256 key whose public half clients subscribed with. `contact` is where a push service may complain,
    as in mailto:ops@example.org.
    """

    outward: Outward
    key: ec.EllipticCurvePrivateKey
    contact: str
    clock: Clock

    async def send(self, parcel: Parcel) -> Outcome:
        """Try once."""
        try:
            device = PushAddress.from_json("target", parcel.target)
            target = web_target(device.endpoint)
            body = _encrypted(device, message(parcel.id, parcel.notifications))
        except (ConfigError, ValueError) as error:  # a key that is no point of the curve is a ValueError
            return Outcome(Result.FAILED, str(error))
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(_KEPT_S),
            "Urgency": "normal",
            "Authorization": self._vouching(target),
        }
        try:
            answer = await self.outward.post(device.endpoint, headers, body)
        except AddressError as error:
            return Outcome(Result.FAILED, str(error))
        except NoAnswerError as error:
            return Outcome(Result.LATER, str(error))
        if answer.is_success:
            return Outcome(Result.SENT)
        if answer.status == 404:
            return Outcome(Result.GONE, "the push service does not know the device any more")
        return answer.failure(self.clock())

    def _vouching(self, target: WebTarget) -> str:
        usual = 443 if target.scheme == "https" else 80
        port = "" if target.port == usual else f":{target.port}"
        expires = self.clock() // SECOND + _VOUCHED_S
        claims = {"aud": f"{target.scheme}://{target.host}{port}", "exp": expires, "sub": self.contact}
        return str(Vapid02(self.key).sign(claims)["Authorization"])


def message(id: str, notifications: Sequence[Mapping[str, Any]]) -> bytes:  # noqa: A002
    """What a device is shown, as JSON: a title, the beginning of a post, and of how many posts it is one."""
    shown = {
        "id": id[:64],
        "title": subject(notifications),
        "body": post_text(notifications[0])[:_MOST_CHARACTERS] if len(notifications) == 1 else "",
        "count": len(notifications),
    }
    return json.dumps(shown, ensure_ascii=False).encode()


def _encrypted(device: PushAddress, content: bytes) -> bytes:
    public, auth = (urlsafe_b64decode(key + "=" * (-len(key) % 4)) for key in (device.p256dh, device.auth))
    ephemeral = ec.generate_private_key(ec.SECP256R1())
    sealed = http_ece.encrypt(content, private_key=ephemeral, dh=public, auth_secret=auth, version="aes128gcm")
    return bytes(sealed)
