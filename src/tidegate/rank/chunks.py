"""Chunks: a stretch of a feed's events as it is sent on, without those that no window can need (Algorithm 1).

The first and the last events of a chunk, as many as a window has, are its guards: windows that reach across its borders
are made of guards alone. Of the windows inside, only the best events are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tidegate.errors import ConfigError
from tidegate.rank.event import Event
from tidegate.rank.windows import Windows


@dataclass(frozen=True)
class Chunk:
    """Of one feed. A chunk of fewer than two windows is all guard."""

    length: int
    """How many events it stands for; a multiple of the shift, so that the windows of all chunks are in step."""
    left: tuple[Event, ...]
    """The first events, as many as a window has, or all."""
    right: tuple[Event, ...]
    """The last events, as many as a window has, or all."""
    tops: Mapping[Event, int]
    """The best events of the windows inside, in the order in which they won, with the best rank of each, from 0."""

    @property
    def events(self) -> list[Event]:
        """All that has to be sent, each once."""
        return list(dict.fromkeys([*self.left, *self.tops, *self.right]))

    def covered(self, k: int) -> "Chunk":
        """Return the chunk of a feed that is alike but wants fewer: one stream of chunks serves them all."""
        return Chunk(self.length, self.left, self.right, _frozen({event: r for event, r in self.tops.items() if r < k}))


def chunk_of(events: Sequence[Event], windows: Windows) -> Chunk:
    """Return a stretch of events as a chunk (synchronous chunking)."""
    check_length(len(events), windows)
    tops: dict[Event, int] = {}
    for _, winners in windows.winners(events):
        note(tops, winners)
    left, right = tuple(events[: windows.width]), tuple(events[-windows.width :])
    return Chunk(len(events), left, right, _frozen(tops))


def recombined(first: Chunk, second: Chunk, windows: Windows) -> Chunk:
    """Return two chunks, the second of which follows the first, as one: guards between them become dispensable.

    An intermediate broker may do this with whatever it has, as the order of chunks is its to choose.
    """
    tops = dict(first.tops)
    for winners in across(first.right, second.left, first.length, windows):
        note(tops, winners)
    for event, rank in second.tops.items():
        tops[event] = min(rank, tops.get(event, rank))
    left = first.left if first.length >= windows.width else (*first.left, *second.left)[: windows.width]
    right = second.right if second.length >= windows.width else (*first.right, *second.right)[-windows.width :]
    return Chunk(first.length + second.length, left, right, _frozen(tops))


def across(before: Sequence[Event], after: Sequence[Event], position: int, windows: Windows) -> list[list[Event]]:
    """Return the winners of all windows that begin among the last events before a position and end after it.

    `before` are the events up to the position, `after` those from there on, as far as they are known.
    """
    known = [*before, *after]
    origin = position - len(before)
    first = -(-origin // windows.shift) * windows.shift
    found: list[list[Event]] = []
    for start in range(first, position, windows.shift):
        end = start + windows.width
        if position < end <= position + len(after):
            window = known[start - origin : end - origin]
            found.extend(winners for _, winners in windows.winners(window))
    return found


def check_length(length: int, windows: Windows) -> None:
    """Refuse a chunk after which windows would be out of step."""
    if length < 1 or length % windows.shift:
        raise ConfigError(f"a chunk of {length} events: windows that shift by {windows.shift} need a multiple of that")


def note(tops: dict[Event, int], winners: Sequence[Event]) -> None:
    """Take note of the winners of one more window."""
    for rank, event in enumerate(winners):
        tops[event] = min(rank, tops.get(event, rank))


def _frozen(tops: dict[Event, int]) -> Mapping[Event, int]:
    return MappingProxyType(tops)
