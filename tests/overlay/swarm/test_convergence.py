"""From random acquaintances to complete rings, and events that reach everybody."""

import numpy as np
import pytest

from tidegate.csr import from_rows, joined
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.entries import LAST_COUNT, heard, peer_in
from tidegate.overlay.poldercast.ringcast import BY_CYCLON, BY_VICINITY
from tidegate.overlay.poldercast.settings import Gossip, Settings
from tidegate.overlay.swarm.completeness import completeness, links_by_topic
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.follows import fans, friends

WITHOUT_VICINITY = Settings(vicinity=Gossip(view=0))


def cycles_until_complete(swarm: Swarm, share: float, most: int) -> int:
    """Return after how many cycles so many rings are complete, or `most`."""
    swarm.warm()
    for cycle in range(1, most):
        swarm.run()
        if completeness(swarm).complete_share >= share:
            return cycle
    return most


@pytest.fixture(scope="module")
def settled() -> Swarm:
    # The last ten follow nothing.
    swarm = Swarm(joined(friends(400, 12, 3).followed, from_rows([[]] * 10)), seed=3)
    assert cycles_until_complete(swarm, 1.0, 60) < 60
    return swarm


@pytest.mark.parametrize("graph", [friends, fans])
def test_rings_are_complete_long_before_60_cycles(graph: object) -> None:
    follows = friends(400, 10, 1) if graph is friends else fans(400, 20, 1)
    assert cycles_until_complete(Swarm(follows.followed, seed=1), 0.99, 40) < 40


def test_without_vicinity_rings_take_longer() -> None:
    follows = friends(800, 6, 2)
    with_it = cycles_until_complete(Swarm(follows.followed, seed=1), 0.99, 80)
    assert cycles_until_complete(Swarm(follows.followed, WITHOUT_VICINITY, seed=1), 0.99, 80) > with_it


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("view", [20, 0])
def test_peers_say_of_every_ring_how_many_they_have_there(view: int, as_printed: bool) -> None:
    swarm = Swarm(friends(200, 8, 1).followed, Settings(vicinity=Gossip(view=view), as_printed=as_printed), seed=1)
    swarm.warm()
    for _ in range(12):
        swarm.run()
        assert (swarm.nodes.rings >= -1).all()
        assert (swarm.nodes.held == (swarm.nodes.rings >= 0).sum(axis=1)).all()


def test_a_seed_determines_all_that_becomes_of_a_swarm() -> None:
    follows = friends(100, 6, 1)
    first, again, other = (Swarm(follows.followed, seed=seed) for seed in (1, 1, 2))
    for swarm in (first, again, other):
        swarm.warm()
        swarm.run(8)
    assert (first.nodes.rings == again.nodes.rings).all()
    assert (first.nodes.cyclon == again.nodes.cyclon).all()
    assert (first.nodes.ids != other.nodes.ids).any()


def test_a_swarm_runs_for_longer_than_there_are_numbers_for_what_it_counts() -> None:
    follows = friends(100, 6, 1)
    first, late = (Swarm(follows.followed, seed=1) for _ in range(2))
    for swarm in (first, late):
        swarm.warm()
        swarm.run(2)
    late.scratch.marks[-1] = LAST_COUNT - 500
    for swarm in (first, late):
        swarm.run(4)
    assert 0 < late.scratch.marks[-1] < LAST_COUNT - 500
    assert (first.nodes.vicinity == late.nodes.vicinity).all()
    assert (first.nodes.rings == late.nodes.rings).all()


def test_what_is_missing_is_counted_as_sorting_every_ring_would_have_it() -> None:
    swarm = Swarm(friends(60, 6, 4).followed, seed=4)
    swarm.warm()
    swarm.run(2)
    swarm.leave([5, 6])
    ids, half = swarm.nodes.ids, swarm.settings.rings.view // 2
    present, missing = links_by_topic(swarm)
    for topic in range(swarm.many_topics):
        peers = [peer for peer in range(60) if topic in swarm.topics.row(peer) and swarm.up[peer]]
        peers.sort(key=lambda peer: int(ids[peer]))
        wrong = 0
        for k, peer in enumerate(peers if len(peers) > 1 else []):
            pair = swarm.topics.offsets[peer] + np.searchsorted(swarm.topics.row(peer), topic)
            ring = swarm.nodes.rings[pair]
            wrong += int(peer_in(ring[0])) != peers[(k + 1) % len(peers)]
            wrong += int(peer_in(ring[half])) != peers[k - 1]
        assert (present[topic], missing[topic]) == (len(peers), wrong)


