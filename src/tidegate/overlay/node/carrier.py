"""The sockets of a peer: a message that fits goes as a datagram, others by a connection, on the same port.

What may be open or be read is bounded, whoever writes. Nothing is said twice here, and nothing is promised: who needs
to know that a message has come waits for an answer.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.channels import CONNECTION_S, MOST_CONNECTIONS, Channels
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.messages import LARGEST

DATAGRAM: Final = 1232
"""Bytes that any network of today carries in one piece (IPv6)."""
_AT_ONCE: Final = 64
_BUFFER: Final = 1 << 20
_FULL: Final = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS})


class Carrier:
    """Open from `open` to `close`; `take` is called with all that comes, in the loop that it was opened in."""

    def __init__(self, take: Callable[[bytes], bool], counters: Counters) -> None:
        """Nothing is opened yet; `take` returns whether a peer may have said a message."""
        self._take, self._counters = take, counters
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._channels = Channels(counters)
        self._coming: dict[asyncio.Task[None], None] = {}
        """Those that have said nothing for longest come first."""

    async def open(self, at: Address) -> Address:
        """Listen there, by UDP and TCP; return where that is. With port 0, any that is free."""
        while True:
            try:
                return await self._open(at)
            except OSError as error:
                # Free for datagrams, but somebody's for connections: the next one may be free for both.
                if at.port == 0 and error.errno == errno.EADDRINUSE:
                    continue
                raise ConfigError(f"{at}: no peer can listen here: {error.strerror}") from error

    async def _open(self, at: Address) -> Address:
        family, _, _, _, place = (await asyncio.get_running_loop().getaddrinfo(*at, type=socket.SOCK_DGRAM))[0]
        opened = socket.socket(family, socket.SOCK_DGRAM)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            if family == socket.AF_INET6:
                # As for connections, where asyncio sees to it: a peer is reached by one family only.
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            opened.bind(place)
            host, port = opened.getsockname()[:2]
            self._server = await asyncio.start_server(self._answer, host, port, limit=DATAGRAM)
        except BaseException:
            opened.close()
            raise
        self._socket = opened
        asyncio.get_running_loop().add_reader(opened, self._drain)
        return Address(host, port)

    def send(self, message: bytes, to: Address) -> bool:
        """Say something; return false if there is no room for it now. It is counted if it is known not to go."""
        if self._socket is None:
            return False
        if len(message) > DATAGRAM:
            return self._channels.send(message, to)
        try:
            self._socket.sendto(message, tuple(to))
        except OSError as error:
            self._counters.unsent["datagram"] += 1
            return error.errno not in _FULL
        return True

    async def close(self, within_s: float = CONNECTION_S) -> None:
        """Neither hear nor say anything more; what goes by connections is given a moment."""
        if self._socket is None or self._server is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        # From here on nothing is taken on: what is heard would be answered, and the end put off.
        opened, self._socket = self._socket, None
        self._server.close()
        coming = list(self._coming)
        for task in coming:
            task.cancel()
        try:
            await self._channels.close(within_s)
        finally:
            opened.close()
            await asyncio.gather(*coming, return_exceptions=True)

    def _drain(self) -> None:
        """Take what has come, up to so much that other things have their turn."""
        if self._socket is None:
            return
        for _ in range(_AT_ONCE):
            try:
                message = self._socket.recv(DATAGRAM + 1)
            except BlockingIOError:
                return
            except OSError:
                # Of something that was sent: nobody was there.
                continue
            self._take(message)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._coming) >= MOST_CONNECTIONS:
            # Strangers may hold as many as they like: peers say something at once, and are not among the idle ones.
            self._counters.refused["busy"] += 1
            idle = next(iter(self._coming))
            del self._coming[idle]
            idle.cancel()
        self._coming[task] = None
        try:
            await self._hear(reader, task)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self._counters.refused["connection"] += 1
        except asyncio.CancelledError:
            # By `close`, or in favour of another one. The streams of Python 3.11 would print it.
            pass
        finally:
            self._coming.pop(task, None)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _hear(self, reader: asyncio.StreamReader, task: asyncio.Task[None]) -> None:
        """Take what a connection says, up to its end, or to the first message that no peer can have said.

        Between two messages others have their turn: whatever was read ahead is there at once. One that was accepted
        before the end may begin after it.
        """
        while self._socket is not None and (message := await self._read(reader)) is not None:
            if self._socket is None or not self._take(message):
                return
            # If it was ended meanwhile, it stays so.
            if task in self._coming:
                self._coming[task] = self._coming.pop(task)
            await asyncio.sleep(0)

    async def _read(self, reader: asyncio.StreamReader) -> bytes | None:
        """Return the next message of a connection, or None at its end, or if it is none for a connection."""
        async with asyncio.timeout(CONNECTION_S):
            head = await reader.read(1)
            if not head:
                return None
            size = int.from_bytes(head + await reader.readexactly(3))
            if not DATAGRAM < size <= LARGEST:
                self._counters.refused["size"] += 1
                return None
            return await reader.readexactly(size)
