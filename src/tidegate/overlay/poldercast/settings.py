"""How large the views of a peer are, how much a letter carries, and how often each module gossips."""

from dataclasses import dataclass, field
from typing import Final

from tidegate.errors import ConfigError

CYCLON, VICINITY, RINGS = range(3)
MODULES: Final = ("cyclon", "vicinity", "rings")
LONGEST_RING_VIEW: Final = 16


@dataclass(frozen=True)
class Gossip:
    """One module's part: the thesis has views of 20 and letters of 10."""

    view: int = 20
    """Peers that are remembered; for Rings, by topic, half of them on either side."""
    letter: int = 10
    """Peers that a letter names at most, whoever sends it included where it is one of them."""
    period: int = 1
    """Cycles from one gossip to the next."""


@dataclass(frozen=True)
class Settings:
    """The three modules' parts. A Vicinity with a view of 0 is left out."""

    cyclon: Gossip = field(default_factory=Gossip)
    vicinity: Gossip = field(default_factory=Gossip)
    rings: Gossip = field(default_factory=lambda: Gossip(view=4))
    as_printed: bool = False
    """Whether peers do what the thesis says and no more, but for the dead, to have its figures beside ours."""

    def __post_init__(self) -> None:
        """Refuse what no overlay can be kept with."""
        for name, part in zip(MODULES, self.parts, strict=True):
            if part.letter < 1 or part.period < 1:
                raise ConfigError(
                    f"{name}: letters of {part.letter} every {part.period} cycles: give at least 1 of each"
                )
        if self.cyclon.view < 2 or self.vicinity.view < 0:
            raise ConfigError(
                f"views of {self.cyclon.view} (cyclon) and {self.vicinity.view} (vicinity): 2, 0 at least"
            )
        if self.rings.view % 2 or not 2 <= self.rings.view <= LONGEST_RING_VIEW:
            raise ConfigError(
                f"{self.rings.view} ring neighbours of a topic: give an even number to {LONGEST_RING_VIEW}"
            )

    @property
    def parts(self) -> tuple[Gossip, Gossip, Gossip]:
        """By module, in the order in which they are numbered."""
        return self.cyclon, self.vicinity, self.rings
