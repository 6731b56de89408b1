"""Who has come, or found somebody silent, does not wait for its turn; and no storm arises from that."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from tests.overlay.node.peers import KEY, is_complete, say, settings, until
from tests.overlay.node.profiles import Clock
from tidegate.overlay.node import correspondence
from tidegate.overlay.node.haste import AFTER_COMING, AFTER_SILENCE, Haste
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.sealing import Seal
from tidegate.overlay.node.settings import NodeSettings
from tidegate.overlay.poldercast.settings import CYCLON, MODULES, RINGS

HOUR = 3600.0


def slow(*join: Node, patience_s: float = 1.5) -> NodeSettings:
    """For a peer whose turns are an hour apart: what it does before that it does in haste."""
    return replace(settings(*(one.address for one in join), period_s=HOUR), patience_s=patience_s)


def test_what_is_left_is_counted_down_and_silences_add_to_it_once_in_a_while() -> None:
    clock = Clock()
    haste = Haste(3.0, clock)

    def spent() -> int:
        """How many letters of Rings are left; none is then."""
        many = 0
        while RINGS in haste:
            haste.spend(RINGS)
            many += 1
        return many

    haste.found_silent()
    assert spent() == AFTER_COMING
    assert CYCLON in haste
    for waited, left in ((2.9, 0), (0.2, AFTER_SILENCE), (0.0, 0), (1000.0, AFTER_SILENCE)):
        clock.now += waited
        for _ in range(10):
            haste.found_silent()
        assert spent() == left


def test_rings_of_those_who_come_are_complete_before_anybody_has_a_second_turn() -> None:
    async def run() -> None:
        async with AsyncExitStack() as stack:
            nodes: list[Node] = []
            for number in range(8):
                node = Node(slow(*nodes[:1]))
                node.subscribe("nasa", f"topic {number % 3}")
                nodes.append(await stack.enter_async_context(node))
            await until(lambda: is_complete(nodes), "rings are complete")

    asyncio.run(run())


def test_a_peer_opens_no_more_letters_than_it_may_whatever_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correspondence, "_MOMENT_S", 0.001)

    async def run() -> None:
        async with Node(slow()) as first, Node(slow(first)) as second:
            for node in (first, second):
                node.subscribe("nasa")
            await until(
                lambda: not any(RINGS in node._letters._haste for node in (first, second)), "all letters are spent"
            )
            answer, seal, many = Letter(RINGS, second._letters.directory.own).to_bytes(), Seal(second.id, KEY), 100
            say(first.address, *(seal.sealed(Kind.ANSWER, first.id, answer)[1] for _ in range(many)))
            await until(lambda: first.counters.refused["late"] >= many - 1, "they are heard")
            for node in (first, second):
                assert AFTER_COMING <= node.counters.sent["open"] <= AFTER_COMING * len(MODULES)

    asyncio.run(run())


def test_who_does_not_answer_is_forgotten_after_patience_and_not_a_turn_later() -> None:
    async def run() -> None:
        async with Node(slow()) as first, Node(slow(first)) as deaf, Node(slow(first, patience_s=1.0)) as node:
            known = node._letters.gossiping.everybody
            for one in (first, deaf, node):
                one.subscribe("nasa")
            await until(lambda: deaf.id in (one.id for one in known()), "it knows both")
            deaf._voice.carrier._take = lambda _: True
            await until(lambda: deaf.id not in (one.id for one in known()), "it forgets the one that says nothing")

    asyncio.run(run())


def test_nobody_is_forgotten_for_a_letter_that_could_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with Node(settings()) as first, Node(settings(first.address)) as node:
            for one in (first, node):
                one.subscribe("nasa")
            await until(lambda: is_complete([first, node]), "rings are complete")
            tries = []
            monkeypatch.setattr(node._voice.carrier, "send", lambda *message: tries.append(message))
            await until(lambda: len(tries) > 20, "it tries")
            assert first.id in node.neighbours("nasa")[0]

    asyncio.run(run())


def test_who_is_about_to_leave_opens_nothing_more_whatever_it_hears() -> None:
    async def run() -> None:
        async with Node(slow()) as first, Node(slow(first)) as leaving:
            for node in (first, leaving):
                node.subscribe("nasa")
            await until(lambda: is_complete([first, leaving]), "rings are complete")
            leaving._letters.close()
            opened, heard = leaving.counters.sent["open"], leaving.counters.heard["open"]
            await until(lambda: leaving.counters.heard["open"] > heard + 3, "it is written to")
            assert leaving.counters.sent["open"] == opened

    asyncio.run(run())
