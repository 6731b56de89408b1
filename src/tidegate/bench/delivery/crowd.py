"""Thousands of live feeds in one process, each a socket and little more: `python -m …crowd PORT`.

It takes JSON lines and answers each with one. The first has the keys, one for a feed; the answer says how long it took
to open them. Each further line has the posts that each feed is to be told of since the one before, in order; when they
have come, or do not come any more, the answer says how late they were, and what is missing, came twice or out of turn.
"""

import asyncio
import gc
import json
import re
import sys
import time
from typing import Any, Final

import numpy as np
import uvloop

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.service import HOST
from tidegate.serve.open_files import allow_open_files

_NOTIFICATION: Final = re.compile(rb'id: (\d+)\nevent: notification\ndata: .*?"id":"([^"]+)".*"sent":(\d+)')
_READY: Final = b"event: ready"
_AT_ONCE: Final = 64
_PATIENCE_S: Final = 20.0
_TICK_S: Final = 0.05


class Feed(asyncio.Protocol):
    """One live feed, and what it has brought."""

    def __init__(self, key: str) -> None:
        """Ask with a key."""
        self._key, self._rest = key, b""
        self.is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.told: list[str] = []
        """Posts."""
        self.cursors: list[int] = []
        self.late_ms: list[float] = []

    def connection_made(self, transport: Any) -> None:
        """Ask for the feed."""
        transport.write(f"GET /live HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {self._key}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Note what came, and when."""
        now = time.time_ns()
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            if found := _NOTIFICATION.search(event):
                self.cursors.append(int(found[1]))
                self.told.append(found[2].decode())
                self.late_ms.append((now - int(found[3])) / 1e6)
            elif _READY in event:
                self.is_ready.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Say so to whoever waits for it."""
        if not self.is_ready.done():
            self.is_ready.set_exception(ConnectionError(f"a feed was not opened: {self._rest[:300]!r}"))


async def opened(port: int, keys: list[str]) -> list[Feed]:
    """Open a feed for each key, some at a time."""
    loop, room = asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE)

    async def one(key: str) -> Feed:
        async with room:
            _, feed = await loop.create_connection(lambda: Feed(key), HOST, port)
            await feed.is_ready
        return feed

    return await asyncio.gather(*map(one, keys))


async def arrived(feeds: list[Feed], expected: list[list[str]]) -> dict[str, Any]:
    """Wait for what is expected of each feed, compare what came, and begin anew."""
    total, came, until = sum(map(len, expected)), -1, 0.0
    while came < total:
        now = sum(len(feed.told) for feed in feeds)
        if now > came:
            came, until = now, time.monotonic() + _PATIENCE_S
        elif time.monotonic() > until:
            break
        await asyncio.sleep(_TICK_S)
    await asyncio.sleep(_TICK_S)  # for what may come twice
    faults, late = [], list[float]()
    for feed, posts in zip(feeds, expected, strict=True):
        faults.append(Faults.of(posts, feed.told, feed.cursors))
        faults.append(Faults(misplaced=len(posts) == len(feed.told) and posts != feed.told))
        late += feed.late_ms
        feed.told, feed.cursors, feed.late_ms = [], feed.cursors[-1:], []
    median, p99, most = np.percentile(late, [50, 99, 100]).tolist() if late else [None] * 3
    return {"arrived": len(late), "p50_ms": median, "p99_ms": p99, "max_ms": most, **Faults.all(faults)._asdict()}


async def attend(port: int) -> None:
    """Do as the lines of the standard input say, until they end."""
    keys = json.loads(await asyncio.to_thread(sys.stdin.readline))
    allow_open_files(len(keys))
    began = time.monotonic()
    feeds = await opened(port, keys)
    print(json.dumps({"opened_s": time.monotonic() - began}), flush=True)
    # What is there stays: looking through it again and again would delay what is timed.
    gc.collect()
    gc.freeze()
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await arrived(feeds, json.loads(line))), flush=True)


if __name__ == "__main__":
    uvloop.run(attend(int(sys.argv[1])))
