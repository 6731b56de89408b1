"""What is sent and what came of it: the contract between channels and whoever keeps what is still to be sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from tidegate.deliver.outbox import Lease

_NO_LEASE: Final = Lease(0, 0)


@dataclass(frozen=True)
class Parcel:
    """Notifications for one subscriber by one channel: one of them, or those of a digest.

    The id is the same at every attempt, so that a receiver can tell a parcel that it has had. `target` is the address
    as the channel understands it. `attempts` counts those that have failed. `lease` is how the outbox knows it.
    """

    id: str
    subscriber: str
    channel: str
    target: Mapping[str, Any]
    notifications: tuple[Mapping[str, Any], ...]
    attempts: int = 0
    lease: Lease = _NO_LEASE


class Result(Enum):
    """What came of an attempt."""

    SENT = "sent"
    LATER = "later"
    """It failed, and may succeed."""
    FAILED = "failed"
    """It will not succeed, however often it is tried."""
    GONE = "gone"
    """The address is no more: it should be forgotten."""


@dataclass(frozen=True)
class Outcome:
    """A result and the reason; `wait` is how long (microseconds) the other side asked us to.

    `is_attempt` is false where nothing was tried, because the other side has been failing: that uses up no patience.
    """

    result: Result
    detail: str = ""
    wait: int = 0
    is_attempt: bool = True


class Channel(Protocol):
    """A way out. It never raises for what the other side or the address does: that is an outcome."""

    async def send(self, parcel: Parcel) -> Outcome:
        """Try once."""
