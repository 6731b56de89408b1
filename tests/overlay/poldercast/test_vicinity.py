"""Vicinity keeps and names the nearest, as plain Python ranks them."""

import numpy as np
import pytest

from tests.overlay.poldercast.twins import Town, entries, fill, listed, town
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.poldercast.vicinity import keep_nearest, name_nearest, open_visit
from tidegate.workload.alias import random_state


def held_by(nodes: Nodes, people: Town, peer: int) -> dict[int, int]:
    first = nodes.bounds[peer, 0]
    return {topic: int(nodes.held[first + k]) for k, topic in enumerate(sorted(people.topics[peer]))}


def unsettled(seed: int) -> tuple[Town, Nodes]:
    """Return peers of which each knows some others, and holds some number of neighbours by topic."""
    people = town(seed)
    nodes, generator = people.nodes(), np.random.default_rng([seed, 1])
    nodes.held[:] = generator.integers(0, 5, len(nodes.held))
    for me in range(len(people.ids)):
        others = generator.permutation([peer for peer in range(len(people.ids)) if peer != me]).tolist()
        fill(nodes.cyclon[me], others[:5])
        fill(nodes.vicinity[me], others[4:9])
    return people, nodes


@pytest.mark.parametrize("seed", range(20))
def test_those_named_are_the_nearest_of_all_that_are_known(seed: int) -> None:
    people, nodes = unsettled(seed)
    out, target = entries([], 4), listed(nodes.vicinity[0])[0]
    known = {*listed(nodes.cyclon[0]), *listed(nodes.vicinity[0])} - {target}
    name_nearest(nodes, 0, target, people.scratch(), random_state(seed), out)
    held = held_by(nodes, people, target)
    ranks = sorted((people.nearness(peer, target, held) for peer in known), reverse=True)
    assert [people.nearness(peer, target, held) for peer in listed(out)] == ranks[:4]


@pytest.mark.parametrize("seed", range(20))
def test_those_kept_are_the_nearest_of_views_letter_and_sender(seed: int) -> None:
    people, nodes = unsettled(seed)
    sender, named = 20, [21, 22, 0, 23]
    known = {*listed(nodes.cyclon[0]), *listed(nodes.vicinity[0]), sender, *named} - {0}
    keep_nearest(nodes, 0, sender, entries(named, 4), people.scratch(), random_state(seed))
    held = held_by(nodes, people, 0)
    ranks = sorted((people.nearness(peer, 0, held) for peer in known), reverse=True)
    kept = listed(nodes.vicinity[0])
    assert [people.nearness(peer, 0, held) for peer in kept] == ranks[:6]
    assert len(set(kept)) == len(kept)


def test_a_topic_without_neighbours_counts_for_more_than_any_number_of_others() -> None:
    people = Town([0, 1, 2], [{0, 1, 2, 3}, {1, 2, 3}, {0}])
    nodes, out = people.nodes(), entries([], 1)
    nodes.held[:4] = [0, 2, 2, 2]
    fill(nodes.cyclon[1], [2])
    keep_nearest(nodes, 0, 1, entries([2], 4), people.scratch(), random_state(0))
    assert listed(nodes.vicinity[0]) == [2, 1]
    fill(nodes.cyclon[2], [1])
    name_nearest(nodes, 2, 0, people.scratch(), random_state(0), out)
    assert listed(out) == [1]


@pytest.mark.parametrize("ticks", [1, 2, 6000])
def test_every_other_visit_is_for_strangers_however_much_time_is_between_them(ticks: int) -> None:
    # The stranger, 1, lacks a neighbour, and could be helped to 2.
    people = Town([0, 1, 2, 3], [{5}, {7}, {7}, {5}])
    nodes, scratch, random, out = people.nodes(), people.scratch(), random_state(0), entries([], 4)
    visited = []
    for _ in range(6):
        fill(nodes.cyclon[0], [1])
        fill(nodes.vicinity[0], [2])
        nodes.clock[0] += ticks
        visited.append(open_visit(nodes, 0, scratch, random, out))
    assert visited == [2, 1] * 3


def test_who_knows_nobody_near_asks_anybody_and_without_a_view_nobody() -> None:
    people = Town([0, 1], [{0}, {1}])
    nodes = people.nodes()
    scratch, random, out = people.scratch(), random_state(0), entries([], 4)
    assert open_visit(nodes, 0, scratch, random, out) == -1
    fill(nodes.cyclon[0], [1])
    assert open_visit(nodes, 0, scratch, random, out) == 1
    assert open_visit(nodes._replace(vicinity=nodes.vicinity[:, :0].copy()), 0, scratch, random, out) == -1
