"""The overlay of section V: core brokers in a chain, each with edge brokers, at which posts arise and are read."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tidegate.errors import ConfigError

Link = tuple[int, int]
"""Two neighbours, in the direction in which posts travel."""

EDGES_OF_A_CORE: Final = 5


@dataclass(frozen=True)
class Chain:
    """Brokers by number: first the cores, along the chain, then the edge brokers of the first core, and so on.

    >>> Chain(4).brokers, Chain(4).path(4, 23)
    (24, [4, 0, 1, 2, 3, 23])
    """

    cores: int
    edges_each: int = EDGES_OF_A_CORE

    def __post_init__(self) -> None:
        """Refuse what is no chain."""
        if self.cores < 1 or self.edges_each < 1:
            raise ConfigError(f"{self.cores} cores with {self.edges_each} edge brokers each: give at least 1 of both")

    @classmethod
    def of(cls, brokers: int) -> "Chain":
        """Return the chain that has so many brokers in all."""
        cores, left = divmod(brokers, EDGES_OF_A_CORE + 1)
        if left or cores < 1:
            raise ConfigError(f"{brokers} brokers: give a multiple of {EDGES_OF_A_CORE + 1}, a core with its edges")
        return cls(cores)

    @property
    def brokers(self) -> int:
        """How many there are in all."""
        return self.cores * (1 + self.edges_each)

    @property
    def edges(self) -> range:
        """The edge brokers."""
        return range(self.cores, self.brokers)

    def core_of(self, edge: int) -> int:
        """Return the core that an edge broker is connected to."""
        return (edge - self.cores) // self.edges_each

    def path(self, source: int, target: int) -> list[int]:
        """Return the brokers on the way from one edge broker to another, both included."""
        first, last = self.core_of(source), self.core_of(target)
        step = 1 if first <= last else -1
        return [source, *range(first, last + step, step), target]

    def links(self, source: int, targets: Collection[int]) -> dict[Link, None]:
        """Return the links on the ways from a source to all of these, each once, those near the source first."""
        ways = [list(pairwise(self.path(source, target))) for target in targets]
        return dict.fromkeys(sorted((link for way in ways for link in way), key=lambda link: _rank(link, source)))

    def spread(self, n: int, sources: Collection[int], each: int | None = None) -> Iterator[int]:
        """Yield the edge brokers of `n` subscribers, evenly over those that are no sources, neighbours together.

        If `each` is given, edge brokers are filled in turn, from the chain's beginning on: no more of them are used
        than it takes for each to have at most so many subscribers.
        """
        free = [edge for edge in self.edges if edge not in sources]
        if not free:
            raise ConfigError(f"all {len(self.edges)} edge brokers are sources: leave one for subscribers")
        free = free if each is None else free[: -(-n // each)]
        for number in range(n):
            yield free[number * len(free) // n]


def _rank(link: Link, source: int) -> tuple[bool, Link]:
    return link[0] != source, link
