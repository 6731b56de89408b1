"""Fifty real peers, of which a fifth are killed at once: the rings close again, and nobody misses a later event."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.overlay.node.hosts import Host
from tests.overlay.node.peers import PATIENCE_S

HOSTS, PEERS = 10, 5
KILLED = 2
TOPICS = [f"topic {number}" for number in range(15)]
EVENTS = 30


@pytest.fixture
def hosts() -> Iterator[list[Host]]:
    draw = random.Random(9)
    followed = [[draw.sample(TOPICS, 5) for _ in range(PEERS)] for _ in range(HOSTS)]
    started = [Host(followed[0])]
    started += [Host(topics, started[0].ask("addresses")[:1]) for topics in followed[1:]]
    yield started
    for host in started:
        host.end()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"it never came to be: {what}"
        time.sleep(0.1)


def rings_are_closed(hosts: list[Host]) -> bool:
    """Whether everybody who is there has the next ones in each of its rings, and nobody who is not."""
    rings = dict(peer for host in hosts for peer in host.ask("rings"))
    for topic in TOPICS:
        ring = sorted(peer for peer, followed in rings.items() if topic in followed)
        for at, peer in enumerate(ring):
            after, before = rings[peer][topic]
            if (after[:1], before[:1]) != ([ring[(at + 1) % len(ring)]], [ring[at - 1]]):
                return False
    return True


def test_every_live_peer_gets_every_later_event_once_though_a_fifth_were_killed_at_once(hosts: list[Host]) -> None:
    until(lambda: rings_are_closed(hosts), "rings are closed")
    live = hosts[: HOSTS - KILLED]
    for host in hosts[HOSTS - KILLED :]:
        host.kill()
    until(lambda: rings_are_closed(live), "rings are closed again")

    draw, published = random.Random(10), Counter[str]()
    for number in range(EVENTS):
        host, peer = draw.choice(live), draw.randrange(PEERS)
        topic = draw.choice(host.topics[peer])
        assert host.ask("publish", peer, topic, f"{host.topics[peer]} {number}")
        published[topic] += 1

    def everybody_is_quiet() -> bool:
        return all(under_way == 0 for host in live for _, under_way in host.ask("told"))

    def missing() -> int:
        return wanted - sum(len(texts) for host in live for texts, _ in host.ask("told"))

    followers = Counter(topic for host in live for topics in host.topics for topic in topics)
    # Whoever publishes is not told of it.
    wanted = sum(count * (followers[topic] - 1) for topic, count in published.items())
    until(lambda: missing() <= 0 and everybody_is_quiet(), "everybody is told")
    assert missing() == 0
    for host in live:
        for topics, (texts, _) in zip(host.topics, host.ask("told"), strict=True):
            assert len(set(texts)) == len(texts)
            assert {topic for topic, _ in texts} <= set(topics)
