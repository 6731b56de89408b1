"""Links with delays, and the clock of a simulation."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf

from tidegate.overlay.chain import Link


@dataclass(frozen=True)
class Links:
    """How fast links are; all keep the order of what they carry."""

    delay: Callable[[], float] = lambda: 0.01
    """Seconds that something takes from one broker to the next, once it is sent."""
    rate: float = inf
    """Publications a second, beyond which they queue. Ids take no time."""


@dataclass
class Network:
    """Lets things travel, and counts them."""

    links: Links
    now: float = 0.0
    publications: Counter[Link] = field(default_factory=Counter)
    nbytes: Counter[Link] = field(default_factory=Counter)
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _free: dict[Link, float] = field(default_factory=dict)
    _last: dict[Link, float] = field(default_factory=dict)

    def at(self, time: float, do: Callable[[], None]) -> None:
        """Do something later; what is due at the same time is done in the order of being asked for."""
        heappush(self._due, (time, next(self._numbers), do))

    def send(self, link: Link, arrive: Callable[[], None], *, publication: bool, nbytes: int = 0) -> None:
        """Let something travel over a link, behind all that was sent before."""
        self.publications[link] += publication
        self.nbytes[link] += nbytes
        sent = max(self.now, self._free.get(link, 0.0)) + publication / self.links.rate
        self._free[link] = sent
        self._last[link] = max(self._last.get(link, 0.0), sent + self.links.delay())
        self.at(self._last[link], arrive)

    def run(self) -> None:
        """Go on until nothing is under way."""
        while self._due:
            self.now, _, do = heappop(self._due)
            do()
