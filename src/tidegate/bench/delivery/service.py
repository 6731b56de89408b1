"""`tidegate serve` as a process of its own on loopback, and how it is asked."""

import http.client
import json
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from tidegate.bench.delivery.process import Process
from tidegate.errors import TidegateError

HOST: Final = "127.0.0.1"
PATIENCE_S: Final = 60.0
"""A service starts within so long, and does what it does for the first time, however busy the machine is."""
_PAUSE_S: Final = 0.05
_ANSWER_S: Final = 10.0


class UnansweredError(TidegateError):
    """A request that was not answered, or not as it should be: it may have been heeded nonetheless."""


class Service:
    """A service over a folder and a database; it may be killed and started again, on the same port."""

    def __init__(self, folder: Path, database: str) -> None:
        """Put what it needs into a folder."""
        self.folder, self.database, self.port = folder, database, _free_port()
        self.process: Process | None = None

    @property
    def posts(self) -> Path:
        """Where it puts posts."""
        return self.folder / "posts"

    @property
    def store(self) -> Path:
        """Where it has subscriptions."""
        return self.folder / "store"

    @property
    def operator_key(self) -> str:
        """A key that may do anything."""
        return (self.folder / "key").read_text().strip()

    def start(self) -> Process:
        """Start it, and wait until it answers."""
        options = {
            "--store": self.store,
            "--database": self.database,
            "--posts": self.posts,
            "--port": self.port,
            "--operator-key-file": self.folder / "key",
            "--requests-per-second": 100_000,
            "--matches-per-day": 1_000_000_000,
        }
        arguments = [str(each) for option in options.items() for each in option]
        self.process = Process.tidegate("serve", *arguments, log=self.folder / "serve.log")
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            if not self.process.is_running or time.monotonic() > until:
                self.process.kill()
                raise self.process.failure("does not answer")
            time.sleep(_PAUSE_S)
        return self.process

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self.process is not None:
            self.process.kill()

    def sign_up(self, name: str) -> str:
        """Make a subscriber; return its key."""
        key: str = self.ask("POST", "/subscribers", self.operator_key, {"name": name}, PATIENCE_S)["key"]
        return key

    def ask(self, method: str, path: str, key: str, body: Any = None, seconds: float = _ANSWER_S) -> Any:
        """Ask for something, and return the answer; raise `UnansweredError` for none in time, and for a refusal."""
        with closing(http.client.HTTPConnection(HOST, self.port, timeout=seconds)) as connection:
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            try:
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                said = answer.read()
            except (OSError, http.client.HTTPException) as error:
                raise UnansweredError(f"{method} {path}: {error}") from error
        if answer.status >= 300:
            raise UnansweredError(f"{method} {path}: {answer.status} {said.decode(errors='replace'):.300}")
        return json.loads(said)

    def _answers(self) -> bool:
        try:
            self.ask("GET", "/healthz", "")
        except UnansweredError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
        return port
