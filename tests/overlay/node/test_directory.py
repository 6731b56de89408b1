"""Numbers stand for the peers and topics that are meant, are given again, and never grow beyond what views can have."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.node.profiles import HERE, SMALL, Clock, profile
from tidegate.overlay.node import directory as directories
from tidegate.overlay.node.directory import ME, Directory
from tidegate.overlay.node.gossiping import Gossiping
from tidegate.overlay.node.messages import Letter
from tidegate.overlay.node.profile import gaps_of
from tidegate.overlay.poldercast.entries import EMPTY, entry_of, heard, peer_in
from tidegate.overlay.poldercast.settings import CYCLON, RINGS, VICINITY
from tidegate.overlay.poldercast.vicinity import proximity, tally, weigh
from tidegate.workload.alias import random_state


def topics_of(directory: Directory, number: int) -> set[int]:
    """The digests of the topics that the arrays say a peer follows."""
    begin, end = directory.nodes.bounds[number]
    numbers = directory.nodes.topics[begin:end].tolist()
    assert numbers == sorted(set(numbers))
    by_number = {number: digest for digest, number in directory._topics._numbers.items()}
    return {by_number[number] for number in numbers}


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("learn"), st.integers(2, 9), st.sets(st.integers(0, 30), max_size=12)),
            st.tuples(st.just("follow"), st.just(0), st.sets(st.integers(0, 30), max_size=12)),
            st.tuples(st.just("view"), st.integers(2, 9), st.just(set())),
            st.tuples(st.just("sweep"), st.just(0), st.just(set())),
        ),
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_arrays_say_of_everybody_in_a_view_what_its_last_profile_said(steps: list[tuple[str, int, set[int]]]) -> None:
    directory = Directory(1, HERE, SMALL)
    own: set[int] = set()
    last: dict[int, set[int]] = {}
    viewed: list[int] = []
    for version, (what, peer, topics) in enumerate(steps, 1):
        if what == "learn":
            directory.learn(profile(peer, topics, version))
            last[peer] = topics
        elif what == "follow":
            directory.follow(topics)
            own = topics
        elif what == "view" and peer in last and (number := directory.number(peer)) is not None:
            viewed = [*viewed, peer][-4:]
            directory.nodes.cyclon[ME] = -1
            for at, one in enumerate(dict.fromkeys(viewed)):
                directory.nodes.cyclon[ME, at] = entry_of(directory.number(one), number)
        elif what == "sweep":
            directory._forget_unused()
            assert len(directory) == len(set(viewed))
        assert topics_of(directory, ME) == own == set(directory.own.topics.tolist())
        for one in viewed:
            number = directory.number(one)
            assert number is not None
            assert directory.profile(number).id == one == int(directory.nodes.ids[number])
            assert topics_of(directory, number) == last[one]
        assert len(directory.scratch.wanted) >= directory._topics.end
        assert len(directory.scratch.marks) > len(directory.nodes.ids) - 1


def test_an_older_profile_does_not_replace_a_later_one() -> None:
    directory = Directory(1, HERE, SMALL)
    number = directory.learn(profile(5, {1, 2}, version=3))
    assert directory.learn(profile(5, {1}, version=2)) == number
    assert topics_of(directory, number) == {1, 2}
    directory.learn(profile(5, {7}, version=4))
    assert topics_of(directory, number) == {7}


def test_what_a_peer_says_of_itself_counts_more_than_what_others_say_of_it() -> None:
    gossiping = Gossiping(Directory(1, HERE, SMALL, Clock()), SMALL, random_state(1))
    gossiping.directory.follow([10])
    gossiping.answer(Letter(RINGS, profile(5, {10}, version=3)))
    false = profile(5, set(), version=1_030_000_000)
    gossiping.answer(Letter(RINGS, profile(6, set()), [(0, false)]))
    assert gossiping.neighbours(10) == ([], [])
    gossiping.answer(Letter(RINGS, profile(5, {10}, version=4)))
    assert gossiping.neighbours(10) == ([5], [5])
    gossiping.answer(Letter(RINGS, profile(6, set()), [(0, profile(5, set(), version=3))]))
    assert gossiping.neighbours(10) == ([5], [5])


def test_profiles_of_a_time_that_is_not_yet_are_not_believed() -> None:
    gossiping = Gossiping(Directory(1, HERE, SMALL, Clock()), SMALL, random_state(1))
    gossiping.directory.follow([10])
    gossiping.answer(Letter(RINGS, profile(5, {10}, version=3)))
    false = profile(5, set(), version=(1 << 64) - 1)
    gossiping.answer(Letter(RINGS, profile(6, {10}), [(0, false), (0, profile(7, {10}))]))
    assert {one.id for one in gossiping.everybody()} == {5, 6, 7}
    assert sorted(gossiping.neighbours(10)[0]) == [5, 6]


def test_who_has_to_outdo_another_is_believed_where_clocks_are_behind() -> None:
    ahead, behind = Clock(), Clock()
    behind.now = ahead.now - 25
    victim, other = (Directory(me, HERE, SMALL, clock) for me, clock in ((1, ahead), (2, behind)))
    victim.follow([10])
    gossiping = Gossiping(victim, SMALL, random_state(1))
    for seconds in range(60):
        false = profile(1, set(), version=int((ahead.now + seconds) * 1e6))
        gossiping.answer(Letter(CYCLON, profile(5, set()), [(0, false)]))
        gossiping.pass_cycle()
        assert other.can_be(victim.own, is_hearsay=False)
    assert victim.own.version > ahead.now * 1e6


def test_a_peer_outdoes_what_others_say_of_it_and_is_not_itself() -> None:
    clock = Clock()
    gossiping = Gossiping(Directory(1, HERE, SMALL, clock), SMALL, random_state(1))
    gossiping.directory.follow([10])
    own = gossiping.directory.own
    assert own.version == 1_000_000_000
    gossiping.answer(Letter(CYCLON, profile(5, set()), [(0, own)]))
    gossiping.pass_cycle()
    assert gossiping.directory.own.version == own.version
    gossiping.answer(Letter(CYCLON, profile(5, set()), [(0, profile(1, set(), version=1_030_000_000))]))
    gossiping.pass_cycle()
    assert gossiping.directory.own.version == 1_030_000_001
    assert gossiping.directory.own.topics.tolist() == [10]
    # What it is not told of it outdoes in time: nothing that is believed is much later than now.
    clock.now = 1100.0
    gossiping.pass_cycle()
    assert gossiping.directory.own.version == 1_100_000_000


def test_rings_that_are_kept_stay_as_they_are_when_topics_come_and_go() -> None:
    gossiping = Gossiping(Directory(1, HERE, SMALL), SMALL, random_state(1))
    gossiping.directory.follow([10, 20])
    gossiping.answer(Letter(RINGS, profile(5, {10, 20})))
    assert gossiping.neighbours(10) == gossiping.neighbours(20) == ([5], [5])
    gossiping.directory.follow([5, 20, 30])
    assert gossiping.neighbours(20) == ([5], [5])
    assert gossiping.neighbours(10) == gossiping.neighbours(30) == ([], [])
    # Digests rise in a profile: of 5, 20 and 30, there are two neighbours for 20.
    assert gossiping.directory.own.held.tolist() == [0, 2, 0]


@pytest.mark.parametrize("module", [CYCLON, VICINITY, RINGS])
def test_however_many_write_only_so_many_are_remembered(module: int) -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([0, 1, 2])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    for peer in range(2, 3000, 4):
        named = [(1, profile(peer + more, {peer % 7, 1000 + peer})) for more in (1, 2, 3)]
        gossiping.answer(Letter(module, profile(peer, {0, peer}), named))
        gossiping.open(module)
        gossiping.pass_cycle()
    assert len(directory) <= directory._most_peers() < 250
    assert len(directory.nodes.ids) <= 512
    assert len(directory._topics) <= 4 * 250
    assert len(directory.nodes.topics) <= 4096
    assert len(directory._profiles) == len(directory)


def test_topics_of_all_together_are_bounded_and_what_finds_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "MOST_PLACES", 300)
    directory = Directory(1, HERE, SMALL)
    directory.follow([1, 2])
    for peer in range(2, 12):
        directory.learn(profile(peer, set(range(100 * peer, 100 * peer + 60))))
    assert len(directory.nodes.topics) <= 300
    assert directory.crowded == 6
    assert [len(topics_of(directory, number)) for number in range(1, 11)] == [60] * 4 + [0] * 6
    assert topics_of(directory, ME) == {1, 2}


def test_whoever_finds_no_room_is_given_some_when_it_is_named_after_others_were_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directories, "MOST_PLACES", 300)
    directory = Directory(1, HERE, SMALL)
    directory.follow([1])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    for peer in range(2, 8):
        directory.learn(profile(peer, set(range(100 * peer, 100 * peer + 60))))
    late = profile(9, {1, *range(900, 960)})
    number = directory.learn(late)
    assert directory.crowded == 3
    assert topics_of(directory, number) == set()
    # Nobody is in a view yet: a letter that needs the room has all of it.
    gossiping.answer(Letter(RINGS, late))
    assert directory.crowded == 0
    assert gossiping.neighbours(1) == ([9], [9])
    assert topics_of(directory, directory.number(9) or 0) == set(late.topics.tolist())


def test_topics_that_change_in_place_are_forgotten_as_well() -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([1])
    for version in range(1, 100):
        number = directory.learn(profile(5, set(range(100 * version, 100 * version + 100)), version))
    assert topics_of(directory, number) == set(range(9900, 10_000))
    assert len(directory._topics) <= 2 * 101 + 256 + 100
    assert len(directory.scratch.wanted) <= 1024


def test_when_there_is_no_room_topics_are_not_moved_about_for_every_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "MOST_PLACES", 3000)
    directory = Directory(1, HERE, SMALL)
    directory.follow([1])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    arranged: list[int] = []
    arrange = Directory._arrange

    def counted(self: Directory, more: int = 0) -> None:
        arranged.append(more)
        arrange(self, more)

    monkeypatch.setattr(Directory, "_arrange", counted)
    # Views have eight entries at most, and a letter brings four: what is in them always has room.
    for peer in range(2, 802, 4):
        one, *named = (
            profile(peer + more, {1, *range(1000 * (peer + more), 1000 * (peer + more) + 100)}) for more in range(4)
        )
        gossiping.answer(Letter(CYCLON, one, [(1, other) for other in named]))
        assert directory.crowded == 0
    assert len(arranged) < 100


def test_whoever_is_written_to_stays_in_its_rings_until_it_is_silent() -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(RINGS, profile(5, {10})))
    opened = gossiping.open(RINGS)
    assert opened is not None
    assert opened[0].id == 5
    assert gossiping.neighbours(10) == ([5], [5])
    assert [one.id for one in gossiping.receivers(10, None, (), 2)] == [5]
    assert gossiping.awaits(RINGS)
    assert gossiping.give_up(RINGS, lambda _: False)
    assert not gossiping.awaits(RINGS)
    assert gossiping.neighbours(10) == ([], [])
    assert gossiping.open(RINGS) is None


def test_who_is_excused_is_not_forgotten_for_an_answer_that_does_not_come() -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    assert not gossiping.give_up(RINGS, lambda _: False)
    gossiping.answer(Letter(RINGS, profile(5, {10})))
    gossiping.open(RINGS)
    assert not gossiping.give_up(RINGS, lambda peer: peer == 5)
    assert not gossiping.awaits(RINGS)
    assert gossiping.neighbours(10) == ([5], [5])


@pytest.mark.parametrize("module", [CYCLON, VICINITY])
def test_who_is_excused_stays_in_the_view_that_it_was_written_to_from(module: int) -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(module, profile(5, {10}), [(3, profile(6, {10})), (4, profile(7, {20}))]))
    view = (directory.nodes.cyclon, directory.nodes.vicinity)[module][ME]
    before = {(int(peer_in(entry)), int(heard(entry))) for entry in view[:3]}
    assert view[3] == EMPTY
    for _ in range(10):
        assert gossiping.open(module) is not None
        assert not gossiping.give_up(module, lambda _: True)
    assert {(int(peer_in(entry)), int(heard(entry))) for entry in view[:3]} == before
    assert view[3] == EMPTY


def test_nothing_is_awaited_from_who_has_left_and_it_is_noted_once() -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(RINGS, profile(5, {10})))
    for _ in range(3):
        gossiping.answer(Letter(CYCLON, profile(5, {10})))
        for module in (CYCLON, VICINITY, RINGS):
            gossiping.open(module)
        assert gossiping.awaits(RINGS)
        gossiping.forget(5)
        assert not any(gossiping.awaits(module) for module in (CYCLON, VICINITY, RINGS))
    notes = directory.nodes.gone[ME]
    assert [int(peer_in(entry)) for entry in notes if entry >= 0] == [directory.number(5)]


def test_who_has_more_ring_neighbours_than_others_keep_wants_no_more_than_who_has_all() -> None:
    directory = Directory(1, HERE, SMALL)
    wants = []
    for held in (4, 5, 6, 16):
        number = directory.learn(profile(held, {10}, held=held))
        weights = np.zeros(len(directory.scratch.wanted), np.int64)
        weigh(directory.nodes, number, weights)
        begin, end = directory.nodes.bounds[number]
        wants.append(int(proximity(tally(directory.nodes.topics, begin, end, weights))))
    assert wants == wants[:1] * 4
    assert wants[0] > 0


def test_who_follows_a_topic_no_longer_is_in_its_ring_no_longer() -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10, 20])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(RINGS, profile(5, {10, 20})))
    gossiping.answer(Letter(CYCLON, profile(6, {10}), [(3, profile(5, {20}, version=2))]))
    assert gossiping.neighbours(10) == ([6], [6])
    assert gossiping.neighbours(20) == ([5], [5])
    assert directory.nodes.held[:2].tolist() == [2, 2]


@pytest.mark.parametrize("read", [Gossiping.close, Gossiping.introduce])
def test_letters_that_place_nobody_take_nobody_out_of_rings_that_it_is_still_in(
    read: Callable[[Gossiping, Letter], object],
) -> None:
    directory = Directory(1, HERE, SMALL)
    directory.follow([10, 20])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(RINGS, profile(5, {10, 20, 30})))
    # An answer that nobody waits for, or a welcome, that names a neighbour which has dropped a topic.
    read(gossiping, Letter(RINGS, profile(6, {99}), [(0, profile(5, {10}, version=2))]))
    assert gossiping.neighbours(10) == ([5], [5])
    assert gossiping.neighbours(20) == ([], [])
    assert directory.nodes.held[:2].tolist() == [2, 0]
    assert np.isinf(directory.nodes.gaps[:2]).tolist() == [[False] * 2, [True] * 2]


def test_peers_say_how_far_their_next_ones_are() -> None:
    directory = Directory(1000, HERE, SMALL)
    directory.follow([10, 20])
    gossiping = Gossiping(directory, SMALL, random_state(1))
    gossiping.answer(Letter(RINGS, profile(1064, {20})))
    gossiping.pass_cycle()
    # Along the circle it is 64 to the one there is, and all the rest of the way back.
    assert gaps_of(directory.own.steps).tolist() == [[np.inf, np.inf], [64.0, float(np.float32(2.0**63.5))]]
    other = Directory(7, HERE, SMALL)
    number = other.learn(directory.own)
    begin, end = other.nodes.bounds[number]
    assert sorted(other.nodes.gaps[begin:end].tolist()) == sorted(gaps_of(directory.own.steps).tolist())
    opened = gossiping.open(RINGS)
    assert opened is not None
    assert directory.nodes.gaps[:2].min() == 64
