"""Consistent hashing: which broker a topic lives on; a broker that comes or goes moves only its own topics."""

from bisect import bisect_right
from collections.abc import Iterable
from hashlib import blake2b

from tidegate.errors import ConfigError

_POINTS = 128


class Ring:
    """Every broker has many points on a circle, and a topic belongs to the first point that follows its own."""

    def __init__(self, brokers: Iterable[str]) -> None:
        """The order of the names does not matter."""
        self.brokers = tuple(sorted(set(brokers)))
        if not self.brokers:
            raise ConfigError("there is no broker: name one at least")
        points = sorted((_point(f"{number}/{broker}"), broker) for broker in self.brokers for number in range(_POINTS))
        self._points = [point for point, _ in points]
        self._owners = [broker for _, broker in points]

    def owner(self, topic: str) -> str:
        """The broker of a topic, the same in every process; takes time logarithmic in the number of brokers."""
        return self._owners[bisect_right(self._points, _point(topic)) % len(self._owners)]


def _point(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
