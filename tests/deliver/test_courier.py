"""The courier sends at least once, gives up in the end, and lets no parcel hold up another."""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.courier import Courier
from tidegate.deliver.database import UnreachableError
from tidegate.deliver.outbox import Share
from tidegate.deliver.parcel import Channel, Outcome, Parcel, Result

SECOND = 1_000_000


@dataclass
class MemoryOutbox:
    """What storage does, in memory."""

    waiting: dict[str, tuple[int, Parcel]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    now: int = 0
    lease_s: float = 60
    renewed: int = 0
    taken: set[str] = field(default_factory=set)

    def add(self, parcel: Parcel) -> None:
        self.waiting[parcel.id] = (0, parcel)

    def take(self, limit: int, share: Share) -> Sequence[Parcel]:
        """What is taken is not there for others, until something is heard of it."""
        ready = sorted((at, parcel.id) for at, parcel in self.waiting.values() if at <= self.now)
        parcels = [self.waiting[id_][1] for _, id_ in ready if id_ not in self.taken]
        fits = share.of(parcel.subscriber for parcel in parcels)
        found = [parcel for parcel, is_fit in zip(parcels, fits, strict=True) if is_fit][:limit]
        self.taken |= {parcel.id for parcel in found}
        return found

    def renew(self, parcels: Collection[Parcel]) -> None:
        self.renewed += len(parcels)

    def sent(self, parcel: Parcel) -> None:
        del self.waiting[parcel.id]
        self.log.append(f"{parcel.id} sent")

    def postpone(self, parcel: Parcel, at: int, attempts: int, why: str) -> None:
        self.taken.discard(parcel.id)
        self.waiting[parcel.id] = (at, replace(parcel, attempts=attempts))
        self.log.append(f"{parcel.id} later: {why}")

    def give_up(self, parcel: Parcel, why: str, is_gone: bool) -> None:
        del self.waiting[parcel.id]
        self.log.append(f"{parcel.id} {'gone' if is_gone else 'given up'}: {why}")


@dataclass
class Scripted:
    """A channel that does as it is told, one outcome after the other, and the last for ever."""

    outcomes: Sequence[Outcome | Exception]
    seen: list[str] = field(default_factory=list)

    async def send(self, parcel: Parcel) -> Outcome:
        outcome = self.outcomes[min(len(self.seen), len(self.outcomes) - 1)]
        self.seen.append(parcel.id)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@dataclass
class Scene:
    channels: dict[str, Scripted]
    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)

    def run(self, backoff: Backoff = Backoff(first=SECOND, factor=2, attempts=4)) -> list[int]:  # noqa: B008
        """Until nothing waits; return when something was tried."""
        courier = Courier(self.outbox, self.channels, lambda: self.outbox.now, lambda: 0.5, backoff)
        tried = []
        while self.outbox.waiting:
            self.outbox.now = max(self.outbox.now, min(at for at, _ in self.outbox.waiting.values()))
            tried.append(self.outbox.now)
            asyncio.run(_all_of_a_round(courier))
        return tried


async def _all_of_a_round(courier: Courier) -> None:
    await courier.round()
    await courier.finish()


def parcel(id_: str, channel: str) -> Parcel:
    return Parcel(id_, "ann", channel, {}, ())


LATER = Outcome(Result.LATER, "busy")
SENT = Outcome(Result.SENT)


def test_a_parcel_is_tried_again_until_it_arrives() -> None:
    scene = Scene({"a": Scripted([LATER, LATER, SENT])})
    scene.outbox.add(parcel("1", "a"))
    assert scene.run() == [0, int(0.75 * SECOND), int(2.25 * SECOND)]
    assert scene.outbox.log == ["1 later: busy", "1 later: busy", "1 sent"]


def test_patience_ends() -> None:
    scene = Scene({"a": Scripted([LATER])})
    scene.outbox.add(parcel("1", "a"))
    assert len(scene.run()) == 4
    assert scene.outbox.log[-1] == "1 given up: busy"


