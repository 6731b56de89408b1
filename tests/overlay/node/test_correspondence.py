"""When letters go, and which of those that come are heeded, in a time that goes by when it is told to."""

import pytest

from tests.overlay.node.desk import NASA, Desk, passing, run
from tests.overlay.node.profiles import Clock, profile
from tidegate.overlay.node import correspondence
from tidegate.overlay.node.allowance import Allowance
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.reading import MalformedError
from tidegate.overlay.node.sealing import RefusedError
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY


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
