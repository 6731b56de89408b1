"""The clock of a peer tells the time, however often it gossips: ages mean the same to all, and the dead stay dead."""

import pytest

from tests.overlay.node.profiles import HERE, SMALL, Clock, profile
from tidegate.overlay.node.directory import ME, Directory
from tidegate.overlay.node.gossiping import NOON, TICK_S, Gossiping
from tidegate.overlay.node.messages import OLDEST, Letter
from tidegate.overlay.poldercast.entries import MET, heard, peer_in
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY
from tidegate.workload.alias import random_state

SECOND = round(1 / TICK_S)


def peer(id_: int, clock: Clock) -> Gossiping:
    """One that follows topic 10."""
    gossiping = Gossiping(Directory(id_, HERE, SMALL), SMALL, random_state(id_), clock)
    gossiping.directory.follow([10])
    return gossiping


def ages(letter: Letter) -> dict[int, int]:
    return {one.id: age for age, one in letter.named}


@pytest.mark.parametrize("cycles", [2, 200], ids=["seldom", "often"])
def test_an_age_is_a_time_however_often_a_peer_gossips(cycles: int) -> None:
    clock = Clock()
    one = peer(1, clock)
    one.answer(Letter(RINGS, profile(5, {10})))
    for _ in range(cycles):
        clock.now += 2 / cycles
        one.pass_cycle()
    assert abs(ages(one.answer(Letter(RINGS, profile(6, {10}))))[5] - 2 * SECOND) <= 1


def test_news_that_is_older_than_a_silence_is_not_believed_of_whoever_gossips_less_often() -> None:
    clock = Clock()
    hasty, calm = peer(1, clock), peer(2, clock)
    for one in (hasty, calm):
        one.answer(Letter(RINGS, profile(5, {10})))
    clock.now += 5
    hasty.forget(5)
    for cycle in range(40):
        clock.now += 0.25
        hasty.pass_cycle()
        if cycle % 4 == 0:
            calm.pass_cycle()
    told = calm.answer(Letter(RINGS, profile(1, {10})))
    assert 5 in ages(told)
    hasty.answer(told)
    assert hasty.neighbours(10) == ([2], [2])
    # What is later than the silence is.
    calm.answer(Letter(RINGS, profile(5, {10})))
    hasty.answer(calm.answer(Letter(RINGS, profile(1, {10}))))
    assert 5 in hasty.neighbours(10)[0]


def test_a_clock_that_has_no_room_for_more_is_set_back_with_all_that_was_told_by_it() -> None:
    clock = Clock()
    one = peer(1, clock)
    one.answer(Letter(RINGS, profile(7, {10})))
    clock.now += NOON * TICK_S - 3
    for other in (5, 9):
        one.answer(Letter(RINGS, profile(other, {10})))
    one.forget(9)
    clock.now += 5
    told = one.answer(Letter(RINGS, profile(8, {10}), [(6 * SECOND, profile(9, {10}))]))
    assert one.directory.nodes.clock[ME] < NOON + 10 * SECOND
    # Who was not heard of for longer is as old as can be.
    assert abs(ages(told)[5] - 5 * SECOND) <= 1
    assert ages(told)[7] == NOON
    assert one.neighbours(10) == ([5, 7], [8, 7])


@pytest.mark.parametrize("part", ["cyclon", "vicinity", "rings"])
def test_who_is_in_a_view_is_as_old_when_the_clock_was_set_back(part: str) -> None:
    clock = Clock()
    one = peer(1, clock)
    clock.now += NOON * TICK_S - 3
    for module in (CYCLON, VICINITY, RINGS):
        one.answer(Letter(module, profile(5, {10})))
    clock.now += 5
    one.open(RINGS)
    nodes = one.directory.nodes
    view = getattr(nodes, part)[0]
    assert nodes.clock[ME] < NOON + 10 * SECOND
    assert view[0] >= 0
    assert abs(nodes.clock[ME] - heard(view[0]) - 5 * SECOND) <= 1


@pytest.mark.parametrize(("age_s", "is_believed"), [(4, True), (6, False)])
def test_what_is_later_than_a_silence_is_believed_when_the_clock_was_set_back(age_s: int, is_believed: bool) -> None:
    clock = Clock()
    one = peer(1, clock)
    one.answer(Letter(RINGS, profile(9, {10})))
    clock.now += NOON * TICK_S - 3
    one.forget(9)
    clock.now += 5
    one.answer(Letter(RINGS, profile(8, {10}), [(age_s * SECOND, profile(9, {10}))]))
    assert one.directory.nodes.clock[ME] < NOON + 10 * SECOND
    assert (9 in one.neighbours(10)[0]) is is_believed


def test_a_letter_tells_ages_as_of_when_it_is_opened() -> None:
    clock = Clock()
    one = peer(1, clock)
    for other in (5, 6):
        one.answer(Letter(CYCLON, profile(other, {10})))
    clock.now += 2
    opened = one.open(CYCLON)
    assert opened is not None
    to, letter = opened
    (other,) = {5, 6} - {to.id}
    assert abs(ages(letter)[other] - 2 * SECOND) <= 1


def test_a_letter_says_of_its_sender_what_is_so_when_it_is_opened() -> None:
    one = peer(1, Clock())
    one.pass_cycle()
    one.answer(Letter(RINGS, profile(5, {10})))
    opened = one.open(RINGS)
    assert opened is not None
    assert opened[1].sender.held.tolist() == one.directory.nodes.held[:1].tolist() != [0]


def test_no_age_that_anybody_tells_is_before_all_time_or_makes_a_stranger_met() -> None:
    clock = Clock()
    one = peer(1, clock)
    said = Letter(CYCLON, profile(6, set()), [(OLDEST, profile(5, set()))]).to_bytes()
    at = said.index(OLDEST.to_bytes(4))
    letter = Letter.from_bytes(said[:at] + b"\xff" * 4 + said[at + 4 :], 3)
    assert ages(letter) == {5: OLDEST}
    one.answer(letter)
    view = one.directory.nodes.cyclon[ME]
    entry = next(entry for entry in view[view >= 0] if peer_in(entry) == one.directory.number(5))
    assert 0 <= entry < MET
    assert heard(entry) == one.directory.nodes.clock[ME] - OLDEST
