"""Trees reach everybody that follows their topics, and are mended when parents and rendezvous go."""

from collections import Counter

import numpy as np
import pytest

from tests.overlay.scribe.twins import CIRCLE, Town, children_of, parents, spread_of
from tidegate.csr import from_rows, joined
from tidegate.overlay.scribe.carrying import BY_PASTRY, UNWANTED, WANTED
from tidegate.overlay.scribe.dissemination import Dissemination, disseminated
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.scribe.membership import member_of
from tidegate.overlay.scribe.settings import Settings
from tidegate.overlay.scribe.state import PARENT
from tidegate.overlay.scribe.trees import take_child, take_farewell
from tidegate.workload.follows import Follows, fans, friends


def stood(forest: Forest, cycles: int = 1) -> Forest:
    forest.warm()
    forest.run(cycles)
    return forest


@pytest.fixture(scope="module")
def settled() -> Forest:
    # The last ten follow nothing.
    return stood(Forest(joined(friends(400, 12, 3).followed, from_rows([[]] * 10)), seed=3), 3)


def children(forest: Forest, peer: int, topic: int) -> list[int]:
    return children_of(forest.trees, int(member_of(forest.trees, peer, topic)))


def mended(forest: Forest, most: int) -> int:
    """Return after how many cycles all are reached again, or `most`."""
    for cycle in range(1, most):
        forest.run()
        if disseminated(forest).hit_ratio == 1.0:
            return cycle
    return most


def test_every_tree_is_rooted_in_the_peer_nearest_to_its_key(settled: Forest) -> None:
    town = Town(settled.nodes.ids.tolist())
    above = parents(settled)
    for topic in range(settled.many_topics):
        roots = {peer for (peer, of), parent in above.items() if of == topic and parent < 0}
        expected = {town.nearest(set(range(410)), int(settled.trees.keys[topic]))}
        assert roots == (expected if len(settled.subscribers.row(topic)) else set())


def test_who_has_a_parent_is_its_child_and_every_way_up_ends(settled: Forest) -> None:
    above = parents(settled)
    for (peer, topic), parent in above.items():
        assert parent < 0 or peer in children(settled, parent, topic)
        way = [peer]
        while above[way[-1], topic] >= 0:
            way.append(above[way[-1], topic])
            assert len(way) < 10
    links = sum(len(children(settled, *key)) for key in above)
    assert links == sum(parent >= 0 for parent in above.values())


@pytest.mark.parametrize("graph", [friends(400, 10, 1), fans(400, 20, 1)], ids=["friends", "fans"])
@pytest.mark.parametrize("direct", [False, True])
def test_a_cycle_makes_trees_that_reach_everybody_once(graph: Follows, direct: bool) -> None:
    spread = disseminated(stood(Forest(graph.followed, seed=1)), direct=direct)
    assert spread.hit_ratio == 1.0
    assert spread.duplication == 1.0
    assert spread.miss_ratio == 0.0
    assert not spread.lost.any()


def test_what_relays_get_is_counted_and_wanted_by_nobody_there(settled: Forest) -> None:
    spread = disseminated(settled)
    assert spread.copies.sum() == spread.received.sum()
    assert (spread.unwanted <= spread.received).all()
    follows_nothing = np.diff(settled.topics.offsets) == 0
    assert spread.received[follows_nothing].any()
    assert (spread.unwanted == spread.received)[follows_nothing].all()
    # Whoever is in a tree without following its topic gets its event once, but for the rendezvous and the way there.
    relayed = sum(topic not in settled.topics.row(peer) for peer, topic in parents(settled))
    assert spread.unwanted.sum() >= relayed - settled.many_topics
    assert spread.due.sum() == spread.subscribers.sum() - np.count_nonzero(spread.subscribers)


def test_a_quiet_cycle_takes_a_sign_of_life_for_every_leaf_and_a_heartbeat_for_every_child() -> None:
    forest = stood(Forest(friends(100, 6, 2).followed, seed=2), 2)
    forest.control[:] = 0
    forest.run()
    expected = np.zeros((100, 3), np.int64)
    # A message and its answer, for who is asked as well as for who asks.
    expected[:, BY_PASTRY] = 4 * 32
    for (peer, topic), parent in parents(forest).items():
        for one in (peer, parent) if parent >= 0 else ():
            expected[one, WANTED if topic in forest.topics.row(one) else UNWANTED] += 2
    assert (forest.control == expected).all()


def test_a_cycle_in_parts_is_a_cycle() -> None:
    whole, parts = (stood(Forest(friends(100, 6, 2).followed, seed=2), 2) for _ in range(2))
    before = whole.control.copy()
    whole.run()
    for peers in np.array_split(np.random.default_rng(2).permutation(100), 12):
        parts.take_turns(peers)
    assert (whole.control.sum(axis=1) > before.sum(axis=1)).all()
    assert (parts.control == whole.control).all()
    assert parents(parts) == parents(whole)


