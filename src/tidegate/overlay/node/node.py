"""A peer on real sockets: it joins, follows topics, publishes, and tells of what is published."""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import AsyncIterator, Collection
from typing import Any, Final

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.channels import CONNECTION_S
from tidegate.overlay.node.correspondence import Correspondence, check_places
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.interests import Interests
from tidegate.overlay.node.messages import Event, Kind, Receipt, Taken
from tidegate.overlay.node.profile import Profile, digest_of
from tidegate.overlay.node.sealing import Opened, RefusedError
from tidegate.overlay.node.seen import Seen
from tidegate.overlay.node.settings import NodeSettings, places_of
from tidegate.overlay.node.spreading import Spreading
from tidegate.overlay.node.unread import Delivered, Unread
from tidegate.overlay.node.voice import Voice

# By so many of those whom it knew a peer joins that takes another id.
_ACQUAINTANCES: Final = 8
_LOOK_S: Final = 0.05
_LONGEST_FAREWELL_S: Final = 2.0


class Node:
    """An asynchronous context: it listens and gossips within, and takes its leave at the end.

    All of it belongs to one event loop. The id is drawn at every start, and when the clock was put back: a peer that
    comes back is another one.
    """

    def __init__(self, settings: NodeSettings | None = None) -> None:
        """Nothing is opened yet."""
        self.settings = settings or NodeSettings()
        self.counters = Counters()
        self.id = _drawn_id()
        self._interests = Interests()
        self._followed = self._interests.digests
        self._voice = Voice(self.id, self.settings.key, self.counters, self._understand)
        self._seen, self._unread = Seen(), Unread()
        self._spreading = Spreading(
            self._receivers,
            self._send_event,
            self._is_silent,
            first_s=self.settings.first_receipt_s,
            tries=self.settings.tries,
        )
        self._joins: tuple[Address, ...] = ()
        self._task: asyncio.Task[None] | None = None
        self._letters: Correspondence

    async def __aenter__(self) -> "Node":
        """Listen, and begin to join."""
        loop = asyncio.get_running_loop()
        listen, self._joins, told = await loop.run_in_executor(None, places_of, self.settings)
        at = await self._voice.carrier.open(listen)
        if self.settings.advertise is not None:
            at = Address(told.host, told.port or at.port)
        self._begin(at)
        self._task = asyncio.create_task(self._live())
        self._task.add_done_callback(_say_why)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Pass on what is under way, say farewell, and end; at once if that is cancelled."""
        longest_s = CONNECTION_S
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
                self._letters.close()
            patience = time.monotonic() + _LONGEST_FAREWELL_S
            while len(self._spreading) and time.monotonic() < patience:
                await asyncio.sleep(_LOOK_S)
        except asyncio.CancelledError:
            longest_s = 0.0
            raise
        finally:
            for profile in self._letters.gossiping.everybody():
                self._voice.say(Kind.LEAVE, profile.id, profile.address, b"")
            self._spreading.close()
            try:
                await self._voice.carrier.close(longest_s)
            finally:
                self._unread.end()

    @property
    def address(self) -> Address:
        """Where others reach it."""
        return self._letters.directory.address

    @property
    def topics(self) -> list[str]:
        """What it is subscribed to."""
        return sorted(filter(self._interests.is_told, self._interests))

    def subscribe(self, *topics: str) -> None:
        """Follow topics, and be told of what is published there by others."""
        self._interests.subscribe(topics)
        self._follow()

    def carry(self, *topics: str) -> None:
        """Follow topics without being told: in order to publish there, or to help."""
        self._interests.carry(topics)
        self._follow()

    def unsubscribe(self, *topics: str) -> None:
        """Follow topics no longer."""
        self._interests.unsubscribe(topics)
        self._follow()

    async def publish(self, topic: str, body: bytes | str, id_: bytes | None = None, within_s: float = 0.0) -> Taken:
        """Tell all who follow a topic; return what those next to this peer have done with the event.

        That is known as soon as one has told its reader, or else when all have answered: then it is carried, if any
        passes it on, perhaps to readers. It is false if nobody is found who follows the topic, `within_s` seconds long.
        A topic that is not followed here is carried from now on, as long as there is room for it among others. The same
        id (16 bytes) is the same event: no peer is told of it twice, as far as it remembers (the last 65,536).
        """
        event = Event.of(topic, body, id_)
        if not self._is_there:
            raise ConfigError("a peer publishes after it has begun and before it leaves: within `async with`")
        self._interests.publish_in(topic)
        self._follow()
        deadline = time.monotonic() + within_s
        self._seen.add(event.id)
        self._unread.skip(event.id)
        self.counters.published += 1
        while not (taken := await self._published(event)) and self._is_there and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_S)
        return taken

    def events(self) -> AsyncIterator[Delivered]:
        """Tell of events as they come, each once, until the peer has left; for one reader."""
        return self._unread.events()

    def neighbours(self, topic: str) -> tuple[list[int], list[int]]:
        """Return the ids of successors and predecessors in a ring, nearest first."""
        return self._letters.gossiping.neighbours(digest_of(topic))

    def status(self) -> dict[str, Any]:
        """Return who it is, whom it knows, and what it has done."""
        rings = {name: self.neighbours(name) for name in self._interests}
        return {
            "id": f"{self.id:016x}",
            "address": str(self.address),
            "topics": {name: len({*after, *before}) for name, (after, before) in rings.items()},
            "known": len(self._letters.directory),
            "spreading": len(self._spreading),
            "crowded": self._letters.directory.crowded,
            **self.counters.to_json(),
        }

    @property
    def _is_there(self) -> bool:
        return self._task is not None and not self._task.done()

    def _follow(self) -> None:
        """Let the rings be those of what is followed, if the peer has begun."""
        if self._task is not None and self._followed is not self._interests.digests:
            self._followed = self._interests.digests
            self._letters.directory.follow(self._followed)

    async def _published(self, event: Event) -> Taken:
        while self._spreading.is_full:
            await asyncio.sleep(_LOOK_S)
        return await self._spreading.spread(event)

    def _begin(self, at: Address) -> None:
        """Be a peer that knows nobody yet."""
        directory = Directory(self.id, at, self.settings.gossip)
        self._followed = self._interests.digests
        directory.follow(self._followed)
        self._letters = Correspondence(self.settings, directory, self._voice.say, self._spreading.is_sending)

    def _begin_anew(self) -> None:
        """Be another peer: others would not heed this one before the time at which it last spoke."""
        logging.getLogger(__name__).warning("the clock was put back: the peer joins anew, by another id")
        known = [profile.address for profile in self._letters.gossiping.everybody()[:_ACQUAINTANCES]]
        self._joins = tuple(dict.fromkeys((*self._joins[: len(self.settings.join)], *known)))
        self.id = _drawn_id()
        self._voice.change(self.id)
        self._letters.close()
        self._begin(self.address)

    async def _live(self) -> None:
        """Gossip, cycle by cycle, each a little longer or shorter than the last: peers are not to march in step."""
        while True:
            if self._voice.seal.is_ahead:
                self._begin_anew()
            self._letters.pass_cycle(self._joins)
            await asyncio.sleep(self.settings.period_s * random.uniform(0.9, 1.1))

    def _understand(self, opened: Opened) -> None:
        """Do what a message asks for; `MalformedError` if it means nothing, or is not heeded."""
        self._spreading.heard(opened.sender)
        match opened.kind:
            case Kind.EVENT:
                self._hear(*Event.from_bytes(opened.body), opened)
            case Kind.RECEIPT:
                receipt = Receipt.from_bytes(opened.body)
                if not self._spreading.receipt(receipt.number, opened.sender, receipt.taken):
                    raise RefusedError("late")
            case Kind.LEAVE:
                self._letters.gossiping.forget(opened.sender)
                self._spreading.leave(opened.sender)
            case _:
                self._letters.read(opened)

    def _hear(self, event: Event, receipt_to: Address, opened: Opened) -> None:
        check_places(self.settings, receipt_to)
        follows = event.topic in self._interests
        if follows and event.id not in self._seen and self._spreading.is_full:
            # No receipt: the sender tries again.
            raise RefusedError("busy")
        taken = Taken.NO
        if follows:
            taken = Taken.DELIVERED if self._interests.is_told(event.topic) and self._deliver(event) else Taken.CARRIED
        self._voice.say(Kind.RECEIPT, opened.sender, receipt_to, Receipt(opened.number, taken).to_bytes())
        if not follows:
            raise RefusedError("topic")
        if not self._seen.add(event.id):
            self.counters.repeated += 1
            return
        self._spreading.spread(event, opened.sender)

    def _deliver(self, event: Event) -> bool:
        """Keep an event for the reader, unless it is; return whether there was room. What had none may come again."""
        if event.id in self._unread:
            return True
        if self._unread.is_full:
            self.counters.overflowed += event.id not in self._seen
            return False
        self.counters.delivered += 1
        self._unread.put(event)
        return True

    def _receivers(self, event: Event, sender: int | None, without: Collection[int]) -> list[Profile]:
        return self._letters.gossiping.receivers(digest_of(event.topic), sender, without, self.settings.fan_out)

    def _send_event(self, event: Event, to: Profile) -> int | None:
        return self._voice.say(Kind.EVENT, to.id, to.address, event.to_bytes(self.address))

    def _is_silent(self, peer: int) -> None:
        self.counters.silent += 1
        self._letters.found_silent(peer)


def _drawn_id() -> int:
    return secrets.randbelow((1 << 64) - 1) + 1


def _say_why(task: asyncio.Task[None]) -> None:
    """A peer that gossips no more is soon forgotten by all: nobody would know why."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logging.getLogger(__name__).error("the peer has ceased to gossip", exc_info=error)
