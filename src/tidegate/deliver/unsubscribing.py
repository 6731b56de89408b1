"""Links that unsubscribe with one click: they name a subscriber and what to stop, and nobody can make them up."""

from dataclasses import dataclass
from typing import NamedTuple

from tidegate.deliver.sealing import sealed, unsealed

_PURPOSE = "unsubscribe"


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
        return self.base + sealed(self.key, _PURPOSE, f"{wish.channel}:{wish.subscriber}")

    def wish(self, token: str) -> Wish | None:
        """What the last part of such an address stands for; None if it is not one of ours."""
        text = unsealed(self.key, _PURPOSE, token)
        if text is None:
            return None
        channel, _, subscriber = text.partition(":")
        return Wish(subscriber, channel)