@pytest.mark.parametrize("fan_out", [2, 3, 5])
@pytest.mark.parametrize("shortcuts", [0, BY_CYCLON, BY_VICINITY, BY_CYCLON | BY_VICINITY])
def test_complete_rings_reach_everybody_with_at_most_fan_out_copies(
    settled: Swarm, fan_out: int, shortcuts: int
) -> None:
    spread = disseminated(settled, fan_out, shortcuts)
    assert spread.hit_ratio == 1.0
    assert not spread.missed.any()
    assert not spread.lost.any()
    # The publisher sends as well, and whoever is reached passes on once.
    assert (spread.copies <= fan_out * spread.reached).all()
    assert spread.copies.sum() == spread.received.sum()


@pytest.mark.parametrize("stand_in", [False, True])
def test_events_stay_on_the_side_of_their_publishers(settled: Swarm, stand_in: bool) -> None:
    side = (np.arange(settled.topics.rows) % 2).astype(np.int8)
    may = side == 1
    spread = disseminated(settled, stand_in=stand_in, publishers=may, side=side)
    whole = disseminated(settled, stand_in=stand_in, publishers=may)
    assert whole.reached.tolist() == whole.subscribers.tolist() == spread.subscribers.tolist()
    beyond = np.bincount(settled.topics.values, ~may[np.repeat(np.arange(len(side)), np.diff(settled.topics.offsets))])
    here = spread.subscribers - beyond
    assert (spread.reached <= np.where(here > 0, here, beyond)).all()
    # Who finds that nobody answers from beyond sends to others; what is sent there is lost.
    assert (spread.hit_ratio > 0.4, spread.lost.sum() == 0) == (stand_in, stand_in)


def test_shortcuts_shorten_the_way_and_more_of_them_more_so(settled: Swarm) -> None:
    around = disseminated(settled, 2, 0).mean_hops
    some, more = (disseminated(settled, fan_out).mean_hops for fan_out in (3, 6))
    assert around > some > more


def test_nobody_is_bothered_with_topics_it_does_not_follow(settled: Swarm) -> None:
    spread = disseminated(settled, 4)
    follows_nothing = np.diff(settled.topics.offsets) == 0
    assert follows_nothing.sum() == 10
    assert not spread.received[follows_nothing].any()
    assert (spread.reached <= spread.subscribers).all()


def test_a_ring_that_is_walked_alone_takes_half_of_it_in_hops() -> None:
    swarm = Swarm(from_rows([[0]] * 9), seed=1)
    assert cycles_until_complete(swarm, 1.0, 30) < 30
    spread = disseminated(swarm, 2, 0)
    assert spread.hops.tolist() == [2 * (1 + 2 + 3 + 4)]
    assert spread.subscribers.tolist() == spread.reached.tolist() == [9]


@pytest.mark.parametrize(("peers", "copies"), [(2, 1), (3, 2), (4, 4)])
def test_few_peers_send_nothing_to_those_that_are_known_to_have_it(peers: int, copies: int) -> None:
    # Of four, the one across gets it from both sides, and then knows that all have it.
    swarm = Swarm(from_rows([[0]] * peers), seed=1)
    assert cycles_until_complete(swarm, 1.0, 30) < 30
    for fan_out in (2, 5):
        spread = disseminated(swarm, fan_out, 0)
        assert spread.reached.tolist() == [peers]
        assert spread.copies.tolist() == [copies]


@pytest.mark.parametrize("fan_out", [2, 3, 5])
def test_of_all_that_get_an_event_from_another_none_gets_more_copies_than_the_fan_out_in_the_mean(
    settled: Swarm, fan_out: int
) -> None:
    spread = disseminated(settled, fan_out)
    assert spread.copies.sum() <= fan_out * (spread.reached - 1).sum()


@pytest.mark.parametrize("seed", [5, 19, 25, 29])
def test_the_dead_are_forgotten_and_rings_close_without_them(seed: int) -> None:
    swarm = Swarm(friends(300, 8, seed).followed, seed=seed)
    assert cycles_until_complete(swarm, 1.0, 60) < 60
    swarm.leave(range(0, 300, 5))
    assert completeness(swarm).missing > 0
    for _ in range(45):
        swarm.run()
        if completeness(swarm).missing == 0:
            break
    assert completeness(swarm).missing == 0
    assert disseminated(swarm, stand_in=False).hit_ratio == 1.0


def test_no_news_is_younger_than_what_it_is_about() -> None:
    swarm = Swarm(friends(200, 8, 3).followed, seed=3)
    swarm.warm()
    swarm.run(20)
    gone, last = np.arange(0, 200, 4), int(swarm.nodes.clock.max())
    swarm.leave(gone)
    for _ in range(10):
        swarm.run()
        for part in (swarm.nodes.cyclon, swarm.nodes.vicinity, swarm.nodes.rings):
            entries = part[part >= 0]
            assert heard(entries[np.isin(peer_in(entries), gone)]).max(initial=0) <= last


