"""Aggregators and brokers of one site: one subscription upstream, withdrawn with its last client; every event once."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tidegate.deliver.broker import Broker
from tidegate.deliver.event import Event
from tidegate.deliver.ring import Ring
from tidegate.deliver.site import Aggregator, Site
from tidegate.errors import ConfigError

TOPICS = [f"topic:{number}" for number in range(20_000)]


def test_topics_are_spread_evenly_over_brokers() -> None:
    counts = Counter(map(Ring(f"broker-{number}" for number in range(8)).owner, TOPICS))
    assert len(counts) == 8
    assert max(counts.values()) < 1.35 * len(TOPICS) / 8


def test_a_broker_that_comes_takes_only_its_share_and_moves_nothing_else() -> None:
    few, more = Ring("abcdefg"), Ring("hgfedcba")
    moved = [topic for topic in TOPICS if few.owner(topic) != more.owner(topic)]
    assert {more.owner(topic) for topic in moved} == {"h"}
    assert 0.5 < len(moved) / (len(TOPICS) / 8) < 1.5


def test_owners_are_the_same_in_every_process() -> None:
    ring = Ring(("A", "B", "C"))
    assert "".join(ring.owner(topic) for topic in TOPICS[:12]) == "".join(Ring("CBA").owner(t) for t in TOPICS[:12])
    assert ring.owner("presence:ann") == "C"  # pinned: sites of different versions must agree
    with pytest.raises(ConfigError, match="there is no broker"):
        Ring(())


def listener() -> tuple[list[int], Callable[[Event], None]]:
    heard: list[int] = []
    return heard, lambda event: heard.append(event.at)


def test_subscriptions_behind_an_access_point_are_one_upstream() -> None:
    site = Site("s", "AB")
    point = Aggregator(site)
    clients = [listener() for _ in range(50)]
    for _, client in clients:
        point.join(client, "t")
    (asked,) = [broker._local["t"] for broker in site.brokers.values() if "t" in broker.topics]
    assert list(asked) == [point]
    site.publish(Event("t", "match", 7))
    assert [heard for heard, _ in clients] == [[7]] * 50
    for _, client in clients[:-1]:
        point.leave(client, "t")
    assert "t" in site.broker("t").topics
    point.leave_all(clients[-1][1])
    assert "t" not in site.broker("t").topics
    site.publish(Event("t", "match", 8))
    assert [heard for heard, _ in clients] == [[7]] * 50


def test_a_client_in_trouble_is_no_trouble_to_the_others() -> None:
    site = Site("s", "A")
    point = Aggregator(site)
    heard, client = listener()

    def broken(event: Event) -> None:
        raise RuntimeError(event.topic)

    point.join(broken, "t")
    point.join(client, "t")
    site.publish(Event("t", "match", 1))
    assert heard == [1]


def test_a_newcomer_is_shown_the_last_presence_and_nothing_of_other_topics() -> None:
    site = Site("s", "A")
    point = Aggregator(site)
    for at in (1, 2, 3):
        site.publish(Event("presence:ann", "presence", at))
        site.publish(Event("t", "match", at))
    heard, client = listener()
    point.join(client, "presence:ann")
    point.join(client, "presence:ann")
    point.join(client, "t")
    assert heard == [3]


def test_presence_that_is_late_or_known_is_no_news() -> None:
    site = Site("s", "A")
    heard, client = listener()
    Aggregator(site).join(client, "p")
    for at in (2, 1, 2, 3):
        site.publish(Event("p", "presence", at))
    assert heard == [2, 3]


def test_of_two_presences_at_one_moment_all_sites_keep_the_same() -> None:
    both = [Event("p", "presence", 1, {"track": track}) for track in ("a", "b")]
    brokers = Broker("A"), Broker("A")
    for event in both:
        brokers[0].publish(event)
    for event in reversed(both):
        brokers[1].twin_published(event)
    assert brokers[0]._last == brokers[1]._last


def test_presence_topics_take_bounded_room() -> None:
    broker = Broker("A", most_kept=2)
    for topic in ("p1", "p2", "p1", "p3"):
        broker.publish(Event(topic, "presence", 1 if topic != "p1" else len(broker._last)))
    assert list(broker._last) == ["p1", "p3"]


class Histories(RuleBasedStateMachine):
    """Any coming and going at two access points: brokers are asked for exactly what somebody online wants."""

    def __init__(self) -> None:
        super().__init__()
        self.site = Site("s", "ABC")
        self.points = [Aggregator(self.site), Aggregator(self.site)]
        self.clients = [[listener() for _ in range(3)] for _ in self.points]
        self.wanted: set[tuple[int, int, str]] = set()
        self.expected: Counter[tuple[int, int]] = Counter()
        self.published = 0

    where = st.tuples(st.integers(0, 1), st.integers(0, 2))
    topics = st.sampled_from(["t1", "t2", "t3", "t4"])

    @rule(who=where, topic=topics)
    def join(self, who: tuple[int, int], topic: str) -> None:
        self.points[who[0]].join(self.clients[who[0]][who[1]][1], topic)
        self.wanted.add((*who, topic))

    @rule(who=where, topic=topics)
    def leave(self, who: tuple[int, int], topic: str) -> None:
        self.points[who[0]].leave(self.clients[who[0]][who[1]][1], topic)
        self.wanted.discard((*who, topic))

    @rule(who=where)
    def go_offline(self, who: tuple[int, int]) -> None:
        self.points[who[0]].leave_all(self.clients[who[0]][who[1]][1])
        self.wanted = {one for one in self.wanted if one[:2] != who}

    @rule(topic=topics)
    def publish(self, topic: str) -> None:
        self.published += 1
        self.site.publish(Event(topic, "match", self.published))
        self.expected.update(one[:2] for one in self.wanted if one[2] == topic)

    @invariant()
    def brokers_are_asked_for_what_is_wanted(self) -> None:
        asked = {topic for broker in self.site.brokers.values() for topic in broker.topics}
        assert asked == {topic for *_, topic in self.wanted}
        for number, point in enumerate(self.points):
            assert set(point.topics) == {topic for where, _, topic in self.wanted if where == number}

    @invariant()
    def everyone_has_heard_each_event_once(self) -> None:
        heard = {
            (number, who): times
            for number, clients in enumerate(self.clients)
            for who, (times, _) in enumerate(clients)
            if times
        }
        assert {who: len(times) for who, times in heard.items()} == dict(self.expected)
        assert all(len(set(times)) == len(times) for times in heard.values())


TestHistories = Histories.TestCase


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6), st.text(max_size=9))
def test_every_topic_has_an_owner_whatever_the_names(names: list[str], topic: str) -> None:
    assert Ring(names).owner(topic) in names
