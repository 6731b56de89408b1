"""A PostgreSQL server of one's own, from the wheel `pgserver`: to measure on, and to be killed.

Started by root, it runs as a user of its own, whom the wheel makes. It listens on a socket in its folder only.
"""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg

_GONE_S: Final = 30.0


class Server:
    """A running server, with a folder of its own that vanishes with it."""

    def __init__(self) -> None:
        """Make one and start it, which takes about two seconds."""
        with warnings.catch_warnings():
            # The wheel asks for the user's run-time folder as it is imported, and a service may have none.
            warnings.simplefilter("ignore")
            from pgserver.postgres_server import get_server  # noqa: PLC0415

            self._folder = tempfile.mkdtemp(prefix="tidegate-postgres-")
            self._server: Any = get_server(self._folder, cleanup_mode="stop")

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"tidegate_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url: str = self._server.get_uri(database=name)
        return url.replace("postgresql://", "postgresql+psycopg://")

    def kill(self) -> None:
        """End it with SIGKILL, and wait until all of its processes are gone: their memory is shared."""
        import psutil  # noqa: PLC0415

        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(self._server.get_pid())
            everyone = [leader, *leader.children()]
            # The leader first: it would start a child again. They would notice by themselves, but only in a while.
            for each in everyone:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            psutil.wait_procs(everyone, timeout=_GONE_S)

    def restart(self) -> None:
        """Start it again; it recovers what was committed."""
        self._server.ensure_postgres_running()

    def close(self) -> None:
        """End it and remove everything; with nothing to keep, there is no reason to wait for a clean end."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server for as long as the context lasts."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
