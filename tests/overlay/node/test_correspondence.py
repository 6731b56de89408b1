"""When letters go, and which of those that come are heeded, in a time that goes by when it is told to."""

import pytest

from tests.overlay.node.desk import NASA, Desk, passing, run
from tests.overlay.node.peers import KEY
from tests.overlay.node.profiles import SMALL, Clock, profile
from tidegate.deliver.ends import Address
from tidegate.overlay.node import answers, correspondence
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.answers import Answers
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.haste import AFTER_COMING
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.reading import MalformedError
from tidegate.overlay.node.sealing import RefusedError
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY, Gossip, Settings


def test_who_asks_to_join_when_there_is_no_more_room_leaves_no_trace() -> None:
    async def test() -> None:
        desk = Desk()
        desk.letters._welcome_room = Allowance(3 * correspondence.LEAST_WELCOME, Clock())
        for peer in (5, 6, 7):
            desk.read(Kind.JOIN, Letter(CYCLON, profile(peer, {NASA})))
        with pytest.raises(RefusedError, match="busy"):
            desk.read(Kind.JOIN, Letter(CYCLON, profile(8, {NASA})))
        assert [(kind, to) for kind, to, _ in desk.said] == [(Kind.WELCOME, peer) for peer in (5, 6, 7)]
        assert desk.letters.directory.number(8) is None

    run(test)


def test_welcomes_that_are_long_are_fewer() -> None:
    async def test() -> None:
        desk = Desk()
        desk.letters._welcome_room = Allowance(3 * correspondence.LEAST_WELCOME, Clock())
        desk.read(Kind.JOIN, Letter(CYCLON, profile(5, set(range(1000)))))
        desk.read(Kind.JOIN, Letter(CYCLON, profile(6, {NASA})))
        assert len(desk.said[1][2].to_bytes()) > 3 * correspondence.LEAST_WELCOME
        with pytest.raises(RefusedError, match="busy"):
            desk.read(Kind.JOIN, Letter(CYCLON, profile(7, {NASA})))

    run(test)


@pytest.mark.parametrize("module", [VICINITY, RINGS])
def test_nobody_joins_by_another_module_than_cyclon(module: int) -> None:
    async def test() -> None:
        desk = Desk()
        with pytest.raises(MalformedError):
            desk.read(Kind.JOIN, Letter(module, profile(5, {NASA})))
        assert desk.said == []
        assert desk.letters.directory.number(5) is None

    run(test)


def test_who_knows_nobody_to_write_to_is_not_in_haste_for_ever() -> None:
    async def test() -> None:
        desk = Desk(topics=())
        for _ in range(70):
            desk.read(Kind.OPEN, Letter(CYCLON, profile(5, set())))
            await passing(0.1)
        # Without topics it has no rings.
        assert desk.opened(RINGS) == 0
        assert RINGS not in desk.letters._haste

    run(test)


def test_letters_to_a_neighbour_are_counted_though_cyclon_knows_nobody() -> None:
    async def test() -> None:
        desk = Desk()
        desk.meet(5)
        for _ in range(AFTER_COMING + 10):
            await passing(0.2)
            desk.answer_all()
        assert desk.letters.gossiping.is_alone
        assert desk.opened(RINGS) == AFTER_COMING

    run(test)


def test_who_was_alone_for_long_is_in_haste_when_somebody_comes() -> None:
    async def test() -> None:
        desk = Desk()
        for _ in range(100):
            desk.letters.pass_cycle(())
            await passing(1)
        desk.meet(5)
        await passing(0.1)
        assert desk.opened(RINGS) == 1

    run(test)


@pytest.mark.parametrize(("period_s", "moment_s"), [(1.0, 0.1), (0.2, 0.02)])
def test_letters_in_haste_are_a_moment_apart_however_soon_they_are_answered(period_s: float, moment_s: float) -> None:
    async def test() -> None:
        desk = Desk(period_s=period_s)
        desk.meet(5, 9)
        for many in range(1, 5):
            await passing(0.2 * moment_s)
            assert desk.opened(RINGS) == many
            desk.answer_all()
            await passing(0.85 * moment_s)
            assert desk.opened(RINGS) == many

    run(test)


def test_who_finds_that_a_letter_is_not_answered_makes_haste_and_before_that_it_does_not() -> None:
    async def test() -> None:
        desk = Desk()
        desk.meet(5, 6, 7, 9)
        desk.calm_down()
        desk.letters.pass_cycle(())
        await passing(0.9 * desk.settings.patience_s)
        assert desk.opened() == 3
        await passing(0.2 * desk.settings.patience_s)
        assert desk.opened() > 3

    run(test)


def test_who_finds_somebody_silent_by_events_makes_haste() -> None:
    async def test() -> None:
        desk = Desk()
        desk.meet(5, 6)
        desk.calm_down()
        await passing(10)
        assert desk.opened() == 0
        desk.letters.found_silent(5)
        await passing(0)
        assert {to for _, to, _ in desk.said[2:]} == {6}

    run(test)


def test_a_module_that_gossips_less_often_has_its_turn_less_often() -> None:
    async def test() -> None:
        desk = Desk(gossip=Settings(Gossip(4, 3), Gossip(4, 3, period=2), Gossip(4, 3, period=3)))
        desk.calm_down()
        for _ in range(6):
            desk.meet(5, 6, 7, 9)
            desk.letters.pass_cycle(())
            desk.answer_all()
            await passing(1)
        assert [desk.opened(module) for module in (CYCLON, VICINITY, RINGS)] == [6, 3, 2]

    run(test)


def test_who_asks_for_long_answers_is_answered_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "AT_ONE_PLACE", 3 * answers._LEAST)

    async def test() -> None:
        desk = Desk()
        desk.letters._answers = Answers(Clock())
        for peer in (5, 6, 7, 8):
            desk.letters.gossiping.answer(Letter(CYCLON, profile(peer, set(range(1000)))))
        desk.read(Kind.OPEN, Letter(RINGS, profile(9, set(range(1000)))))
        assert len(desk.said[0][2].to_bytes()) > 2 * answers._LEAST
        desk.read(Kind.OPEN, Letter(RINGS, profile(9, {NASA})))
        with pytest.raises(RefusedError, match="often"):
            desk.read(Kind.OPEN, Letter(RINGS, profile(9, {NASA})))

    run(test)


@pytest.mark.parametrize("kind", [Kind.JOIN, Kind.WELCOME, Kind.OPEN, Kind.ANSWER])
def test_without_a_key_a_letter_that_names_somebody_beyond_this_machine_is_refused(kind: Kind) -> None:
    far = Directory(7, Address("10.1.0.7", 9), SMALL).own
    letter = Letter(CYCLON, profile(5, {NASA}), [(0, profile(6, {NASA})), (0, far)])

    async def test() -> None:
        desk = Desk(key=None)
        with pytest.raises(RefusedError, match="place"):
            desk.read(kind, letter)
        assert len(desk.letters.directory) == 0

    run(test)


def test_with_a_key_others_may_be_anywhere() -> None:
    async def test() -> None:
        desk = Desk(key=KEY)
        far = Directory(7, Address("10.1.0.7", 9), SMALL).own
        desk.read(Kind.OPEN, Letter(CYCLON, profile(5, {NASA}), [(0, far)]))
        assert desk.letters.directory.number(7) is not None

    run(test)
