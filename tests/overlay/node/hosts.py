"""Peers in processes of their own, which can be killed: each process has some, and does what it is asked by a pipe."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tests.overlay.node.peers import settings
from tidegate.deliver.ends import Address
from tidegate.overlay.node.node import Node

# One process imports everything, and the others are copies of it.
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.overlay.node.hosts", "tests.overlay.node.warm"])


@dataclass
class Host:
    """A process with peers; `ask` has it do something, as `_do` says."""

    topics: list[list[str]]
    """By peer."""
    join: list[Address] = field(default_factory=list)
    """None: its other peers join by the first one."""
    period_s: float = 0.2

    def __post_init__(self) -> None:
        """Start it."""
        self._pipe, end = _CONTEXT.Pipe()
        self._process: BaseProcess = _CONTEXT.Process(
            target=_run, args=(end, self.topics, self.join, self.period_s), daemon=True
        )
        self._process.start()
        end.close()

    def ask(self, *what: Any) -> Any:
        """Have it done, and return what comes of it."""
        self._pipe.send(what)
        assert self._pipe.poll(120), f"no answer to {what[0]}"
        return self._pipe.recv()

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join(60)

    def end(self) -> None:
        """Let its peers take their leave."""
        if self._process.is_alive():
            self.ask("end")
            self._process.join(60)


def _run(pipe: Connection, topics: list[list[str]], join: list[Address], period_s: float) -> None:
    asyncio.run(_serve(pipe, topics, join, period_s))


async def _serve(pipe: Connection, topics: list[list[str]], join: list[Address], period_s: float) -> None:
    nodes: list[Node] = []
    asked: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
    asyncio.get_running_loop().add_reader(pipe.fileno(), lambda: asked.put_nowait(pipe.recv()))
    async with AsyncExitStack() as stack:
        for followed in topics:
            node = Node(settings(*(join or [one.address for one in nodes[:1]]), period_s=period_s))
            node.subscribe(*followed)
            nodes.append(await stack.enter_async_context(node))
        told: list[list[tuple[str, str]]] = [[] for _ in nodes]
        readers = [asyncio.create_task(_read(*pair)) for pair in zip(nodes, told, strict=True)]
        while (what := await asked.get())[0] != "end":
            pipe.send(await _do(what, nodes, told))
    await asyncio.gather(*readers)
    pipe.send(None)


async def _read(node: Node, told: list[tuple[str, str]]) -> None:
    async for event in node.events():
        told.append((event.topic, event.text))


async def _do(what: tuple[Any, ...], nodes: list[Node], told: list[list[tuple[str, str]]]) -> Any:
    match what:
        case ("addresses",):
            return [node.address for node in nodes]
        case ("rings",):
            return [(node.id, {topic: node.neighbours(topic) for topic in node.topics}) for node in nodes]
        case ("publish", number, topic, text):
            return await nodes[number].publish(topic, text)
        case ("told",):
            return [(list(texts), node.status()["spreading"]) for texts, node in zip(told, nodes, strict=True)]
        case ("counters",):
            return [node.counters.to_json() for node in nodes]
    raise AssertionError(what)
