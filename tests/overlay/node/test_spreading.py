"""Copies to one peer: so many at once, tried again if they were sent, and given up if nothing comes from there."""

import asyncio
from collections.abc import Collection
from itertools import count

import numpy as np
import pytest

from tests.overlay.node.peers import until
from tidegate.deliver.ends import Address
from tidegate.overlay.node import spreading
from tidegate.overlay.node.messages import Event, Taken
from tidegate.overlay.node.profile import Profile
from tidegate.overlay.node.spreading import Spreading

TRIES = 3
NOTHING = np.zeros(0, np.uint64), np.zeros(0, np.int8), np.zeros((0, 2), np.uint8)


class World:
    """Peers that are named, in order of preference, and what each was sent."""

    def __init__(self, *peers: int, at_once: int = 1) -> None:
        self.peers, self.at_once = peers, at_once
        self.has_room, self.speaks = True, False
        self.sent: list[tuple[int, int, bytes]] = []
        self.silent: list[int] = []
        self.numbers = count(1)
        self.spreading = Spreading(self.receivers, self.send, self.silent.append, first_s=0.01, tries=TRIES)

    def receivers(self, _: Event, sender: int | None, without: Collection[int]) -> list[Profile]:
        chosen = [peer for peer in self.peers if peer != sender and peer not in without][: self.at_once]
        return [Profile.of(peer, 1, Address("127.0.0.1", peer), *NOTHING) for peer in chosen]

    def send(self, event: Event, to: Profile) -> int | None:
        if not self.has_room:
            return None
        self.sent.append((to.id, number := next(self.numbers), event.id))
        if self.speaks:
            asyncio.get_running_loop().call_soon(self.spreading.heard, to.id)
        return number

    def spread(self, many: int) -> list[asyncio.Future[Taken]]:
        return [self.spreading.spread(Event(b"%16d" % number, "nasa", b"news")) for number in range(many)]

    def acknowledge(self, peer: int) -> None:
        for to, number, _ in list(self.sent):
            if to == peer:
                self.spreading.receipt(number, peer, Taken.DELIVERED)


def test_a_peer_is_sent_so_many_at_once_and_the_next_when_it_has_taken_some() -> None:
    async def run() -> None:
        world = World(1)
        futures = world.spread(100)
        assert len({id_ for _, _, id_ in world.sent}) == spreading._WINDOW
        while len(world.spreading):
            world.acknowledge(1)
        assert all([await future for future in futures])
        assert {id_ for _, _, id_ in world.sent} == {b"%16d" % number for number in range(100)}
        assert not world.spreading._lines
        assert not world.spreading._awaited

    asyncio.run(run())


def test_who_says_nothing_is_silent_once_and_others_are_sent_all_that_was_for_it() -> None:
    async def run() -> None:
        world = World(1, 2)
        futures = world.spread(100)
        while len(world.spreading):
            await asyncio.sleep(0.005)
            world.acknowledge(2)
        assert all([await future for future in futures])
        assert world.silent == [1]

    asyncio.run(run())


def test_who_is_heard_of_is_not_silent_and_is_asked_until_it_takes_the_event() -> None:
    async def run() -> None:
        world = World(1)
        world.speaks = True
        (future,) = world.spread(1)
        await until(lambda: len(world.sent) >= 3 * TRIES, "it is asked often")
        assert world.silent == []
        world.acknowledge(1)
        assert await future

    asyncio.run(run())


def test_who_is_heard_of_but_takes_nothing_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_LONGEST_S", 0.2)

    async def run() -> None:
        world = World(1)
        world.speaks = True
        futures = world.spread(100)
        await until(lambda: not len(world.spreading), "all are given up")
        assert not any([await future for future in futures])
        assert world.silent == [1]

    asyncio.run(run())


def test_a_try_for_which_there_was_no_room_does_not_count() -> None:
    async def run() -> None:
        world = World(1)
        world.has_room = False
        (future,) = world.spread(1)
        (copy,) = world.spreading._lines[1].sent
        waits: set[object] = set()

        def has_waited() -> bool:
            waits.add(copy.timer)
            return len(waits) > 2 * TRIES

        await until(has_waited, "it waits again and again")
        assert world.silent == []
        world.has_room = True
        await until(lambda: bool(world.sent), "it is sent")
        world.acknowledge(1)
        assert await future

    asyncio.run(run())


def test_nobody_is_silent_to_whom_nothing_could_be_sent_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_LONGEST_S", 0.1)

    async def run() -> None:
        world = World(1, 2)
        world.has_room = False
        (future,) = world.spread(1)
        assert not await future
        assert world.silent == []

    asyncio.run(run())


def test_what_was_for_who_has_left_goes_to_somebody_else_at_once() -> None:
    async def run() -> None:
        world = World(1, 2)
        world.spread(3)
        world.spreading.leave(1)
        assert [to for to, _, _ in world.sent] == [1, 1, 1, 2, 2, 2]
        world.spreading.close()

    asyncio.run(run())


def test_nothing_is_under_way_after_the_end() -> None:
    async def run() -> None:
        world = World(1)
        (before,) = world.spread(1)
        world.spreading.close()
        (after,) = world.spread(1)
        assert not await before
        assert not await after
        assert len(world.spreading) == 0
        assert len(world.sent) == 1

    asyncio.run(run())
