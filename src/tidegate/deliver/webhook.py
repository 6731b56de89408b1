"""The channel webhook: notifications as JSON, signed, to the address that a subscriber gave."""

import json
from dataclasses import dataclass

from tidegate.deliver.breaker import Breakers
from tidegate.deliver.clock import SECOND, Clock
from tidegate.deliver.outward import NoAnswerError, Outward
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.public_addresses import AddressError, web_target
from tidegate.deliver.signature import signed
from tidegate.errors import ConfigError


@dataclass(frozen=True)
class Webhook:
    """Sends to targets {"url": …, "secrets": ["whsec_…", …]}: more than one while they are being changed."""

    outward: Outward
    breakers: Breakers
    clock: Clock

    async def send(self, parcel: Parcel) -> Outcome:
        """Try once, unless the host has been failing; a success is any answer of 200 to 299."""
        try:
            target = web_target(str(parcel.target.get("url")))
            document = {"id": parcel.id, "subscriber": parcel.subscriber, "notifications": parcel.notifications}
            body = json.dumps(document, ensure_ascii=False).encode()
            vouching = signed(parcel.target["secrets"], parcel.id, self.clock() // SECOND, body)
        except ConfigError as error:
            return Outcome(Result.FAILED, str(error))
        host = f"{target.host}:{target.port}"
        wait = self.breakers.wait(host)
        if wait:
            return Outcome(Result.LATER, f"{host} has been failing and is left alone", wait, is_attempt=False)
        headers = {"Content-Type": "application/json", **vouching}
        try:
            answer = await self.outward.post(str(parcel.target["url"]), headers, body)
        except AddressError as error:
            return Outcome(Result.FAILED, str(error))
        except NoAnswerError as error:
            self.breakers.failed(host)
            return Outcome(Result.LATER, str(error))
        # A host that refuses is well: others may have addresses there that it does not refuse.
        if answer.status >= 500:
            self.breakers.failed(host)
        else:
            self.breakers.succeeded(host)
        return Outcome(Result.SENT) if answer.is_success else answer.failure(self.clock())
