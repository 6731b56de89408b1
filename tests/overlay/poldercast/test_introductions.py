"""Who knows two that ought to know each other writes to one of them, as plain Python finds it."""

import numpy as np
import pytest

from tests.overlay.poldercast.twins import Town, entries, fill, listed, town
from tidegate.overlay.poldercast.introductions import whom_to_help
from tidegate.overlay.poldercast.settings import VICINITY
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.poldercast.step import answer_gossip, open_gossip
from tidegate.workload.alias import random_state


def helped(people: Town, nodes: Nodes, peer: int, known: set[int]) -> int:
    lonely = [
        topic for k, topic in enumerate(sorted(people.topics[peer])) if nodes.held[nodes.bounds[peer, 0] + k] == 0
    ]
    return sum(any(topic in people.topics[other] for other in known - {peer}) for topic in lonely)


@pytest.mark.parametrize("seed", range(20))
def test_a_stranger_is_helped_in_as_many_topics_as_can_be(seed: int) -> None:
    people = town(seed)
    nodes, scratch, generator = people.nodes(), people.scratch(), np.random.default_rng([seed, 1])
    nodes.held[:] = generator.random(len(nodes.held)) < 0.8
    others = generator.permutation(np.arange(1, len(people.ids))).tolist()
    fill(nodes.cyclon[0], others[:5])
    fill(nodes.vicinity[0], others[4:8])
    known = set(others[:8])
    most = max(helped(people, nodes, peer, known) for peer in others[:5])
    found = whom_to_help(nodes, 0, scratch, random_state(seed))
    if most == 0:
        assert found == -1
    else:
        assert found in others[:5]
        assert helped(people, nodes, int(found), known) == most
    assert not scratch.wanted.any()
    assert not scratch.counted.any()


def test_nobody_is_helped_who_lacks_nothing_or_whom_nobody_known_can_help() -> None:
    people = Town([0, 1, 2], [set(), {1}, {2}])
    nodes, scratch = people.nodes(), people.scratch()
    assert whom_to_help(nodes, 0, scratch, random_state(0)) == -1
    fill(nodes.cyclon[0], [1, 2])
    assert whom_to_help(nodes, 0, scratch, random_state(0)) == -1


def test_two_that_share_one_topic_hear_of_each_other_from_somebody_that_knows_both() -> None:
    people = Town([0, 1, 2, 3], [{5}, {7}, {7}, {5}])
    nodes, scratch, random, letter = people.nodes(), people.scratch(), random_state(0), entries([], 4)
    fill(nodes.cyclon[0], [1])
    fill(nodes.vicinity[0], [2, 3])
    nodes.visits[0] = 1
    assert open_gossip(nodes, 0, VICINITY, scratch, random, letter) == 1
    answer_gossip(nodes, 1, VICINITY, 0, letter, scratch, random, entries([], 4))
    assert listed(nodes.rings[nodes.bounds[1, 0]]) == [2, 2]