def test_hops_are_those_of_the_way_to_the_rendezvous_and_down_again() -> None:
    forest = stood(Forest(from_rows([[0] if peer in (3, 50) else [] for peer in range(200)]), seed=2))
    above = parents(forest)
    root = next(peer for (peer, _), parent in above.items() if parent < 0)

    def depth(peer: int) -> int:
        return 0 if peer == root else 1 + depth(above[peer, 0])

    spreads = [disseminated(forest, seed=seed) for seed in range(4)]
    assert {spread.hops.tolist()[0] for spread in spreads} == {depth(3) + depth(50)}
    assert {disseminated(forest, direct=True, seed=seed).hops.tolist()[0] for seed in range(9)} == {
        (peer != root) + depth(other) for peer, other in ((3, 50), (50, 3))
    }


def test_events_take_the_way_that_a_walk_through_routes_and_trees_takes() -> None:
    followers = set(range(0, 90, 4))
    forest = stood(Forest(from_rows([[0] if peer in followers else [] for peer in range(90)]), seed=5), 2)
    forest.leave(range(0, 90, 7))
    forest.run()
    forest.join(range(0, 45, 7))
    forest.leave(range(4, 90, 16))
    present = {peer for peer in followers if forest.up[peer]}
    expected = []
    for first in present:
        routed, copies, hops, lost = spread_of(forest, 0, first)
        got = copies + Counter(routed)
        others = present - {first}
        root = {routed[-1]} if routed else set()
        expected.append(
            {
                "subscribers": [len(present)],
                "reached": [1 + len(others & set(hops))],
                "copies": [got.total()],
                "hops": [sum(hops[peer] for peer in others & set(hops))],
                "lost": [lost],
                "delivered": [sum(copies[peer] for peer in others) + len(root & others)],
                "missed": [int(peer in others and peer not in hops) for peer in range(90)],
                "received": [got[peer] for peer in range(90)],
                "unwanted": [got[peer] * (peer not in followers) for peer in range(90)],
                "due": [int(peer in others) for peer in range(90)],
            }
        )
    seen = [{name: each.tolist() for name, each in vars(disseminated(forest, seed=seed)).items()} for seed in range(40)]
    assert all(one in expected for one in seen)
    assert len({tuple(one["due"]) for one in seen}) > 5
    assert any(sum(one["missed"]) > 0 for one in seen)
    assert any(one["lost"][0] > 0 for one in seen)


def test_a_topic_with_one_follower_has_nobody_to_reach() -> None:
    spread = disseminated(stood(Forest(from_rows([[0], []]), seed=1)))
    assert (spread.subscribers.tolist(), spread.reached.tolist(), spread.hops.tolist()) == ([1], [1], [0])
    assert spread.mean_hops == spread.duplication == spread.miss_ratio == 0.0


def _same(one: Dissemination, other: Dissemination) -> bool:
    return all((getattr(one, name) == getattr(other, name)).all() for name in vars(one))


def test_a_seed_determines_all_that_becomes_of_a_forest() -> None:
    follows = friends(150, 6, 1)
    first, again, other = (stood(Forest(follows.followed, seed=seed)) for seed in (1, 1, 2))
    for forest in (first, again, other):
        forest.leave(range(0, 150, 4))
        forest.run(2)
        forest.join(range(0, 150, 8))
        forest.run(1)
    assert parents(first) == parents(again)
    assert (first.nodes.table == again.nodes.table).all()
    assert (first.control == again.control).all()
    assert _same(disseminated(first), disseminated(again))
    assert (first.nodes.ids != other.nodes.ids).any()


def test_a_forest_stays_as_it_is_while_events_spread(settled: Forest) -> None:
    before = [array.copy() for array in (*settled.nodes, *settled.trees[2:], settled.control)]
    disseminated(settled)
    after = [*settled.nodes, *settled.trees[2:], settled.control]
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


def test_trees_are_mended_a_few_cycles_after_a_fifth_of_all_have_gone() -> None:
    forest = stood(Forest(friends(500, 10, 5).followed, seed=5), 2)
    forest.leave(np.random.default_rng(5).choice(500, 100, replace=False))
    assert disseminated(forest).hit_ratio < 0.9
    assert mended(forest, 8) < 8
    assert disseminated(forest, stand_in=False).hit_ratio == 1.0


def test_a_rendezvous_that_goes_is_stood_in_for_and_gives_way_when_it_is_back() -> None:
    forest = stood(Forest(from_rows([[0]] * 60), seed=1))
    root = next(peer for (peer, _), parent in parents(forest).items() if parent < 0)
    forest.leave([root])
    assert disseminated(forest).reached.tolist() != [59]
    assert mended(forest, 6) < 6
    forest.join([root])
    assert mended(forest, 6) < 6
    assert [peer for (peer, _), parent in parents(forest).items() if parent < 0] == [root]


def test_patience_delays_the_mending_of_trees() -> None:
    def cycles(patience: int) -> int:
        forest = stood(Forest(from_rows([[0]] * 200), Settings(patience=patience), seed=4), 2)
        town = Town(forest.nodes.ids.tolist())
        forest.leave([town.nearest(set(range(200)), int(forest.trees.keys[0]))])
        return mended(forest, 20)

    assert [cycles(patience) for patience in (0, 1, 4)] == [1, 2, 5]


