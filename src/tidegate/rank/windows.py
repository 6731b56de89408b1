"""Windows by count: what a feed delivers, computed where all of its events are known.

This is what every other way of computing it is compared with.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate.errors import ConfigError
from tidegate.rank.event import Event, best


@dataclass(frozen=True)
class Windows:
    """The `k` best of every `width` events in a row, a new row beginning every `shift` events.

    >>> events = [Event("a", 4), Event("b", 1), Event("c", 2), Event("d", 3)]
    >>> [[event.id for event in tops] for _, tops in Windows(1, 2, 1).winners(events)]
    [['a'], ['c'], ['d']]
    """

    k: int
    width: int
    shift: int

    def __post_init__(self) -> None:
        """Refuse what are no windows."""
        if not 1 <= self.k <= self.width:
            raise ConfigError(f"k is {self.k} of windows of {self.width}: give 1 to {self.width}")
        if not 1 <= self.shift <= self.width:
            raise ConfigError(f"windows of {self.width} that shift by {self.shift}: give 1 to {self.width}")

    @property
    def is_tumbling(self) -> bool:
        """Whether every event is in one window."""
        return self.shift == self.width

    def starts(self, length: int) -> range:
        """Where the windows begin that are complete within so many events."""
        return range(0, length - self.width + 1, self.shift)

    def winners(self, events: Sequence[Event]) -> Iterator[tuple[int, list[Event]]]:
        """Yield for every complete window where it begins, and its best events, the best of all first."""
        for start in self.starts(len(events)):
            yield start, best(events[start : start + self.width], self.k)

    def delivered(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that are among the best of some window, each once, as windows complete."""
        return list(dict.fromkeys(event for _, tops in self.winners(events) for event in tops))
