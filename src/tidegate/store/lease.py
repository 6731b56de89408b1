"""A lease: who does a piece of work for now, so that others need not.

It spares work and protects nothing: object stores have no locks, clocks differ, and a process may pause for longer than
its lease. What is done under a lease must be safe to do twice.
"""

import json
import os
import secrets
import socket
import time
from contextlib import suppress
from typing import Any

from tidegate.store.location import Location

# Of those who take an expired lease over at the same time, the last to write has it: so long is waited for the others.
_SETTLING_S = 0.2


class Lease:
    """One holder's side of the lease in a file."""

    def __init__(self, location: Location, name: str, seconds: float) -> None:
        """Hold nothing yet; what is taken lasts for `seconds`, unless it is taken again before."""
        self._location = location
        self._name = name
        self._seconds = seconds
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def take(self) -> bool:
        """Take the lease, or have it for longer; tell whether it is held now. A live one of another is left alone."""
        held = self._held()
        if held.get("owner") == self.owner:
            self._location.write(self._name, self._signed())
            return True
        if held.get("until", 0.0) > time.time():
            return False
        if self._location.create(self._name, self._signed()):
            return True
        self._location.write(self._name, self._signed())
        time.sleep(_SETTLING_S)
        return self.holder() == self.owner

    def release(self) -> None:
        """Give the lease up, if it is held."""
        if self.holder() == self.owner:
            self._location.delete(self._name)

    def holder(self) -> str | None:
        """Who has the lease or had it last, as host, process and a random word."""
        return self._held().get("owner")

    def _held(self) -> dict[str, Any]:
        content = self._location.read(self._name)
        # A lease that cannot be read is as good as none.
        with suppress(ValueError):
            held = json.loads(content or b"{}")
            if isinstance(held, dict) and isinstance(held.get("until", 0.0), int | float):
                return held
        return {}

    def _signed(self) -> bytes:
        return json.dumps({"owner": self.owner, "until": time.time() + self._seconds}).encode()