def test_who_comes_is_found_and_who_comes_back_remembers() -> None:
    follows = friends(300, 8, 6)
    swarm = Swarm(follows.followed, seed=6)
    late = np.arange(0, 300, 3)
    swarm.leave(late)
    swarm.warm()
    swarm.run(25)
    swarm.join(late)
    for _ in range(60):
        swarm.run()
        if completeness(swarm).missing == 0:
            break
    assert completeness(swarm).missing == 0
    assert disseminated(swarm).hit_ratio == 1.0


def test_those_who_come_together_to_nobody_find_each_other() -> None:
    swarm = Swarm(from_rows([[0]] * 10), seed=1)
    swarm.leave(range(10))
    swarm.join(range(10))
    assert swarm.up.all()
    swarm.run(10)
    assert completeness(swarm).missing == 0


def test_of_nobody_all_are_reached_and_none_misses_anything() -> None:
    swarm = Swarm(from_rows([[0]] * 3), seed=1)
    swarm.leave(range(3))
    spread = disseminated(swarm)
    assert (spread.hit_ratio, spread.miss_ratio, spread.mean_hops) == (1.0, 0.0, 0.0)


def test_stand_ins_reach_more_when_many_are_gone_at_once() -> None:
    swarm = Swarm(friends(400, 10, 7).followed, seed=7)
    assert cycles_until_complete(swarm, 1.0, 60) < 60
    swarm.leave(range(0, 400, 6))
    with_them, without = disseminated(swarm), disseminated(swarm, stand_in=False)
    assert with_them.hit_ratio > without.hit_ratio
    assert with_them.miss_ratio < without.miss_ratio
    assert without.lost.sum() > 0
    # Neither along rings nor across them.
    assert with_them.lost.sum() == 0


@pytest.mark.parametrize(("as_printed", "copies"), [(False, 2), (True, 4)])
def test_copies_name_who_is_served_unless_peers_do_as_printed(as_printed: bool, copies: int) -> None:
    swarm = Swarm(from_rows([[0]] * 3), Settings(as_printed=as_printed), seed=1)
    swarm.warm()
    swarm.run(10)
    assert disseminated(swarm).copies.tolist() == [copies]


def test_a_fan_out_that_does_not_go_around_a_ring_is_refused(settled: Swarm) -> None:
    with pytest.raises(ConfigError, match="fan-out of 1"):
        disseminated(settled, 1)


def test_nobody_gets_more_copies_than_others_that_follow_its_topics_could_send(settled: Swarm) -> None:
    followers = np.bincount(settled.topics.values, minlength=settled.many_topics)
    for fan_out in (2, 4):
        spread = disseminated(settled, fan_out)
        assert spread.subscribers.tolist() == followers.tolist()
        # At most one copy comes from each of the others that follow a topic.
        most = np.zeros(settled.topics.rows, np.int64)
        peers = np.repeat(np.arange(settled.topics.rows), np.diff(settled.topics.offsets))
        np.add.at(most, peers, followers[settled.topics.values] - 1)
        assert (spread.received <= most).all()


@pytest.mark.parametrize("fan_out", [3, 5])
def test_the_way_of_an_event_grows_with_the_logarithm_of_those_that_follow_its_topic(fan_out: int) -> None:
    sizes, hops = [64, 256, 1024], []
    for size in sizes:
        swarm = Swarm(from_rows([[0]] * size), seed=1)
        assert cycles_until_complete(swarm, 1.0, 40) < 40
        hops.append(float(np.mean([disseminated(swarm, fan_out, seed=seed).mean_hops for seed in range(5)])))
    assert hops[2] < np.log2(sizes[2])
    # Four times as many cost about as much more each time.
    assert hops[2] - hops[1] < 1.5 * (hops[1] - hops[0])


def test_who_may_publish_does_and_anybody_where_nobody_may() -> None:
    swarm = Swarm(from_rows([[0, 1]] * 3 + [[1]] * 3), seed=1)
    # Nobody knows anybody: whoever publishes is the only one that is reached.
    may = np.arange(6) == 4
    missed = np.sum([disseminated(swarm, publishers=may, seed=seed).missed for seed in range(20)], axis=0)
    assert missed[4] == 0
    assert (missed[[3, 5]] == 20).all()
    assert (missed[:3] > 20).all()
    assert missed[:3].sum() == 3 * 20 + 2 * 20
