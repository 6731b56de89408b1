"""As printed, peers do what the thesis says and no more."""

from dataclasses import replace

from tests.overlay.poldercast.twins import Town, entries, fill, listed
from tidegate.overlay.poldercast.ring_letters import name_neighbours
from tidegate.overlay.poldercast.settings import RINGS, VICINITY, Gossip, Settings
from tidegate.overlay.poldercast.step import answer_gossip, open_gossip
from tidegate.workload.alias import random_state

PRINTED = Settings(Gossip(6, 4), Gossip(6, 4), Gossip(4, 4), as_printed=True)


def test_letters_of_rings_name_followers_of_topics_that_both_share_and_of_too_many_any() -> None:
    people = Town([0, 40, 1, 2, 3, 50], [{1, 2}, {1, 3}, {1}, {1}, {1}, {3}], PRINTED)
    nodes, scratch, seen = people.nodes(), people.scratch(), set()
    fill(nodes.cyclon[0], [2, 3, 4, 5])
    for seed in range(40):
        out = entries([], 2)
        name_neighbours(nodes, 0, 1, scratch, random_state(seed), out)
        assert len(listed(out)) == 2
        seen |= set(listed(out))
    # Successors of 40 are 1 and 2, predecessors 3 and 2; the one follower of 3 is of no topic they share.
    assert seen == {2, 3, 4}


def test_rings_reads_its_own_letters_and_the_views_of_the_others() -> None:
    people = Town([0, 1, 2, 3], [{1}] * 4, PRINTED)
    nodes, scratch, random, out = people.nodes(), people.scratch(), random_state(0), entries([], 4)
    answer_gossip(nodes, 0, VICINITY, 1, entries([2], 4), scratch, random, out)
    assert listed(nodes.rings[0]) == []
    answer_gossip(nodes, 0, RINGS, 3, entries([], 4), scratch, random, out)
    assert listed(nodes.rings[0]) == [3, 3]
    assert open_gossip(nodes, 0, RINGS, scratch, random, out) in (1, 2)
    assert sorted({3, *listed(nodes.rings[0])}) in ([1, 3], [2, 3])


def test_vicinity_writes_to_its_oldest_even_if_a_stranger_could_be_helped() -> None:
    people = Town([0, 1, 2, 3], [{5}, {7}, {7}, {5}])
    for settings, target in ((people.settings, 1), (replace(people.settings, as_printed=True), 2)):
        nodes, out = replace(people, settings=settings).nodes(), entries([], 4)
        fill(nodes.cyclon[0], [1])
        fill(nodes.vicinity[0], [2, 3], [0, 1])
        nodes.visits[0] = 1
        assert open_gossip(nodes, 0, VICINITY, people.scratch(), random_state(0), out) == target
