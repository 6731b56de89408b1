"""How large the leaf set of a peer is, and how soon a silent parent is given up."""

from dataclasses import dataclass
from typing import Final

from tidegate.errors import ConfigError

MOST_HOPS: Final = 32
"""A route that is longer is given up: it goes around in circles, as it may where tables are out of date."""


@dataclass(frozen=True)
class Settings:
    """Digits of four bits, and what the thesis takes for the leaf set."""

    leaves: int = 32
    """Of a peer: half of them on either side."""
    patience: int = 1
    """Heartbeats that remain unanswered before a parent is given up; with 0 it is noticed at once, as with a connection
    that is refused, and a rendezvous gives way as soon as it meets somebody who is nearer."""

    def __post_init__(self) -> None:
        """Refuse what keeps no tree."""
        if self.leaves < 2 or self.leaves % 2:
            raise ConfigError(f"a leaf set of {self.leaves}: give an even number, 2 at least")
        if self.patience < 0:
            raise ConfigError(f"a patience of {self.patience} heartbeats: give 0 at least")