def test_what_has_outlived_so_many_senders_is_not_tried_again() -> None:
    """An attempt counts from when it is begun: what kills whoever sends it must not do so for ever."""
    scene = Scene({"a": Scripted([SENT])})
    scene.outbox.add(replace(parcel("1", "a"), attempts=4))
    scene.outbox.add(replace(parcel("2", "a"), attempts=3))
    scene.run()
    assert scene.channels["a"].seen == ["2"]
    assert sorted(scene.outbox.log) == ["1 given up: 4 attempts, and nothing was heard of the last", "2 sent"]


def test_what_was_not_tried_uses_up_no_patience() -> None:
    waiting = Outcome(Result.LATER, "left alone", 60 * SECOND, is_attempt=False)
    scene = Scene({"a": Scripted([waiting] * 10 + [SENT])})
    scene.outbox.add(parcel("1", "a"))
    assert scene.run()[-1] == 600 * SECOND
    assert scene.outbox.log[-1] == "1 sent"


def test_the_other_side_may_ask_for_a_longer_wait() -> None:
    scene = Scene({"a": Scripted([Outcome(Result.LATER, "busy", 90 * SECOND), SENT])})
    scene.outbox.add(parcel("1", "a"))
    assert scene.run() == [0, 90 * SECOND]


def test_addresses_that_are_gone_are_told_apart_from_what_fails() -> None:
    scene = Scene({"a": Scripted([Outcome(Result.GONE, "410")]), "b": Scripted([Outcome(Result.FAILED, "no")])})
    for id_, channel in (("1", "a"), ("2", "b"), ("3", "fax")):
        scene.outbox.add(parcel(id_, channel))
    scene.run()
    assert sorted(scene.outbox.log) == ["1 gone: 410", "2 given up: no", "3 given up: no channel is called 'fax'"]


def test_a_channel_with_a_defect_holds_up_no_other() -> None:
    scene = Scene({"a": Scripted([RuntimeError("defect"), SENT]), "b": Scripted([SENT])})
    scene.outbox.add(parcel("1", "a"))
    scene.outbox.add(parcel("2", "b"))
    scene.run()
    assert sorted(scene.outbox.log) == ["1 later: RuntimeError: defect", "1 sent", "2 sent"]


