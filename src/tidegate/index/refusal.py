"""Subscriptions that are not accepted, each with its reason: one bad subscription never stops a batch."""

from typing import NamedTuple

from tidegate.errors import ConfigError, TidegateError


class Refusal(NamedTuple):
    """A subscription that was not accepted: its row in the batch, its id, and why."""

    row: int
    subscription: str
    error: TidegateError


def nameless() -> ConfigError:
    """The error of a subscription that nobody could refer to."""
    return ConfigError("a subscription has no id: give it one that is not empty")


def taken(subscription: str) -> ConfigError:
    """The error of a subscription whose id is in use."""
    return ConfigError(f"there is a subscription {subscription!r} already: unsubscribe it first, or choose another id")
