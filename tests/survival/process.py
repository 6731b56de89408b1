"""Processes that are meant to die: each in a session of its own, killed with everything it has started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PROJECT = Path(__file__).parents[2]


class Process:
    """A command in a session of its own; `log` takes what it prints."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path = PROJECT,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @classmethod
    def python(cls, module: str, *arguments: str | Path, log: Path) -> "Process":
        return cls([sys.executable, "-m", module, *arguments], log)

    def is_running(self) -> bool:
        return self._popen.poll() is None

    def kill(self) -> None:
        """End it and its whole session with SIGKILL.

        Not its process group: Spark's Python workers leave that for one of their own.
        """
        while members := _session(self._popen.pid):
            for pid in members:
                _kill(pid)
            self._popen.poll()
            time.sleep(0.01)
        self._popen.wait()

    def terminate(self, seconds: float = 30) -> None:
        """Ask it to end, and wait until it has."""
        self._popen.terminate()
        self._popen.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Wait for it to end by itself, well."""
        code = self._popen.wait(seconds)
        assert code == 0, f"it ended with {code}:\n{self.last_words()}"

    def wait_until(self, happened: Callable[[], bool], seconds: float = 300) -> None:
        """Wait for something that it is to do while it runs."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert self.is_running(), f"it has ended too early:\n{self.last_words()}"
            assert time.monotonic() < deadline, f"waited {seconds} s in vain:\n{self.last_words()}"
            time.sleep(0.01)

    def commands(self) -> list[str]:
        """The command lines of its session."""
        found = []
        for pid in _session(self._popen.pid):
            with suppress(OSError):  # gone meanwhile
                found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
        return found

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])


def _session(leader: int) -> list[int]:
    """The processes of a session that are not dead yet."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # gone meanwhile
            continue
        if int(session) == leader and state not in "ZX":
            found.append(int(entry.name))
    return found


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
