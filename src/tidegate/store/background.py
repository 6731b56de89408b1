"""Upkeep in the background: in a process of its own, so that the threads of the one that asks for it are not slowed."""

import json
import logging
import os
import select
import subprocess
import sys
import time
from dataclasses import asdict
from threading import Thread
from types import TracebackType
from typing import Self

from tidegate.errors import TidegateError
from tidegate.store.lease import Lease
from tidegate.store.location import Location
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

# An end that does not come by itself, as with an object store that does not answer, is brought about.
_ENDING_S = 10.0
_log = logging.getLogger(__name__)


def start_background(store: Store, every_s: float = 30.0, policy: Policy | None = None) -> "Background":
    """Begin to keep a store tidy from another process, with so many seconds between the rounds."""
    return Background(store, every_s, policy or Policy())


class Background:
    """A process that does upkeep; it ends with the `with` block, and with the process that began it, killed or not."""

    def __init__(self, store: Store, every_s: float, policy: Policy) -> None:
        """Start it."""
        # In a session of its own, since an interrupt at the keyboard is for the one who began it.
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        told = {
            "url": store.location.url,
            "options": store.location.options,
            "every_s": every_s,
            "policy": asdict(policy),
        }
        # Not on the command line, which every user of the host can read: options may hold keys.
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it."""
        self.close()

    def close(self) -> None:
        """End it, in the middle of a round if need be, and wait until it is gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _main() -> None:
    parent = os.getppid()
    told = json.loads(sys.stdin.readline())
    location = Location(told["url"], tuple((key, value) for key, value in told["options"]))
    upkeep = Upkeep(Store(location), Policy(**told["policy"]))
    os.nice(5)  # the stream goes first
    Thread(target=_end_with, args=(parent, upkeep.lease), daemon=True).start()
    while True:
        try:
            upkeep.run_once()
        except TidegateError as error:
            _log.warning("upkeep of %s: %s", location.url, error)
        except Exception:  # whatever it was, the next round may do better
            _log.exception("upkeep of %s", location.url)
        time.sleep(told["every_s"])


def _end_with(parent: int, lease: Lease) -> None:
    """Wait until the parent closes the pipe or is gone (a fork of it may hold the pipe), and end this process."""
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 1.0)[0]:
        pass
    try:
        lease.release()
    finally:
        os._exit(0)


if __name__ == "__main__":
    logging.basicConfig()
    _main()
