"""`tidegate serve` as a process of its own on loopback, to be asked, stopped and killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import httpx

from tests.serve.scene import bearer

_COMMAND = "from tidegate.cli.app import main; main()"


class ServerProcess:
    """A server over a folder. It can be started again after it was killed."""

    def __init__(
        self, folder: Path, port: int | None = None, database: str | None = None, further: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.further = further
        self.database = database or f"sqlite:///{folder}/tidegate.db"
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def operator_key(self) -> str:
        return (self.folder / "key").read_text().strip()

    def start(self) -> "ServerProcess":
        options = {
            "--store": self.folder / "store",
            "--database": self.database,
            "--posts": self.folder / "posts",
            "--port": self.port,
            "--operator-key-file": self.folder / "key",
            "--requests-per-second": 10_000,
        }
        arguments = [str(each) for option in options.items() for each in option]
        log = (self.folder / "log").open("ab")
        command = [sys.executable, "-c", _COMMAND, "serve", *arguments, *self.further]
        self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait()
        return self

    def kill(self) -> None:
        """As the machine would: no time for anything."""
        self.stop(signal.SIGKILL)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; return the exit code."""
        assert self._process is not None
        os.kill(self._process.pid, number)
        return self._process.wait(30)

    def sign_up(self, name: str) -> str:
        answer = httpx.post(f"{self.url}/subscribers", json={"name": name}, headers=bearer(self.operator_key))
        assert answer.status_code == 201, answer.text
        key: str = answer.json()["key"]
        return key

    def further_key(self, name: str) -> str:
        answer = httpx.post(f"{self.url}/subscribers/{name}/keys", headers=bearer(self.operator_key))
        assert answer.status_code == 201, answer.text
        key: str = answer.json()["key"]
        return key

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def __enter__(self) -> "ServerProcess":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def _wait(self) -> None:
        assert self._process is not None
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert self._process.poll() is None, self.log()
            try:
                if httpx.get(f"{self.url}/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise TimeoutError(self.log())


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
