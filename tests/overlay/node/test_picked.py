"""A reader is told the best of every window, when it is complete, whatever else happens meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.overlay.node.picked import Picking, picked
from tidegate.overlay.node.unread import Delivered
from tidegate.rank.event import Event
from tidegate.rank.ranking import TimeWindows
from tidegate.rank.windows import Windows


def delivered(number: int, score: int) -> Delivered:
    return Delivered("nasa", b'{"score": %d}' % score, number.to_bytes(16))


@given(st.lists(st.integers(-3, 3), max_size=300), st.integers(1, 4), st.integers(1, 60), st.integers(1, 60))
def test_windows_by_count_are_those_of_who_knows_all_events(scores: list[int], k: int, width: int, shift: int) -> None:
    windows = Windows(min(k, width), width, min(shift, width))
    events = [delivered(number, score) for number, score in enumerate(scores)]

    async def all_of_them() -> AsyncIterator[Delivered]:
        for event in events:
            yield event

    async def run() -> list[bytes]:
        # It is as late all the time: of two that are alike the lower id is the better.
        return [event.id async for event in picked(all_of_them(), Picking(windows), lambda: 0.0)]

    known = [Event(event.id.hex(), score) for event, score in zip(events, scores, strict=True)]
    assert [id_.hex() for id_ in asyncio.run(run())] == [one.id for one in windows.delivered(known)]


class _Loop(asyncio.SelectorEventLoop):
    """Whose time is that of its clock: it goes on at once to when something is due."""

    now = 1000.0

    def time(self) -> float:
        return self.now


def test_windows_of_time_end_by_the_clock_though_nothing_comes() -> None:
    told: list[tuple[float, int]] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, _Loop)
        queue: asyncio.Queue[Delivered | None] = asyncio.Queue()

        async def coming() -> AsyncIterator[Delivered]:
            while (event := await queue.get()) is not None:
                yield event

        async def read() -> None:
            picking = Picking(TimeWindows(1, 10_000_000, 10_000_000))
            async for event in picked(coming(), picking, lambda: loop.now):
                told.append((loop.now, int.from_bytes(event.id)))

        reading = asyncio.create_task(read())
        for number, (seconds, score) in enumerate([(3, 5), (3, 9), (3, 1), (8, 2), (30, 4)]):
            await passing(loop, seconds)
            queue.put_nowait(delivered(number, score))
        await passing(loop, 1)
        queue.put_nowait(None)
        await reading

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(run())
    assert [number for _, number in told] == [1, 3, 4]
    assert [round(when) for when, _ in told] == [1010, 1020, 1048]


async def passing(loop: _Loop, seconds: float) -> None:
    """Let time go by in small steps, with all done that is due."""
    for _ in range(round(10 * seconds)):
        loop.now += 0.1
        for _ in range(5):
            await asyncio.sleep(0)


def test_a_clock_that_is_put_back_loses_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(times)))

    async def falling() -> AsyncIterator[Delivered]:
        for number in range(40):
            await asyncio.sleep(0.002)
            yield delivered(number, 1)

    async def run() -> int:
        return len([event async for event in picked(falling(), Picking(TimeWindows(100, 10_000, 10_000)))])

    assert asyncio.run(run()) == 40


def test_no_more_events_are_kept_than_can_be_the_best() -> None:
    kept: list[int] = []

    async def run() -> None:
        async def rising() -> AsyncIterator[Delivered]:
            for number in range(5000):
                yield delivered(number, number)

        generator = picked(rising(), Picking(Windows(1, 1000, 1000)), lambda: 0.0)
        async for _ in generator:
            frame = generator.ag_frame  # type: ignore[attr-defined]
            kept.append(len(frame.f_locals["kept"]))

    asyncio.run(run())
    assert len(kept) == 5
    assert max(kept) < 100