@dataclass
class Held:
    """A channel whose receiver answers when it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    seen: int = 0

    async def send(self, parcel: Parcel) -> Outcome:
        self.seen += 1
        await self.let.wait()
        return SENT


async def sent(courier: Courier, count: int) -> None:
    """Go on until so many are sent."""
    done = 0
    while done < count:
        done += (await courier.round())[Result.SENT]


async def until_idle(courier: Courier) -> None:
    while courier.is_busy:
        await courier.round()


def within(seconds: float, scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, seconds))


def test_a_parcel_that_takes_long_is_kept_until_it_is_sent() -> None:
    outbox = MemoryOutbox(lease_s=0.06)
    outbox.add(parcel("1", "held"))
    outbox.add(parcel("2", "quick"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"held": held, "quick": Scripted([SENT])}, lambda: 0, lambda: 0.5)
        await sent(courier, 1)
        while outbox.renewed < 3:
            assert not await courier.round()
        assert outbox.log == ["2 sent"]
        renewed = outbox.renewed
        held.let.set()
        await sent(courier, 1)
        assert outbox.renewed <= renewed + 1, "what was sent needs no renewal"
        assert not courier.is_busy

    within(30, scene())


def test_one_that_takes_long_holds_up_no_other() -> None:
    """Neither those that were taken with it nor those that come when it is under way, however many."""
    outbox = MemoryOutbox()
    outbox.add(parcel("slow", "held"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"held": held, "quick": Scripted([SENT])}, lambda: 0, lambda: 0.5, at_once=4)
        for batch in range(5):
            for number in range(10):
                outbox.add(parcel(f"{batch}-{number}", "quick"))
            await sent(courier, 10)
        assert (held.seen, courier.is_busy) == (1, True)
        held.let.set()
        await sent(courier, 1)

    within(30, scene())


def test_a_subscriber_whose_receiver_takes_its_time_leaves_room_for_others() -> None:
    outbox = MemoryOutbox()
    for number in range(9):
        outbox.add(parcel(str(number), "held"))
    outbox.add(replace(parcel("last", "quick"), subscriber="ben"))

    async def scene() -> None:
        held = Held()
        channels: dict[str, Channel] = {"held": held, "quick": Scripted([SENT])}
        courier = Courier(outbox, channels, lambda: 0, lambda: 0.5, at_once=4, share=3)
        await sent(courier, 1)
        assert (outbox.log, held.seen) == (["last sent"], 3)
        held.let.set()
        await sent(courier, 9)

    within(30, scene())


def test_a_few_whose_receivers_take_their_time_do_not_take_all_the_room() -> None:
    """Their parcels have waited longest, and each of the few has no more than its share."""
    outbox = MemoryOutbox()
    for number in range(400):
        outbox.add(replace(parcel(f"a{number:03}", "held"), subscriber=f"slow{number % 4}"))
    for number in range(20):
        outbox.add(replace(parcel(f"b{number:03}", "quick"), subscriber="ben"))

    async def scene() -> None:
        held = Held()
        channels: dict[str, Channel] = {"held": held, "quick": Scripted([SENT])}
        courier = Courier(outbox, channels, lambda: 0, lambda: 0.5)
        await sent(courier, 20)
        assert held.seen >= 48
        held.let.set()
        await sent(courier, 400)

    within(60, scene())


def test_no_more_are_under_way_than_may_be() -> None:
    outbox = MemoryOutbox()
    for number in range(50):
        outbox.add(replace(parcel(str(number), "held"), subscriber=f"s{number}"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"held": held}, lambda: 0, lambda: 0.5, at_once=12)
        for _ in range(3):
            await courier.round()
        assert held.seen == len(outbox.taken) == 12

    within(30, scene())


def test_what_is_under_way_at_the_end_is_waited_for_and_nothing_more_is_taken() -> None:
    outbox = MemoryOutbox()
    for number in range(6):
        outbox.add(parcel(str(number), "held"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"held": held}, lambda: 0, lambda: 0.5, at_once=4)
        await courier.round()
        asyncio.get_running_loop().call_soon(held.let.set)
        assert await courier.finish() == {Result.SENT: 4}
        assert (len(outbox.waiting), courier.is_busy) == (2, False)

    within(30, scene())


def test_an_outcome_that_cannot_be_noted_is_told_and_leaves_the_others_alone() -> None:
    class Unreliable(MemoryOutbox):
        def sent(self, parcel: Parcel) -> None:
            if parcel.id == "1":
                raise UnreachableError("gone fishing")
            super().sent(parcel)

    outbox = Unreliable()
    for number in range(3):
        outbox.add(parcel(str(number), "a"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"a": held}, lambda: 0, lambda: 0.5)
        await courier.round()
        held.let.set()
        with pytest.raises(UnreachableError):
            await until_idle(courier)
        await courier.finish()
        assert (sorted(outbox.log), courier.is_busy) == (["0 sent", "2 sent"], False)

    within(30, scene())


def test_at_the_end_an_outcome_that_cannot_be_noted_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Away(MemoryOutbox):
        def sent(self, parcel: Parcel) -> None:
            raise UnreachableError("gone fishing")

    outbox = Away()
    outbox.add(parcel("1", "held"))

    async def scene() -> None:
        held = Held()
        courier = Courier(outbox, {"held": held}, lambda: 0, lambda: 0.5)
        await courier.round()
        held.let.set()
        assert await courier.finish() == {}

    within(30, scene())
    assert "a parcel may be sent twice: gone fishing" in caplog.text
