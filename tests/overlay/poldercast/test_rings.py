"""Rings keep and name those whose ids come next, as sorting the whole circle would have it."""

import numpy as np
import pytest

from tests.overlay.poldercast.twins import CIRCLE, Town, entries, fill, listed, town
from tidegate.overlay.poldercast.ring_letters import name_neighbours
from tidegate.overlay.poldercast.rings import leave_rings, open_round, take_neighbours
from tidegate.overlay.poldercast.state import Nodes
from tidegate.workload.alias import random_state


def followers(people: Town, topic: int, among: set[int]) -> set[int]:
    return {peer for peer in among if topic in people.topics[peer]}


def check_rings(people: Town, nodes: Nodes, me: int, known: set[int]) -> None:
    for k, topic in enumerate(sorted(people.topics[me])):
        pair = nodes.bounds[me, 0] + k
        after, before = people.ring_view(me, followers(people, topic, known), 2)
        assert listed(nodes.rings[pair, :2]) == after
        assert listed(nodes.rings[pair, 2:]) == before
        assert nodes.held[pair] == len(after) + len(before)


@pytest.mark.parametrize("seed", range(20))
def test_a_ring_view_is_whoever_is_next_of_all_that_were_ever_named(seed: int) -> None:
    people = town(seed)
    nodes, scratch, generator = people.nodes(), people.scratch(), np.random.default_rng(seed)
    known: set[int] = set()
    for _ in range(8):
        sender, *named = generator.integers(1, len(people.ids), 5).tolist()
        take_neighbours(nodes, 0, sender, entries([*named, 0], 5), scratch)
        known |= {sender, *named}
        check_rings(people, nodes, 0, known)
    assert not scratch.wanted.any()


@pytest.mark.parametrize("seed", range(10))
def test_who_leaves_is_in_no_ring_and_those_behind_move_up(seed: int) -> None:
    people = town(seed)
    nodes = people.nodes()
    take_neighbours(nodes, 0, 1, entries([2, 3, 4, 5], 4), people.scratch())
    for topic_rings in nodes.rings[nodes.bounds[0, 0] : nodes.bounds[0, 1]]:
        topic_rings[topic_rings >= 0] &= (1 << 62) - 1
    held = nodes.held.copy()
    leave_rings(nodes, 0, 2)
    for pair in range(*nodes.bounds[0]):
        peers = listed(nodes.rings[pair])
        assert 2 not in peers
        assert nodes.held[pair] == len(peers) <= held[pair]
        assert (nodes.rings[pair, [0, 2]] >= nodes.rings[pair, [1, 3]]).all() or len(peers) > 2


def nearer_in(people: Town, me: int, target: int, known: set[int], theirs: set[int]) -> dict[int, int]:
    """Return in how many places of its rings the target would have a peer next that is nearer than those it has."""
    nearer: dict[int, int] = {}
    for topic in people.topics[target]:
        has = followers(people, topic, theirs | {me})
        for side in (0, 1):
            named = people.ring_view(target, followers(people, topic, known), 1)[side]
            best = people.ring_view(target, followers(people, topic, known) | has, 1)[side]
            if named and named == best and named[0] not in has:
                nearer[named[0]] = nearer.get(named[0], 0) + 1
    return nearer


@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_those_named_are_nearer_than_the_targets_own_or_next_to_it_in_rings_that_both_share(
    seed: int, said: bool
) -> None:
    people = town(seed)
    nodes, scratch, generator = people.nodes(), people.scratch(), np.random.default_rng([seed, 2])
    me, target = 0, 1
    others = generator.permutation(np.arange(2, len(people.ids))).tolist()
    fill(nodes.cyclon[me], others[:6])
    fill(nodes.vicinity[me], others[6:12])
    take_neighbours(nodes, me, others[12], entries(others[13:17], 4), scratch)
    take_neighbours(nodes, target, others[15], entries(others[2:4] + others[16:22], 8), scratch)
    if not said:
        nodes = nodes._replace(gaps=nodes.gaps[:0])
    in_rings = {peer for pair in range(*nodes.bounds[me]) for peer in listed(nodes.rings[pair])}
    known = {*others[:12], *in_rings}
    out = entries([], 40)
    name_neighbours(nodes, me, target, scratch, random_state(seed), out)

    def next_to_target(topics: set[int], place: int) -> set[int]:
        views = [people.ring_view(target, followers(people, topic, known), 2) for topic in topics]
        return {side[place] for view in views for side in view if len(side) > place}

    common, alone = people.topics[me] & people.topics[target], people.topics[target] - people.topics[me]
    nearer = nearer_in(people, me, target, known, {others[15], *others[2:4], *others[16:22]}) if said else {}
    groups = [{peer for peer, rings in nearer.items() if min(rings, 4) == most} for most in (4, 3, 2, 1)]
    groups += [next_to_target(topics, place) for topics in (common, alone) for place in (0, 1)]
    expected: list[int] = []
    for group in groups:
        fresh = group - set(expected)
        assert set(listed(out)[len(expected) : len(expected) + len(fresh)]) == fresh
        expected += sorted(fresh)
    assert len(listed(out)) == len(expected)
    assert not scratch.wanted.any()
    assert not scratch.counted.any()


@pytest.mark.parametrize("seed", range(5))
def test_a_profile_says_how_far_the_next_ones_are(seed: int) -> None:
    people = town(seed)
    nodes, scratch = people.nodes(), people.scratch()
    take_neighbours(nodes, 0, 1, entries([2, 3, 4, 5], 4), scratch)
    leave_rings(nodes, 0, 3)
    known = {1, 2, 4, 5}
    for pair, topic in zip(range(*nodes.bounds[0]), sorted(people.topics[0]), strict=True):
        after, before = people.ring_view(0, followers(people, topic, known), 2)
        ways = [
            (people.ids[side[0]] - people.ids[0]) * sign % CIRCLE for side, sign in ((after, 1), (before, -1)) if side
        ]
        assert nodes.gaps[pair].tolist() == ([float(np.float32(way)) for way in ways] or [np.inf, np.inf])


def test_a_next_one_that_was_never_met_is_written_to_before_the_one_unheard_for_longest() -> None:
    people = Town([0, 10, 20, 30], [{0}, {0}, {0}, {0}])
    nodes, scratch = people.nodes(), people.scratch()
    nodes.clock[0] += 5
    take_neighbours(nodes, 0, 3, entries([], 4), scratch)
    nodes.clock[0] += 5
    take_neighbours(nodes, 0, 2, entries([1], 4, [1]), scratch)
    chosen = [int(open_round(nodes, 0, scratch, random_state(0), entries([], 4))) for _ in range(4)]
    assert chosen == [1, 3, 2, -1]
    assert listed(nodes.rings[0]) == []
