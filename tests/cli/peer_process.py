"""`tidegate overlay node` as a process, for tests: what it prints is gathered as it comes."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"
PATIENCE_S = 90.0


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"it never came to be: {what}"
        time.sleep(0.05)


class Peer:
    """A process; what it prints is gathered as it comes, if anybody reads that."""

    def __init__(self, *arguments: str, folder: Path | None = None, is_read: bool = True) -> None:
        command = [sys.executable, "-c", PROGRAM, "overlay", "node", "--period", "100ms", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.told: list[str] = []
        self.said: list[str] = []
        for stream, lines in ((self.process.stdout, self.told), (self.process.stderr, self.said)):
            assert stream is not None
            if stream is self.process.stdout and not is_read:
                continue
            threading.Thread(target=self._gather, args=(stream, lines), daemon=True).start()

    @staticmethod
    def _gather(stream: IO[str], lines: list[str]) -> None:
        lines.extend(iter(stream.readline, ""))

    @property
    def address(self) -> str:
        until(lambda: bool(self.said), "a peer says where it is")
        found = re.search(r"--join (\S+)", self.said[0])
        assert found is not None, self.said
        return found[1]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(event["topic"], event["text"]) for event in map(json.loads, self.told)]

    def end(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
