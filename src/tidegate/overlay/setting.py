"""How feeds are served: by which of the paper's solutions, with which of its extensions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from tidegate.errors import ConfigError
from tidegate.overlay.borders import Borders, EveryCount
from tidegate.overlay.feeds import Feed

Way = Literal["EDGE", "CHUNK", "B-CHUNK"]
_OF_THE_PAPER: Final = EveryCount(100)


@dataclass(frozen=True)
class Setting:
    """EDGE sends all that is matched, and ranks where it is read; CHUNK sends every stream its own chunks; B-CHUNK lets
    a link carry a post once for all streams.
    """

    way: Way
    borders: Borders = _OF_THE_PAPER
    """Where chunks end; a source may have a rule of its own, and a feed one that goes before both."""
    at_source: Mapping[int, Borders] = field(default_factory=dict)
    cover: bool = False
    """Whether one stream serves all feeds that are alike but for their k."""
    together: int = 1
    """So many chunks in a row does the core next to their source recombine (adaptive rechunking)."""

    def __post_init__(self) -> None:
        """Refuse what cannot be recombined."""
        if self.together < 1:
            raise ConfigError(f"{self.together} chunks to be recombined into one: give at least 1")

    def borders_of(self, source: int, feed: Feed) -> Borders:
        """Return the rule by which a source ends the chunks of a feed."""
        return feed.borders or self.at_source.get(source, self.borders)
