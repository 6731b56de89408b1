"""A site in a process of its own, for tests: dials the port it is given, and writes down every event its clients get.

Told on standard input: "join CLIENT TOPIC", "leave CLIENT TOPIC", "publish TOPIC TYPE NUMBER"; says "got CLIENT TOPIC
NUMBER" on standard output, and "done" after each line it was told.
"""

import asyncio
import sys
from collections.abc import Callable

from tidegate.deliver.event import Event
from tidegate.deliver.link import Link, keep_dialling
from tidegate.deliver.site import Aggregator, Site

BROKERS = ("A", "B", "C")


def client(name: str) -> Callable[[Event], None]:
    return lambda event: print("got", name, event.topic, event.at, flush=True)


async def serve(port: int) -> None:
    site = Site("far", BROKERS)
    points = (Aggregator(site), Aggregator(site))
    clients: dict[str, Callable[[Event], None]] = {}
    dialling = asyncio.create_task(keep_dialling(Link(site, beat_s=0.5), "127.0.0.1", port, lambda: 0.0))
    while line := (await asyncio.to_thread(sys.stdin.readline)).split():
        match line:
            case ["join", name, topic]:
                points[len(name) % 2].join(clients.setdefault(name, client(name)), topic)
            case ["leave", name, topic]:
                points[len(name) % 2].leave(clients[name], topic)
            case ["publish", topic, kind, number]:
                site.publish(Event(topic, kind, int(number)))
        print("done", flush=True)
    dialling.cancel()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
