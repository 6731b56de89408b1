"""Peers on loopback, for tests: quick to gossip and patient, since the machine may be busy."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from tidegate.deliver.ends import Address
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.settings import NodeSettings

KEY = b"a key that all peers share"
PATIENCE_S = 60.0


def settings(*join: Address, key: bytes | None = KEY, period_s: float = 0.05) -> NodeSettings:
    return NodeSettings(join=join, key=key, period_s=period_s, patience_s=1.5, first_receipt_s=0.1)


@asynccontextmanager
async def overlay(*topics: set[str]) -> AsyncIterator[list[Node]]:
    """Peers that follow these topics, all joined by the first; it has begun, and need not be complete."""
    async with AsyncExitStack() as stack:
        nodes: list[Node] = []
        for followed in topics:
            node = Node(settings(*(one.address for one in nodes[:1])))
            node.subscribe(*followed)
            nodes.append(await stack.enter_async_context(node))
        yield nodes


def is_complete(nodes: list[Node]) -> bool:
    """Whether everybody has the right successor and predecessor in each of its rings."""
    for topic in {topic for node in nodes for topic in node.topics}:
        ring = sorted((node for node in nodes if topic in node.topics), key=lambda node: node.id)
        for at, node in enumerate(ring):
            after, before = node.neighbours(topic)
            others = [ring[(at + 1) % len(ring)].id], [ring[at - 1].id]
            if len(ring) > 1 and (after[:1], before[:1]) != others:
                return False
    return True


async def read(node: Node, many: int) -> list[str]:
    """The texts of the next events of a peer, topic by topic."""
    await until(lambda: node.counters.delivered >= many, f"{many} events come to a peer")
    texts = []
    async for event in node.events():
        texts.append(f"{event.topic}: {event.text}")
        if len(texts) == many:
            break
    return sorted(texts)


def say(to: Address, *messages: bytes) -> None:
    """Send datagrams to a peer that are not from one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        for message in messages:
            mouth.sendto(message, to)


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something is so, and for long."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"it never came to be: {what}"
        await asyncio.sleep(0.02)
