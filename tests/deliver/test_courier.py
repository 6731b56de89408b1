"""The courier sends at least once, gives up in the end, and lets no parcel hold up another."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from tidegate.deliver.backoff import Backoff
from tidegate.deliver.courier import Courier
from tidegate.deliver.parcel import Outcome, Parcel, Result

SECOND = 1_000_000


@dataclass
class MemoryOutbox:
    """What storage does, in memory."""

    waiting: dict[str, tuple[int, Parcel]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    now: int = 0
    lease_s: float = 60
    renewed: int = 0

    def add(self, parcel: Parcel) -> None:
        self.waiting[parcel.id] = (0, parcel)

    def take(self, limit: int, busy: Collection[str]) -> Sequence[Parcel]:
        ready = sorted(
            (at, parcel.id) for at, parcel in self.waiting.values() if at <= self.now and parcel.subscriber not in busy
        )
        return [self.waiting[id_][1] for _, id_ in ready[:limit]]

    def renew(self, parcels: Collection[Parcel]) -> None:
        self.renewed += len(parcels)

    def sent(self, parcel: Parcel) -> None:
        del self.waiting[parcel.id]
        self.log.append(f"{parcel.id} sent")

    def postpone(self, parcel: Parcel, at: int, attempts: int, why: str) -> None:
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
            asyncio.run(courier.round())
        return tried


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
class Slow:
    """A channel that takes its time."""

    seconds: float

    async def send(self, parcel: Parcel) -> Outcome:
        await asyncio.sleep(self.seconds)
        return SENT


def test_a_parcel_that_takes_long_is_kept_until_it_is_sent() -> None:
    outbox = MemoryOutbox(lease_s=0.06)
    outbox.add(parcel("1", "a"))
    outbox.add(parcel("2", "b"))
    courier = Courier(outbox, {"a": Slow(0.2), "b": Slow(0)}, lambda: 0, lambda: 0.5)
    assert asyncio.run(courier.round()) == {Result.SENT: 2}
    assert 2 <= outbox.renewed <= 10, "the one that was sent at once needs no renewal"


def test_a_subscriber_whose_receiver_takes_its_time_leaves_room_for_others() -> None:
    outbox = MemoryOutbox()
    for number in range(9):
        outbox.add(parcel(str(number), "slow"))
    outbox.add(replace(parcel("last", "quick"), subscriber="ben"))

    async def side_by_side() -> str:
        courier = Courier(outbox, {"slow": Slow(0.3), "quick": Slow(0)}, lambda: 0, lambda: 0.5, at_once=4, share=4)
        first = asyncio.create_task(courier.round())
        await asyncio.sleep(0.1)
        assert await courier.round() == {Result.SENT: 1}
        log = list(outbox.log)
        await first
        assert await courier.round() == {Result.SENT: 4}, "when it is done it has its turn again"
        return log[0]

    assert asyncio.run(side_by_side()) == "last sent"
