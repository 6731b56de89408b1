"""The process: an app on a port, until a signal; or a part of one, as long as the rest of it goes on."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn

from tidegate.errors import ConfigError
from tidegate.serve.app import make_app
from tidegate.serve.garbage import spared
from tidegate.serve.open_files import allow_open_files
from tidegate.serve.service import Service

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Requests that are under way when a signal comes have so long to be answered.
_GRACE_S = 10
_BACKLOG = 8192
# A reader that takes nothing for so long, or of whom nothing is heard, is gone: its feed would be held for nothing, and
# its subscriber be believed online, and not be told otherwise.
_SILENT_MS = 30_000


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve`: live feeds have to be told, and would not end by themselves."""
        yield


def serve(service: Service, host: str, port: int, listens: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGINT or SIGTERM; then let feeds end and requests be answered, and return.

    `listens` is called as soon as whoever asks will be answered.
    """
    # By the usual limit, which is there for programs that use select(), a thousand feeds would be too many.
    allow_open_files()
    with _listening(host, port) as listening:
        listens()
        config = _config(service)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_serve(_Server(config), service, listening))


@contextmanager
def serving(service: Service, host: str, port: int) -> Iterator[str]:
    """Serve from a thread of its own for as long as the block runs; yield the address. Port 0 is any that is free."""
    with _listening(host, port) as listening:
        config = _config(service)
        server = _Server(config)
        address = f"http://{host}:{listening.getsockname()[1]}"

        def run() -> None:
            with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
                runner.run(server.serve([listening]))

        thread = Thread(target=run, name="service")
        thread.start()
        try:
            while thread.is_alive() and not server.started:
                time.sleep(0.01)
            yield address
        finally:
            server.should_exit = True
            if server.started and thread.is_alive():
                service.hub.soon(service.hub.close)
            thread.join()


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A port that connections wait at; those that wait before there is a server are answered when there is."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; what is accepted here has it, too
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_MS)
    except OSError as error:
        said = f"{host}:{port}: cannot be listened on: {error.strerror or error}"
        raise ConfigError(f"{said}: choose another host or port") from error
    with listening:
        yield listening


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(service),
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=1 << 16,
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


async def _serve(server: _Server, service: Service, listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        service.hub.close()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    async with spared():
        await server.serve([listening])
