"""A message counts if it is sealed by the key, for this peer, of now, and once; nothing else leaves a trace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.node.profiles import Clock
from tidegate.overlay.node import sealing
from tidegate.overlay.node.carrier import DATAGRAM
from tidegate.overlay.node.messages import Kind
from tidegate.overlay.node.profile import MOST_TOPICS
from tidegate.overlay.node.sealing import ANYBODY, Opened, RefusedError, Seal
from tidegate.overlay.poldercast.settings import Settings

KEY = b"k" * 16


@pytest.fixture
def clock() -> Clock:
    return Clock()


def why(seal: Seal, data: bytes) -> str:
    with pytest.raises(RefusedError) as refused:
        seal.opened(data)
    return refused.value.why


def test_what_is_sealed_for_a_peer_it_opens_once(clock: Clock) -> None:
    ana, ben = Seal(1, KEY, clock), Seal(2, KEY, clock)
    number, said = ana.sealed(Kind.EVENT, 2, b"news")
    assert ben.opened(said) == Opened(Kind.EVENT, 1, number, b"news")
    assert why(ben, said) == "again"


def test_messages_may_overtake_each_other_and_still_count_once(clock: Clock) -> None:
    ana, ben = Seal(1, KEY, clock), Seal(2, KEY, clock)
    said = [ana.sealed(Kind.EVENT, 2, b"%d" % i)[1] for i in range(100)]
    assert [ben.opened(one).body for one in reversed(said)] == [b"%d" % i for i in reversed(range(100))]
    assert {why(ben, one) for one in said} == {"again"}


def test_any_number_of_datagrams_may_overtake_what_goes_by_a_connection(clock: Clock) -> None:
    ana, ben = Seal(1, KEY, clock), Seal(2, KEY, clock)
    large = [ana.sealed(Kind.EVENT, 2, b"L" * DATAGRAM)[1] for _ in range(2)]
    small = [ana.sealed(Kind.EVENT, 2, b"s")[1] for _ in range(3 * sealing._NUMBERS)]
    for one in (*small, *large):
        ben.opened(one)
    assert {why(ben, one) for one in (*small, *large)} == {"again"}


def test_a_clock_that_was_put_back_is_noticed(clock: Clock) -> None:
    ana = Seal(1, KEY, clock)
    assert not ana.is_ahead
    ana.sealed(Kind.EVENT, 2, b"")
    clock.now -= 20
    assert not ana.is_ahead
    ana.sealed(Kind.EVENT, 2, b"")
    clock.now -= 20
    assert ana.is_ahead


@given(at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_whatever_is_altered_is_refused(at: int, flip: int) -> None:
    clock = Clock()
    said = bytearray(Seal(1, KEY, clock).sealed(Kind.EVENT, 2, b"news")[1])
    said[at % len(said)] ^= flip
    assert why(Seal(2, KEY, clock), bytes(said)) in ("key", "version", "receiver")


@given(st.binary(max_size=200))
def test_what_strangers_say_is_refused_and_forgotten(data: bytes) -> None:
    seal = Seal(2, KEY)
    assert why(seal, data) in ("size", "version", "receiver", "key")
    assert not seal._heard


def test_another_key_another_peer_and_another_time_are_refused(clock: Clock) -> None:
    ben = Seal(2, KEY, clock)
    assert why(ben, Seal(1, b"x" * 16, clock).sealed(Kind.EVENT, 2, b"")[1]) == "key"
    assert why(ben, Seal(1, None, clock).sealed(Kind.EVENT, 2, b"")[1]) == "key"
    assert why(ben, Seal(1, KEY, clock).sealed(Kind.EVENT, 3, b"")[1]) == "receiver"
    assert why(ben, Seal(2, KEY, clock).sealed(Kind.EVENT, 2, b"")[1]) == "kind"
    late = Seal(1, KEY, clock).sealed(Kind.EVENT, 2, b"")[1]
    clock.now += 61
    assert why(ben, late) == "time"
    early = Seal(1, KEY, clock).sealed(Kind.EVENT, 2, b"")[1]
    clock.now -= 61
    assert why(ben, early) == "time"


def test_only_who_joins_need_not_know_whom_it_writes_to(clock: Clock) -> None:
    ana, ben = Seal(1, KEY, clock), Seal(2, KEY, clock)
    assert ben.opened(ana.sealed(Kind.JOIN, ANYBODY, b"")[1]).kind == Kind.JOIN
    assert why(ben, ana.sealed(Kind.EVENT, ANYBODY, b"")[1]) == "receiver"


def test_senders_that_are_remembered_are_bounded_and_nothing_of_theirs_counts_twice(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_MOST_SENDERS", 3)
    ben = Seal(9, KEY, clock)
    said = [Seal(sender, KEY, clock).sealed(Kind.EVENT, 9, b"")[1] for sender in range(1, 5)]
    for one in said[:3]:
        ben.opened(one)
    assert why(ben, said[3]) == "crowd"
    clock.now += 60.5
    ben.opened(Seal(5, KEY, clock).sealed(Kind.EVENT, 9, b"")[1])
    assert len(ben._heard) == 1
    assert {why(ben, one) for one in said} == {"time"}


def test_all_neighbours_of_a_peer_with_as_many_topics_as_may_be_are_heard_within_a_minute(clock: Clock) -> None:
    ben = Seal(9, KEY, clock)
    for sender in range(10, 10 + 2 * Settings().rings.view * MOST_TOPICS):
        assert ben.opened(Seal(sender, KEY, clock).sealed(Kind.EVENT, 9, b"")[1]).sender == sender


def test_in_a_crowd_it_is_looked_once_a_second_who_can_be_forgotten(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_MOST_SENDERS", 3)
    ben = Seal(9, KEY, clock)
    for sender in range(1, 4):
        ben.opened(Seal(sender, KEY, clock).sealed(Kind.EVENT, 9, b"")[1])
    clock.now += 59.8
    assert why(ben, Seal(4, KEY, clock).sealed(Kind.EVENT, 9, b"")[1]) == "crowd"
    clock.now += 0.5
    assert why(ben, Seal(4, KEY, clock).sealed(Kind.EVENT, 9, b"")[1]) == "crowd"
    clock.now += 0.6
    ben.opened(Seal(4, KEY, clock).sealed(Kind.EVENT, 9, b"")[1])
    assert len(ben._heard) == 1


def test_so_many_numbers_of_a_sender_are_remembered_and_older_ones_do_not_count(clock: Clock) -> None:
    ana, ben = Seal(1, KEY, clock), Seal(2, KEY, clock)
    said = [ana.sealed(Kind.EVENT, 2, b"")[1] for _ in range(1000)]
    for one in said[1:]:
        ben.opened(one)
    assert why(ben, said[0]) == "again"
    assert [len(numbers) for numbers in ben._heard[1]] == [sealing._NUMBERS, 0]
