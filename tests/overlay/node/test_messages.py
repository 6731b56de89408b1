"""What is written is read as it was; whatever else comes is refused, and never anything but refused."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.messages import LARGEST, LARGEST_EVENT, Event, Letter, Receipt, Taken
from tidegate.overlay.node.profile import LONGEST_TOPIC, MOST_TOPICS, Profile, Steps, digest_of
from tidegate.overlay.node.reading import MalformedError
from tidegate.overlay.poldercast.settings import RINGS

ADDRESSES = st.builds(
    Address, st.sampled_from(["127.0.0.1", "10.1.0.7", "::1", "2001:db8::7"]), st.integers(1, (1 << 16) - 1)
)
HERE = Address("127.0.0.1", 9)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    topics = sorted(draw(st.sets(st.integers(0, (1 << 64) - 1), max_size=5)))
    held = draw(st.lists(st.integers(0, 16), min_size=len(topics), max_size=len(topics)))
    of = draw(st.integers(1, (1 << 64) - 1)), draw(st.integers(0, (1 << 32) - 1)), draw(ADDRESSES)
    steps = draw(st.lists(st.integers(0, 255), min_size=2 * len(topics), max_size=2 * len(topics)))
    said = np.array(held, np.int8), np.array(steps, np.uint8).reshape(-1, 2)
    return Profile.of(*of, np.array(topics, np.uint64), *said)


def plain(profile: Profile) -> tuple[object, ...]:
    return (*profile[:3], profile.topics.tolist(), profile.held.tolist(), profile.steps.tolist(), profile.packed)


@given(st.integers(0, 2), profiles(), st.lists(st.tuples(st.integers(0, 1 << 20), profiles()), max_size=4))
def test_a_letter_is_read_as_it_was_written(module: int, sender: Profile, named: list[tuple[int, Profile]]) -> None:
    read = Letter.from_bytes(Letter(module, sender, named).to_bytes(), 4)
    assert (read.module, plain(read.sender)) == (module, plain(sender))
    assert [(age, plain(one)) for age, one in read.named] == [(age, plain(one)) for age, one in named]


@given(st.binary(min_size=16, max_size=16), st.text(min_size=1, max_size=50), st.binary(max_size=300), ADDRESSES)
def test_an_event_is_read_as_it_was_written(id_: bytes, topic: str, body: bytes, at: Address) -> None:
    event = Event(id_, topic, body)
    try:
        digest_of(topic)
    except ConfigError:
        return
    assert Event.from_bytes(event.to_bytes(at)) == (event, at)


@given(st.integers(0, (1 << 64) - 1), st.sampled_from(Taken))
def test_a_receipt_is_read_as_it_was_written(number: int, taken: Taken) -> None:
    receipt = Receipt(number, taken)
    assert Receipt.from_bytes(receipt.to_bytes()) == receipt
    with pytest.raises(MalformedError, match="a receipt that says 3"):
        Receipt.from_bytes(receipt.to_bytes()[:-1] + b"\3")


@given(st.data())
def test_damaged_messages_are_refused_or_are_others(data: st.DataObject) -> None:
    letter = Letter(RINGS, data.draw(profiles()), [(3, data.draw(profiles()))]).to_bytes()
    written = data.draw(st.sampled_from([letter, Event(b"i" * 16, "nasa", b"news").to_bytes(HERE), b""]))
    damaged = bytearray(written + data.draw(st.binary(max_size=20)))
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4)):
        damaged[at % max(len(damaged), 1) : at % max(len(damaged), 1) + 1] = bytes([value])
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    for read in (lambda said: Letter.from_bytes(said, 10), Event.from_bytes, Receipt.from_bytes):
        with suppress(MalformedError):
            read(cut)


def none(count: int) -> Steps:
    return np.full((count, 2), 255, np.uint8)


def many_topics(count: int) -> Profile:
    return Profile.of(7, 1, HERE, np.arange(count, dtype=np.uint64), np.zeros(count, np.int8), none(count))


def test_sizes_are_bounded() -> None:
    with pytest.raises(MalformedError, match="names 3"):
        Letter.from_bytes(Letter(0, many_topics(1), [(0, many_topics(1))] * 3).to_bytes(), 2)
    with pytest.raises(MalformedError, match="1001 topics"):
        Letter.from_bytes(Letter(0, many_topics(MOST_TOPICS + 1)).to_bytes(), 2)
    with pytest.raises(MalformedError, match="an event of"):
        Event.from_bytes(Event(b"i" * 16, "nasa", b"." * (LARGEST_EVENT + 1)).to_bytes(HERE))
    with pytest.raises(ConfigError, match="no topic is called"):
        digest_of("é" * (LONGEST_TOPIC // 2 + 1))


def test_a_letter_that_were_too_large_names_fewer() -> None:
    written = Letter(0, many_topics(MOST_TOPICS), [(0, many_topics(MOST_TOPICS))] * 200).to_bytes()
    assert LARGEST - 12_000 < len(written) <= LARGEST - 44
    assert 20 < len(Letter.from_bytes(written, 255).named) < 30


@pytest.mark.parametrize("address", [Address("0.0.0.0", 7), Address("224.0.0.1", 7), Address("127.0.0.1", 0)])
def test_nobody_is_believed_to_be_where_nobody_can_be(address: Address) -> None:
    nobody = Profile.of(7, 1, address, np.zeros(0, np.uint64), np.zeros(0, np.int8), none(0))
    with pytest.raises(MalformedError, match="nobody can be reached"):
        Letter.from_bytes(Letter(0, nobody).to_bytes(), 2)


@pytest.mark.parametrize(("topics", "held"), [([2, 1], [0, 0]), ([1, 1], [0, 0]), ([1, 2], [0, 17]), ([1], [-1])])
def test_profiles_that_cannot_be_are_refused(topics: list[int], held: list[int]) -> None:
    profile = Profile.of(7, 1, HERE, np.array(topics, np.uint64), np.array(held, np.int8), none(len(topics)))
    with pytest.raises(MalformedError, match="do not rise"):
        Letter.from_bytes(Letter(0, profile).to_bytes(), 2)


def test_nobody_has_no_profile() -> None:
    none = np.zeros(0, np.uint64), np.zeros(0, np.int8), np.zeros((0, 2), np.uint8)
    somebody, nobody = (Profile.of(peer, 1, HERE, *none) for peer in (1, 0))
    assert Letter.from_bytes(Letter(RINGS, somebody).to_bytes(), 1).sender.id == 1
    with pytest.raises(MalformedError, match="a profile of nobody"):
        Letter.from_bytes(Letter(RINGS, somebody, [(0, nobody)]).to_bytes(), 1)
