"""A small web server on loopback that keeps what it is sent and answers as it is told."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    """What has arrived; `answers` are given in turn, the last one for ever. `silent`: no answer at all."""

    answers: Sequence[str] = ("204 No Content",)
    silent: bool = False
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
            self.requests.append(Request(line, headers, body))
            if self.silent:
                await asyncio.sleep(30)
            writer.write(f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(site: Site, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    server = await asyncio.start_server(site.handle, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
