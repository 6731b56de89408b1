"""Nobody makes a peer answer without end, at one place or at many; and no peer that is one comes near that."""

import asyncio
from contextlib import suppress

import pytest

from tests.overlay.node.peers import KEY, overlay, say, until
from tests.overlay.node.profiles import Clock, profile
from tidegate.deliver.ends import Address
from tidegate.overlay.node import answers
from tidegate.overlay.node.answers import AT_ALL, AT_ONE_PLACE, Answers
from tidegate.overlay.node.haste import AFTER_COMING, AFTER_SILENCE
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.sealing import RefusedError, Seal
from tidegate.overlay.poldercast.settings import MODULES, RINGS

PLACES = [Address("127.0.0.1", port) for port in range(1, 20_000)]


def answered(given: Answers, places: list[Address], size: int = 0) -> int:
    """How many of these are answered, one after the other, before one is refused."""
    for number, place in enumerate(places):
        try:
            given.check(place)
        except RefusedError:
            return number
        given.count(place, size)
    return len(places)


def test_one_place_is_answered_so_often_a_second_and_others_all_the_same() -> None:
    clock = Clock()
    given = Answers(clock)
    often = answered(given, PLACES[:1] * 10_000)
    assert AFTER_COMING * len(MODULES) + AFTER_SILENCE * len(MODULES) + 3 / 0.01 < often <= 512
    with pytest.raises(RefusedError, match="often"):
        given.check(PLACES[0])
    assert answered(given, PLACES[1:2]) == 1
    clock.now += 0.5
    assert answered(given, PLACES[:1] * 10_000) == often / 2


def test_longer_answers_are_fewer() -> None:
    size = 1 << 18
    assert answered(Answers(Clock()), PLACES[:1] * 10_000, size) == AT_ONE_PLACE // size


def test_answers_that_are_long_stay_few_as_time_goes_by() -> None:
    clock, size, seconds = Clock(), 1 << 18, 3
    given, many = Answers(clock), 0
    for _ in range(1000 * seconds):
        many += answered(given, PLACES[:1], size)
        clock.now += 0.001
    assert many <= (1 + seconds) * AT_ONE_PLACE // size + 1


def test_all_places_together_have_a_bound_and_no_more_are_remembered_than_it_takes() -> None:
    clock = Clock()
    given = Answers(clock)
    assert answered(given, PLACES) * answers._LEAST == AT_ALL
    with pytest.raises(RefusedError, match="busy"):
        given.check(PLACES[-1])
    for _ in range(4):
        clock.now += 1
        answered(given, PLACES[5000:])
        answered(given, PLACES)
    assert len(given._at_place) <= answers._MOST_PLACES


def test_no_place_is_answered_more_often_for_all_that_others_ask() -> None:
    clock = Clock()
    given, many = Answers(clock), 0
    for _ in range(20):
        clock.now += 0.1
        many += answered(given, PLACES[:1] * 10_000)
        for place in PLACES[1:6000]:
            with suppress(RefusedError):
                given.check(place)
    assert many * answers._LEAST <= (1 + 2) * AT_ONE_PLACE


def test_who_opens_gossips_without_end_is_not_answered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "AT_ONE_PLACE", 5 * answers._LEAST)

    async def run() -> None:
        async with overlay({"nasa"}) as (victim,):
            # No time goes by.
            victim._letters._answers = Answers(lambda: 0.0)
            letter, seal = Letter(RINGS, profile(77, set())).to_bytes(), Seal(77, KEY)
            say(victim.address, *(seal.sealed(Kind.OPEN, victim.id, letter)[1] for _ in range(100)))
            await until(lambda: victim.counters.refused == {"often": 95}, "it is counted")
            assert victim.counters.sent["answer"] == 5

    asyncio.run(run())
