"""What one peer follows, and what for: of some topics it is told, others it merely carries."""

from collections import OrderedDict
from collections.abc import Collection, Iterator

from tidegate.errors import ConfigError
from tidegate.overlay.node.profile import MOST_TOPICS, digest_of


class Interests:
    """Topics by name. What one asks for is followed, or not, until one asks for something else."""

    def __init__(self) -> None:
        """Nothing is followed yet."""
        self._delivers: dict[str, bool] = {}
        self._published_in: OrderedDict[str, None] = OrderedDict()
        """What is carried for no other reason than that, the least recently used first."""
        self.digests: frozenset[int] = frozenset()
        """What stands for the topics in profiles; the same object as long as it is the same topics."""

    def __contains__(self, topic: str) -> bool:
        """Whether a topic is followed."""
        return topic in self._delivers

    def __iter__(self) -> Iterator[str]:
        """Topics that are followed."""
        return iter(self._delivers)

    def is_told(self, topic: str) -> bool:
        """Whether a topic is subscribed to."""
        return self._delivers.get(topic, False)

    def subscribe(self, topics: Collection[str]) -> None:
        """Follow topics, and be told of what is published there."""
        self._ask({**self._delivers, **dict.fromkeys(topics, True)}, topics)

    def carry(self, topics: Collection[str]) -> None:
        """Follow topics, without being told of those that are not subscribed to."""
        self._ask({**dict.fromkeys(topics, False), **self._delivers}, topics)

    def unsubscribe(self, topics: Collection[str]) -> None:
        """Follow topics no longer."""
        dropped = set(topics)
        self._ask({name: told for name, told in self._delivers.items() if name not in dropped}, dropped)

    def publish_in(self, topic: str) -> None:
        """Carry a topic, if need be in place of the one that was longest not published in.

        >>> interests = Interests()
        >>> interests.carry([f"topic {number}" for number in range(MOST_TOPICS - 1)])
        >>> interests.publish_in("nasa")
        >>> interests.publish_in("esa")
        >>> "nasa" in interests, "esa" in interests, "topic 0" in interests
        (False, True, True)
        """
        if topic not in self:
            if len(self._delivers) >= MOST_TOPICS and self._published_in:
                self.unsubscribe([next(iter(self._published_in))])
            self.carry([topic])
            self._published_in[topic] = None
        elif topic in self._published_in:
            self._published_in.move_to_end(topic)

    def _ask(self, delivers: dict[str, bool], topics: Collection[str]) -> None:
        digests = frozenset(map(digest_of, delivers))
        if len(digests) > MOST_TOPICS:
            raise ConfigError(f"{len(digests):,} topics: a peer follows {MOST_TOPICS:,} at most: unsubscribe from some")
        self._delivers = delivers
        if digests != self.digests:
            self.digests = digests
        for topic in topics:
            self._published_in.pop(topic, None)
