"""Peers keep who is next to them and a table by digits, and messages end at whoever is nearest to their key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.scribe.twins import Town, listed, way_of
from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.overlay.scribe.circle import BASE, DIGITS, digit_of, distance, shared_digits
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.scribe.pastry import forget, learn, next_hop, wants
from tidegate.overlay.scribe.settings import Settings
from tidegate.overlay.scribe.state import NOBODY, Nodes

WORDS = st.one_of(
    st.integers(0, (1 << 64) - 1),
    # Near to each other, and to where the circle closes.
    st.integers(0, 40).map(lambda offset: (offset - 20) % (1 << 64)),
    st.integers(0, 255).map(lambda head: head << 56),
)
IDS = st.lists(WORDS, min_size=2, max_size=30, unique=True)


@given(one=WORDS, other=WORDS)
def test_digits_and_distances_are_those_of_the_numbers(one: int, other: int) -> None:
    words = np.uint64(one), np.uint64(other)
    digits = [f"{word:016x}" for word in (one, other)]
    assert [digit_of(words[0], level) for level in range(DIGITS)] == [int(digit, 16) for digit in digits[0]]
    level = shared_digits(*words)
    assert digits[0][:level] == digits[1][:level]
    assert level == DIGITS or digits[0][level] != digits[1][level]
    assert int(distance(*words)) == min((one - other) % (1 << 64), (other - one) % (1 << 64))


@given(ids=IDS, data=st.data())
def test_leaves_are_the_nearest_of_those_met_and_tables_keep_who_came_first(
    ids: list[int], data: st.DataObject
) -> None:
    town = Town(ids)
    nodes = town.nodes()
    met: set[int] = set()
    table: dict[tuple[int, int], int] = {}
    for peer in data.draw(st.lists(st.integers(0, len(ids) - 1), max_size=60)):
        behind, before = town.sides(0, met | {peer})
        news = {*behind, *before} - {*town.sides(0, met)[0], *town.sides(0, met)[1]}
        free = peer > 0 and town.place(0, peer) not in table
        assert wants(nodes, 0, peer) == (peer > 0 and (peer in news or free or _enters(town, met, peer)))
        learn(nodes, 0, peer)
        if peer > 0:
            met.add(peer)
            table.setdefault(town.place(0, peer), peer)
    assert (listed(nodes.leaves[0, :4]), listed(nodes.leaves[0, 4:])) == town.sides(0, met)
    assert _table(nodes, 0) == table


def _enters(town: Town, met: set[int], peer: int) -> bool:
    """Return whether a peer comes to be on a side where it was not."""
    sides = zip(town.sides(0, met), town.sides(0, met | {peer}), strict=True)
    return any(peer in after and peer not in before for before, after in sides)


@given(ids=IDS, key=WORDS, data=st.data())
def test_a_message_goes_where_the_paper_sends_it(ids: list[int], key: int, data: st.DataObject) -> None:
    town = Town(ids)
    nodes = town.nodes()
    met = data.draw(st.sets(st.integers(1, len(ids) - 1)))
    for peer in sorted(met):
        learn(nodes, 0, peer)
    for peer in data.draw(st.sets(st.integers(1, len(ids) - 1))):
        forget(nodes, 0, peer)
        assert peer not in nodes.leaves[0]
        assert peer not in nodes.table[0]
    leaves = listed(nodes.leaves[0, :4]), listed(nodes.leaves[0, 4:])
    reachable = np.ones(len(ids), np.bool_)
    assert next_hop(nodes, 0, np.uint64(key), NOBODY, reachable) == town.hop(0, leaves, _table(nodes, 0), key)


def test_a_message_goes_on_where_a_side_of_the_leaf_set_is_empty() -> None:
    # The nearest to the key shares no digit with it; the one leaf in between is gone.
    me, between, nearest, behind = (head << 48 for head in (0x3100, 0x3080, 0x2FFF, 0x4000))
    town = Town([me, between, nearest, behind], leaves=2)
    nodes = town.nodes()
    for peer in (2, 1, 3):
        learn(nodes, 0, peer)
    forget(nodes, 0, 1)
    assert (listed(nodes.leaves[0, :1]), listed(nodes.leaves[0, 1:])) == ([3], [])
    assert next_hop(nodes, 0, np.uint64(0x3001 << 48), NOBODY, np.ones(4, np.bool_)) == 2


def _table(nodes: Nodes, me: int) -> dict[tuple[int, int], int]:
    places = [(level, digit) for level in range(DIGITS) for digit in range(BASE)]
    return {place: int(nodes.table[me][place]) for place in places if nodes.table[me][place] >= 0}


def network(peers: int, leaves: int = 32, seed: int = 1) -> Forest:
    """Return peers that follow nothing."""
    return Forest(from_rows([[]] * peers), Settings(leaves), seed)


@given(
    peers=st.integers(1, 80),
    leaves=st.sampled_from([2, 4, 16, 32]),
    grown=st.booleans(),
    key=WORDS,
    seed=st.integers(0, 5),
)
def test_routes_end_at_the_nearest_peer_however_a_network_came_to_be(
    peers: int, leaves: int, grown: bool, key: int, seed: int
) -> None:
    forest = network(peers, leaves, seed)
    if grown:
        forest.leave(range(1, peers))
        forest.join(range(1, peers))
    else:
        forest.warm()
    town = Town(forest.nodes.ids.tolist(), leaves)
    for begin in {0, peers // 2, peers - 1}:
        assert way_of(forest, begin, key)[-1] == town.nearest(set(range(peers)), key)


@pytest.mark.parametrize("grown", [False, True])
def test_leaf_sets_are_those_that_sorting_all_ids_gives(grown: bool) -> None:
    forest = network(300)
    if grown:
        forest.leave(range(1, 300))
        forest.join(range(1, 300))
    else:
        forest.warm()
    town = Town(forest.nodes.ids.tolist(), 32)
    for me in range(300):
        leaves = forest.nodes.leaves[me]
        assert (listed(leaves[:16]), listed(leaves[16:])) == town.sides(me, set(range(300)))
        assert all(town.place(me, peer) == place for place, peer in _table(forest.nodes, me).items())


def test_a_network_that_stands_has_everybody_in_its_tables_that_there_is_a_place_for() -> None:
    forest = network(300)
    forest.warm()
    town = Town(forest.nodes.ids.tolist(), 32)
    for me in range(0, 300, 10):
        assert set(_table(forest.nodes, me)) == {town.place(me, peer) for peer in range(300) if peer != me}


@pytest.mark.parametrize("grown", [False, True])
def test_ways_are_about_as_long_as_the_number_of_peers_has_digits(grown: bool) -> None:
    peers = 1000
    forest = network(peers)
    if grown:
        forest.leave(range(1, peers))
        forest.join(range(1, peers))
    else:
        forest.warm()
    keys = np.random.default_rng(1).integers(0, 1 << 64, 300, dtype=np.uint64).tolist()
    hops = [len(way_of(forest, begin, key)) - 1 for begin, key in enumerate(keys)]
    digits = np.log2(peers) / 4
    assert np.mean(hops) < digits + 0.5
    assert max(hops) <= digits + 3


def test_the_dead_are_found_out_and_routes_lead_past_them() -> None:
    forest = network(600, leaves=16)
    forest.warm()
    gone = np.random.default_rng(2).choice(600, 200, replace=False)
    forest.leave(gone)
    forest.run(4)
    town = Town(forest.nodes.ids.tolist(), 16)
    there = set(range(600)) - set(gone.tolist())
    for me in there:
        leaves = forest.nodes.leaves[me]
        assert (listed(leaves[:8]), listed(leaves[8:])) == town.sides(me, there)
    for key in np.random.default_rng(3).integers(0, 1 << 64, 200, dtype=np.uint64).tolist():
        assert way_of(forest, min(there), key)[-1] == town.nearest(there, key)


def test_who_has_lost_all_that_it_knew_enters_again() -> None:
    forest = network(100, leaves=4)
    forest.warm()
    known = {int(peer) for peer in (*forest.nodes.leaves[0], *forest.nodes.table[0].ravel()) if peer >= 0}
    forest.leave(known)
    forest.run(3)
    there = set(range(100)) - known
    town = Town(forest.nodes.ids.tolist(), 4)
    assert (listed(forest.nodes.leaves[0, :2]), listed(forest.nodes.leaves[0, 2:])) == town.sides(0, there)


def test_a_step_changes_no_row_but_that_of_its_peer() -> None:
    forest = network(60, leaves=4)
    forest.warm()
    nodes = forest.nodes
    others = [array[1:].copy() for array in (nodes.leaves, nodes.table, nodes.clock)]
    for peer in range(1, 60):
        (forget if peer % 2 else learn)(nodes, 0, peer)
    for peer in range(1, 60):
        learn(nodes, 0, peer)
    after = [array[1:] for array in (nodes.leaves, nodes.table, nodes.clock)]
    assert all((one == other).all() for one, other in zip(others, after, strict=True))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"leaves": 3}, "leaf set of 3"),
        ({"leaves": 0}, "leaf set of 0"),
        ({"patience": -1}, "patience of -1"),
    ],
)
def test_settings_that_keep_no_network_are_refused(settings: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings(**settings)
