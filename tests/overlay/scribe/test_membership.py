"""Members and links are where dictionaries would have them, whatever was added and dropped before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.scribe.twins import Town, children_of, members_of
from tidegate.csr import from_rows
from tidegate.overlay.scribe.membership import (
    add_member,
    drop_all,
    drop_member,
    follows,
    grown,
    has_room,
    member_of,
    put_link,
)
from tidegate.overlay.scribe.state import (
    CHILD,
    CHILDREN,
    FOLLOWS,
    FURTHER,
    MANY,
    NOBODY,
    PEER,
    REFRESHED,
    TOPIC,
    Trees,
    trees_of,
)
from tidegate.overlay.scribe.trees import give_up_silent, take_child, take_farewell

PEERS, TOPICS = 6, 8
FOLLOWED = [[0, 3, 7], [1], [], [0, 1, 2, 3, 4, 5, 6, 7], [2], [7]]
Twin = dict[tuple[int, int], dict[int, int]]
"""By peer and topic of a member, its children with the times they wrote."""


def forest(room: int) -> Trees:
    return trees_of(np.arange(TOPICS, dtype=np.uint64), from_rows(FOLLOWED), room)


def refreshed(trees: Trees, member: int) -> dict[int, int]:
    """Return the children of a member with the times they wrote."""
    found, link = {}, int(trees.members[member, CHILDREN])
    while link >= 0:
        assert int(trees.links[link, CHILD]) not in found
        found[int(trees.links[link, CHILD])] = int(trees.links[link, REFRESHED])
        link = int(trees.links[link, FURTHER])
    return found


def check(trees: Trees, twin: Twin) -> None:
    for peer in range(PEERS):
        listed = members_of(trees, peer)
        assert len(listed) == trees.lists[peer, MANY]
        assert {int(trees.members[member, TOPIC]) for member in listed} == {topic for who, topic in twin if who == peer}
        for topic in range(TOPICS):
            member = int(member_of(trees, peer, topic))
            assert (member >= 0) == ((peer, topic) in twin)
            if member >= 0:
                assert tuple(trees.members[member, [PEER, TOPIC]]) == (peer, topic)
                assert trees.members[member, FOLLOWS] == (topic in FOLLOWED[peer])
                assert refreshed(trees, member) == twin[peer, topic]
    assert trees.counts[0] == len(twin)
    assert trees.counts[1] == sum(len(children) for children in twin.values())


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["child", "farewell", "drop", "leave", "grow"]),
            st.integers(0, PEERS - 1),
            st.integers(0, TOPICS - 1),
            st.integers(0, 9),
        ),
        max_size=80,
    )
)
def test_members_and_links_are_those_of_dictionaries(steps: list[tuple[str, int, int, int]]) -> None:
    # No larger than it has to be, so that searches run into each other and around the end.
    trees, twin = forest(2), Twin()
    nodes = Town(list(range(PEERS))).nodes()
    for when, (kind, peer, topic, child) in enumerate(steps):
        nodes.clock[peer] = when
        if not has_room(trees, 1):
            trees = grown(trees)
        if kind == "child":
            member, is_new = take_child(nodes, trees, peer, topic, child)
            assert is_new == ((peer, topic) not in twin)
            assert member == member_of(trees, peer, topic)
            twin.setdefault((peer, topic), {})[child] = when
        elif kind == "farewell":
            take_farewell(trees, peer, topic, child)
            twin.get((peer, topic), {}).pop(child, None)
        elif kind == "drop" and (peer, topic) in twin:
            listed = [NOBODY, *members_of(trees, peer)]
            at = listed.index(int(member_of(trees, peer, topic)))
            drop_member(trees, listed[at], listed[at - 1])
            del twin[peer, topic]
        elif kind == "leave":
            drop_all(trees, peer)
            twin = {key: children for key, children in twin.items() if key[0] != peer}
        elif kind == "grow" and len(trees.members) < 16:
            trees = grown(trees)
        check(trees, twin)


def test_members_are_found_when_any_of_many_is_dropped() -> None:
    topics = 4096
    full = trees_of(np.arange(topics, dtype=np.uint64), from_rows([[]]), topics)
    for topic in range(topics):
        add_member(full, 0, topic)
    listed = members_of(full, 0)
    for topic in range(0, topics, 3):
        at = listed.index(int(member_of(full, 0, topic)))
        drop_member(full, listed.pop(at), listed[at - 1] if at else NOBODY)
    assert [topic for topic in range(topics) if member_of(full, 0, topic) < 0] == list(range(0, topics, 3))


def test_places_that_become_free_are_used_again() -> None:
    trees = forest(4)
    for _ in range(50):
        for topic in range(4):
            put_link(trees, add_member(trees, 3, topic), topic, 0)
        assert not has_room(trees, 1)
        drop_all(trees, 3)
    assert has_room(trees, 4)
    check(trees, {})


def test_children_that_have_not_written_for_too_long_are_given_up() -> None:
    nodes, trees = Town(list(range(PEERS))).nodes(), forest(8)
    for child in range(1, 6):
        nodes.clock[0] = child
        member, _ = take_child(nodes, trees, 0, 1, child)
    nodes.clock[0] = 6
    give_up_silent(nodes, trees, member, 1)
    assert sorted(children_of(trees, member)) == [3, 4, 5]


def test_peers_follow_what_they_do() -> None:
    trees = forest(4)
    assert [[topic for topic in range(TOPICS) if follows(trees, peer, topic)] for peer in range(PEERS)] == FOLLOWED
