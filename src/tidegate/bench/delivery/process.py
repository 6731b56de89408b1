"""Processes of a run, to be asked, measured and killed: `tidegate` commands, and clients."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tidegate.errors import TidegateError

_TIDEGATE: Final = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"
_GONE_S: Final = 30.0


class Process:
    """A Python process; `log` takes what it says on the standard error, and what it prints unless that is `piped`."""

    def __init__(self, arguments: Sequence[str | Path], log: Path, *, piped: bool = False) -> None:
        """Start it."""
        self._log = log
        with log.open("ab") as output:
            self._popen: Any = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else output,
                stderr=output,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
                text=True,
            )

    @classmethod
    def tidegate(cls, *arguments: str | Path, log: Path) -> "Process":
        """A command of the command line."""
        return cls(["-c", _TIDEGATE, *arguments], log)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def ask(self, line: str) -> str:
        """Say a line to a process that is piped, and read one."""
        try:
            self._popen.stdin.write(f"{line}\n")
            self._popen.stdin.flush()
        except BrokenPipeError as error:
            raise self.failure("has ended") from error
        return self.hear()

    def hear(self) -> str:
        """Read a line from a process that is piped."""
        line: str = self._popen.stdout.readline()
        if not line:
            raise self.failure("has ended")
        return line

    def kill(self) -> None:
        """End it with SIGKILL, and all that it has started, as if the machine had failed."""
        import psutil  # noqa: PLC0415  (of the extra `bench`)

        if self.is_running:
            leader = psutil.Process(self._popen.pid)
            everyone = [leader, *leader.children(recursive=True)]
            for each in everyone:
                # A child may have ended with its parent.
                if each.is_running():
                    each.kill()
            psutil.wait_procs(everyone[1:], timeout=_GONE_S)
        self._popen.wait(_GONE_S)

    def cpu_s(self) -> float:
        """The processor time that it has used, without that of others it has started."""
        import psutil  # noqa: PLC0415

        times = psutil.Process(self._popen.pid).cpu_times()
        return float(times.user + times.system)

    def failure(self, what: str) -> TidegateError:
        """An error that says what is wrong with it, and how its log ends."""
        end = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
        return TidegateError(f"{' '.join(map(str, self._popen.args[1:]))[-200:]} {what}; its log ends: {end}")