def test_silence_is_counted_in_turns_of_the_child_however_many_others_have_had() -> None:
    forest = stood(Forest(from_rows([[0]] * 60), seed=1), 2)
    above = parents(forest)
    root = next(peer for (peer, _), parent in above.items() if parent < 0)
    early, late = [peer for (peer, _), parent in above.items() if parent == root][:2]
    forest.leave([root])
    for child in (early, late):
        forest.take_turns(np.array([child]))
        assert parents(forest)[child, 0] == root
        forest.take_turns(np.array([child]))
        assert parents(forest)[child, 0] != root


def test_relays_without_children_leave_their_trees() -> None:
    forest = stood(Forest(from_rows([[0]] * 10 + [[]] * 190), seed=2), 2)
    assert len(parents(forest)) > 11
    forest.leave(range(1, 10))
    forest.run(12)
    above = parents(forest)
    way = [0]
    while above[way[-1], 0] >= 0:
        way.append(above[way[-1], 0])
    assert {peer for peer, _ in above if forest.up[peer]} == set(way)


def test_who_comes_and_who_comes_back_is_reached_after_a_cycle() -> None:
    late = np.arange(0, 300, 3)
    forest = Forest(friends(300, 8, 6).followed, seed=6)
    forest.leave(late)
    stood(forest, 2)
    forest.join(late)
    assert mended(forest, 4) < 4
    forest.leave(late[::2])
    forest.run(4)
    forest.join(late[::2])
    assert mended(forest, 4) < 4


def test_a_rendezvous_without_patience_gives_way_as_soon_as_somebody_nearer_comes() -> None:
    def reached_after(patience: int) -> list[float]:
        late = range(0, 300, 3)
        forest = Forest(friends(300, 8, 6).followed, Settings(patience=patience), seed=6)
        forest.leave(late)
        stood(forest, 2)
        shares = []
        for peer in late:
            forest.join([peer])
            forest.take_turns(np.array([peer]))
            shares.append(disseminated(forest).hit_ratio)
        return shares

    assert min(reached_after(0)) == 1.0
    assert reached_after(1)[-1] < 0.9


def in_circles(above: dict[tuple[int, int], int]) -> int:
    """Return how many members have a way up that does not end."""
    ends: dict[tuple[int, int], bool] = {}
    for peer, topic in above:
        way, at = [], peer
        while (at, topic) in above and (at, topic) not in ends and at not in way:
            way.append(at)
            at = above[at, topic]
        ends.update(dict.fromkeys([(one, topic) for one in way], at not in way and ends.get((at, topic), True)))
    return sum(not end for end in ends.values())


def test_a_circle_is_seen() -> None:
    assert in_circles({(0, 0): 1, (1, 0): 2, (2, 0): 1, (3, 0): 0, (4, 0): -1, (5, 0): 4, (2, 1): 0, (0, 1): -1}) == 4


def test_a_circle_is_broken_up() -> None:
    forest = stood(Forest(from_rows([[0]] * 200), seed=3), 2)
    members, above = forest.trees.members, parents(forest)
    low = next(peer for (peer, _), parent in above.items() if parent >= 0 and above[parent, 0] >= 0)
    high = above[low, 0]
    take_farewell(forest.trees, above[high, 0], 0, high)
    take_child(forest.nodes, forest.trees, low, 0, high)
    members[member_of(forest.trees, high, 0), PARENT] = low
    forest.run()
    assert in_circles(parents(forest)) >= 2
    assert disseminated(forest).hit_ratio < 1.0
    assert mended(forest, 40) < 40
    assert in_circles(parents(forest)) == 0


def test_under_steady_churn_trees_have_no_circles_and_are_whole_when_it_ends() -> None:
    forest = stood(Forest(friends(200, 6, 7).followed, seed=7), 2)
    generator = np.random.default_rng(7)
    for cycle in range(60):
        gone = np.flatnonzero(~forest.up)
        forest.leave(generator.choice(np.flatnonzero(forest.up), 12, replace=False))
        forest.join(gone[:12] if len(gone) > 50 else [])
        forest.run()
        assert cycle % 6 or in_circles(parents(forest)) == 0
    assert disseminated(forest).hit_ratio < 1.0
    assert mended(forest, 5) < 5


def test_ids_lie_all_around_the_circle() -> None:
    ids = Forest(from_rows([[]] * 1000), seed=1).nodes.ids
    assert len(set(ids.tolist())) == 1000
    assert np.histogram(ids.astype(float), 10, (0, float(CIRCLE)))[0].min() > 50


def test_who_may_publish_does_and_anybody_where_nobody_may() -> None:
    forest = stood(Forest(from_rows([[0], [0], [0]]), seed=1))
    # Whoever publishes has the event at once, and is due none.
    for may, publishes in ((np.array([False, True, False]), {1}), (np.zeros(3, np.bool_), {0, 1, 2})):
        due = [disseminated(forest, publishers=may, seed=seed).due for seed in range(20)]
        assert {int(np.flatnonzero(each == 0)[0]) for each in due} == publishes
