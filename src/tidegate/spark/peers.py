"""Peers that take what a job offloads: a post is an event of its topic, told to whoever follows that in the overlay.

At least once: a batch that comes again is published again, under the same ids, and peers tell of an id once. That a
peer of the topic has told its reader of an event is known (one that merely carries it has not); that every subscriber
has a peer is not. So what they took waits in the inbox as well, unless the settings say that peers are all there is.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidegate.deliver.ends import Address, read_key
from tidegate.errors import ConfigError
from tidegate.overlay.node.background import BackgroundNode
from tidegate.overlay.node.messages import EVENT_ID_BYTES, Taken
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.profile import MOST_TOPICS, is_topic
from tidegate.overlay.node.settings import ON_LOOPBACK, NodeSettings
from tidegate.spark.seeking import Seeking

_AT_ONCE: Final = 256

Key = tuple[str, str]
"""A topic, and the id of a post."""


@dataclass(frozen=True)
class PeerSettings:
    """How a job meets its peers."""

    join: tuple[Address, ...]
    key_file: Path | None = None
    listen: Address = ON_LOOPBACK
    advertise: Address | None = None
    only: bool = False
    """Whether what peers have taken is not kept in the inbox besides."""
    period_s: float = 1.0
    within_s: float = 5.0
    """How long a batch waits for somebody who follows a topic that is new, if not much was waited lately."""
    longest_s: float = 10.0
    """After so long a batch goes on without peers; what they have not taken waits in the inbox."""

    def __post_init__(self) -> None:
        """Refuse what no peer can be."""
        if not self.join:
            raise ConfigError("to offload to the overlay, name a peer that is there by --overlay-join HOST:PORT")

    def node(self) -> NodeSettings:
        """Return them as a peer takes them; the key is read."""
        key = None if self.key_file is None else read_key(self.key_file, "peers")
        return NodeSettings(self.listen, self.join, key, self.advertise, self.period_s, options="--overlay-")


class Peers:
    """The job's own peer; it follows the topics that are offloaded, in order to publish there."""

    def __init__(self, settings: PeerSettings) -> None:
        """Nothing is opened before the first batch, or `open`."""
        self._settings = settings
        self._node = BackgroundNode(settings.node())
        self._known: OrderedDict[str, None] = OrderedDict()
        """Topics that are carried, the least recently used first."""
        self._seeking = Seeking(settings.within_s)
        self.handed_over = 0

    def open(self) -> None:
        """Start the peer."""
        self._node.open()

    def close(self) -> None:
        """Let it take its leave; if there is another batch, another peer begins anew."""
        self._node.close()
        self._known.clear()
        self._seeking = Seeking(self._settings.within_s)

    def hand_over(self, rows: pa.Table, query: str, batch: int) -> pa.Table:
        """Publish each post once for each of its topics; return the rows that are to wait in the inbox."""
        if len(rows) == 0:
            return rows
        self.open()
        keys: list[Key] = list(zip(rows["served_by"].to_pylist(), rows["id"].to_pylist(), strict=True))
        posts = dict(zip(keys, rows["post"].to_pylist(), strict=True))
        taken = self._node.ask(lambda node: self._told(node, posts))
        is_taken = [key in taken for key in keys]
        self.handed_over += sum(is_taken)
        return rows.filter(pa.array([not one for one in is_taken], pa.bool_())) if self._settings.only else rows

    async def _told(self, node: Node, posts: dict[Key, str]) -> set[Key]:
        """Publish posts, and return those that peers have told their readers of, in bounded time."""
        taken: set[Key] = set()
        room = asyncio.Semaphore(_AT_ONCE)

        async def tell(key: Key) -> None:
            async with room:
                try:
                    done = await node.publish(key[0], _body(key[1], posts[key]), event_id(*key))
                except (ConfigError, ValueError, TypeError, RecursionError):  # too long, or no post
                    return
            if done is Taken.DELIVERED:
                taken.add(key)

        topics, new = self._carried(node, (topic for topic, _ in posts))
        try:
            async with asyncio.timeout(self._settings.longest_s):
                await self._seeking.seek(new, lambda topic: any(node.neighbours(topic)))
                await asyncio.gather(*(tell(key) for key in posts if key[0] in topics))
        except TimeoutError:
            # Peers that are slow leave as many behind as any that are not there: somebody will ask which it was.
            logging.getLogger(__name__).warning(
                "a batch goes on after %g s: of %d events, %d are not known to be told by peers, and wait in the inbox",
                self._settings.longest_s,
                len(posts),
                len(posts) - len(taken),
            )
        return taken

    def _carried(self, node: Node, topics: Iterable[str]) -> tuple[set[str], set[str]]:
        """Follow topics, as many as a peer may, and those least recently used no longer; return which, and new ones."""
        wanted = [topic for topic in dict.fromkeys(topics) if is_topic(topic)][:MOST_TOPICS]
        new = {topic for topic in wanted if topic not in self._known}
        for topic in wanted:
            self._known[topic] = None
            self._known.move_to_end(topic)
        node.unsubscribe(*(self._known.popitem(last=False)[0] for _ in range(len(self._known) - MOST_TOPICS)))
        node.carry(*wanted)
        return set(wanted), new


def event_id(topic: str, post: str) -> bytes:
    """Return the id of the event that a post is to those who follow a topic: the same whoever publishes it."""
    return blake2b(f"{len(topic)}:{topic}{post}".encode(), digest_size=EVENT_ID_BYTES).digest()


def _body(id_: str, post: str) -> bytes:
    return json.dumps({"id": id_, "post": json.loads(post)}, ensure_ascii=False).encode(errors="replace")
