"""The sockets of a peer: a message that fits goes as a datagram, another by a connection of its own, on the same port.

What may wait, be open or be read is bounded, whoever writes. Nothing is said twice here, and nothing is promised: who
needs to know that a message has come waits for an answer.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tidegate.deliver.ends import Address
from tidegate.errors import ConfigError
from tidegate.overlay.node.counters import Counters
from tidegate.overlay.node.messages import LARGEST

DATAGRAM: Final = 1232
"""Bytes that any network of today carries in one piece (IPv6)."""
_AT_ONCE: Final = 64
_MOST_CONNECTIONS: Final = 64
_CONNECTION_S: Final = 5.0
_BUFFER: Final = 1 << 20


class Carrier:
    """Open from `open` to `close`; `take` is called with all that comes, in the loop that it was opened in."""

    def __init__(self, take: Callable[[bytes], None], counters: Counters) -> None:
        """Nothing is opened yet."""
        self._take, self._counters = take, counters
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._going: set[asyncio.Task[None]] = set()
        self._coming: set[asyncio.Task[None]] = set()

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
            opened.bind(place)
            host, port = opened.getsockname()[:2]
            self._server = await asyncio.start_server(self._answer, host, port, limit=DATAGRAM)
        except BaseException:
            opened.close()
            raise
        self._socket = opened
        asyncio.get_running_loop().add_reader(opened, self._drain)
        return Address(host, port)

    def send(self, message: bytes, to: Address) -> None:
        """Say something; it is counted if it is known not to go."""
        if self._socket is None:
            return
        if len(message) > DATAGRAM:
            self._connect(message, to)
            return
        try:
            self._socket.sendto(message, tuple(to))
        except OSError:
            self._counters.unsent["datagram"] += 1

    async def close(self) -> None:
        """Neither hear nor say anything more; what goes by connections is given a moment."""
        if self._socket is None or self._server is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._server.close()
        if self._going:
            await asyncio.wait(self._going, timeout=_CONNECTION_S)
        for task in (*self._going, *self._coming):
            task.cancel()
        await asyncio.gather(*self._going, *self._coming, return_exceptions=True)
        self._socket.close()
        self._socket = None

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

    def _connect(self, message: bytes, to: Address) -> None:
        if len(self._going) >= _MOST_CONNECTIONS:
            self._counters.unsent["connection"] += 1
            return
        task = asyncio.create_task(self._say(message, to))
        self._going.add(task)
        task.add_done_callback(self._going.discard)

    async def _say(self, message: bytes, to: Address) -> None:
        try:
            async with asyncio.timeout(_CONNECTION_S):
                _, writer = await asyncio.open_connection(*to)
                try:
                    writer.write(len(message).to_bytes(4) + message)
                    await writer.drain()
                    writer.write_eof()
                finally:
                    writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError):
            self._counters.unsent["connection"] += 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._coming) >= _MOST_CONNECTIONS:
            self._counters.refused["busy"] += 1
            writer.close()
            return
        self._coming.add(task)
        try:
            async with asyncio.timeout(_CONNECTION_S):
                size = int.from_bytes(await reader.readexactly(4))
                if size > LARGEST:
                    self._counters.refused["size"] += 1
                    return
                message = await reader.readexactly(size)
            self._take(message)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self._counters.refused["connection"] += 1
        finally:
            self._coming.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
