"""Connections to other peers, for messages that are too large for datagrams.

There is one to a place, as long as there is something to say, and a moment longer. How many there are is bounded, and
what waits for each; one that waits for the next message makes room for another place.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from tidegate.deliver.ends import Address
from tidegate.overlay.node.counters import Counters

MOST_CONNECTIONS: Final = 64
CONNECTION_S: Final = 5.0
"""The longest time for a connection to open, or to take a message."""
# A connection is kept for so long after a message: in a burst the next one comes soon.
_IDLE_S: Final = 0.5
_BUFFER: Final = 1 << 20


@dataclass(eq=False)
class _Channel:
    """What goes to one place. None ends it."""

    queue: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    size: int = 0
    """Bytes that wait."""
    unsaid: bytes | None = None
    """The message that is being said."""
    is_idle: bool = False
    """Whether all was said, and the next message is waited for."""

    async def next(self) -> bytes | None:
        """Return what waits, or comes soon."""
        message = None
        self.is_idle = self.queue.empty()
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_S):
                message = await self.queue.get()
        if message is None and not self.queue.empty():
            # It came at the last moment.
            message = self.queue.get_nowait()
        self.is_idle = False
        self.size -= len(message or b"")
        self.unsaid = message
        return message

    def left(self) -> int:
        """Take out what was not said; return how many messages that are."""
        many = int(self.unsaid is not None)
        while not self.queue.empty():
            many += self.queue.get_nowait() is not None
        return many


class Channels:
    """All connections that one peer opens."""

    def __init__(self, counters: Counters) -> None:
        """None is open; what is known not to go is counted."""
        self._counters = counters
        self._channels: dict[Address, _Channel] = {}
        """Those that were said nothing by for longest come first."""
        self._going: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many are open, or being opened."""
        return len(self._channels)

    def send(self, message: bytes, to: Address) -> bool:
        """Say something; return false if there is no room for it now."""
        channel = self._channels.pop(to, None) or self._opened(to)
        if channel is not None:
            self._channels[to] = channel
        if channel is None or channel.size > _BUFFER:
            self._counters.unsent["connection"] += 1
            return False
        channel.is_idle = False
        channel.queue.put_nowait(message)
        channel.size += len(message)
        return True

    async def close(self, within_s: float) -> None:
        """Say what waits, for so long at most, and nothing more."""
        for channel in self._channels.values():
            channel.queue.put_nowait(None)
        try:
            if self._going:
                await asyncio.wait(self._going, timeout=within_s)
        finally:
            going = list(self._going)
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)

    def _opened(self, to: Address) -> _Channel | None:
        """Return a new channel, if need be in place of one that is idle."""
        if len(self._channels) >= MOST_CONNECTIONS:
            idle = next((place for place, channel in self._channels.items() if channel.is_idle), None)
            if idle is None:
                return None
            self._channels.pop(idle).queue.put_nowait(None)
        channel = _Channel()
        task = asyncio.create_task(self._say_all(to, channel))
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return channel

    async def _say_all(self, to: Address, channel: _Channel) -> None:
        """Say one message after the other, as long as there are any."""
        message = await channel.next()
        try:
            with suppress(OSError, TimeoutError):
                while message is not None:
                    message = await self._say(to, channel, message)
        finally:
            if unsaid := channel.left():
                self._counters.unsent["connection"] += unsaid
            self._remove(to, channel)

    async def _say(self, to: Address, channel: _Channel, message: bytes) -> bytes | None:
        """Say a message by a new connection, and those that follow; return one that is for another connection, since
        the place has ended this."""
        async with asyncio.timeout(CONNECTION_S):
            reader, writer = await asyncio.open_connection(*to)
        # What was written is gone when it has left this machine: an idle channel holds nothing back.
        writer.transport.set_write_buffer_limits(0)
        following: bytes | None = message
        try:
            while following is not None:
                async with asyncio.timeout(CONNECTION_S):
                    writer.write(len(following).to_bytes(4) + following)
                    await writer.drain()
                channel.unsaid = None
                following = await channel.next()
                if reader.at_eof() or reader.exception() is not None:
                    break
            if following is None:
                # What comes from now on goes by another one.
                self._remove(to, channel)
                writer.close()
                async with asyncio.timeout(CONNECTION_S):
                    await writer.wait_closed()
        finally:
            # Also where somebody takes nothing: to close alone would wait for that for ever.
            writer.transport.abort()
        return following

    def _remove(self, to: Address, channel: _Channel) -> None:
        if self._channels.get(to) is channel:
            del self._channels[to]
