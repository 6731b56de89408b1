"""What a peer says and hears: sealed, carried, and counted by kind. What it means is no business of this module."""

from collections.abc import Callable
from typing import Final

from tidegate.deliver.ends import Address
from tidegate.overlay.node.carrier import Carrier
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.messages import Kind
from tidegate.overlay.node.reading import MalformedError
from tidegate.overlay.node.sealing import Opened, RefusedError, Seal

_FALSE: Final = frozenset({"size", "version", "key", "kind"})
"""Why a message is refused that no peer has said."""


class Voice:
    """Of the peer with an id, which may become another one; it speaks and hears while its carrier is open."""

    def __init__(self, me: int, key: bytes | None, counters: Counters, understand: Callable[[Opened], None]) -> None:
        """Call `understand` with every message that is genuine; what that raises of `MalformedError` is counted."""
        self._key, self._counters, self._understand = key, counters, understand
        self.carrier = Carrier(self._take, counters)
        self.seal = Seal(me, key)

    def change(self, me: int) -> None:
        """Speak as another peer from now on, as which nothing was said or heard yet."""
        self.seal = Seal(me, self._key)

    def say(self, kind: Kind, to: int, at: Address, body: bytes) -> int | None:
        """Return the number of the message, or None if there is no room for it to go."""
        number, message = self.seal.sealed(kind, to, body)
        if not self.carrier.send(message, at):
            return None
        self._counters.bytes_sent += len(message)
        self._counters.sent[kind.name.lower()] += 1
        return number

    def _take(self, data: bytes) -> bool:
        """Have done what a message asks for, and return whether a peer may have said it, if not to this one, now or
        for the first time; nothing that anybody says raises."""
        self._counters.bytes_heard += len(data)
        try:
            opened = self.seal.opened(data)
            self._counters.heard[opened.kind.name.lower()] += 1
            self._understand(opened)
        except RefusedError as refused:
            self._counters.refused[refused.why] += 1
            return refused.why not in _FALSE
        except MalformedError:
            self._counters.refused["meaning"] += 1
        return True
