"""One live feed for as long as a run lasts: it comes back by its cursor, whatever happens to the service."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import urlencode

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.service import HOST

_PAUSE_S: Final = 0.1
# Longer than heartbeats are apart.
_SILENCE_S: Final = 30.0


class Heard(NamedTuple):
    """A post, when it came (`time.monotonic`), and its cursor if it is in the inbox."""

    id: str
    at: float
    cursor: int | None


class Listener:
    """Follows a subscriber's feed in a thread of its own, from the beginning of its inbox on."""

    def __init__(self, port: int, key: str, topic: str | None = None) -> None:
        """Begin; a topic is followed as well."""
        self._port, self._key, self._topic = port, key, topic
        self.notified: list[Heard] = []
        self.present: list[Heard] = []
        """What is for the inbox, and what is presence."""
        self.openings = 0
        """How often the feed was opened."""
        self._cursor = 0
        self._has_ended = False
        self._connection: http.client.HTTPConnection | None = None
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    def faults(self, wanted: Iterable[str]) -> Faults:
        """Compare all notifications that came with those that had to."""
        cursors = [each.cursor for each in self.notified if each.cursor is not None]
        return Faults.of(wanted, (each.id for each in self.notified), cursors)

    def close(self) -> None:
        """Hang up."""
        self._has_ended = True
        if self._connection is not None and self._connection.sock is not None:
            with suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(_SILENCE_S)

    def _run(self) -> None:
        while not self._has_ended:
            # A service that is away answers with an error, or not at all; one that is killed falls silent in mid-line.
            with suppress(OSError, http.client.HTTPException):
                self._follow()
            time.sleep(_PAUSE_S)

    def _follow(self) -> None:
        self._connection = connection = http.client.HTTPConnection(HOST, self._port, timeout=_SILENCE_S)
        query = urlencode({"since": self._cursor, **({"topic": self._topic} if self._topic else {})})
        connection.request("GET", f"/live?{query}", headers={"Authorization": f"Bearer {self._key}"})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            return
        self.openings += 1
        fields: dict[str, str] = {}
        while line := answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            else:
                self._hear(fields)
                fields = {}

    def _hear(self, fields: dict[str, str]) -> None:
        match fields.get("event"):
            case "notification":
                self._cursor = int(fields["id"])
                self.notified.append(Heard(json.loads(fields["data"])["id"], time.monotonic(), self._cursor))
            case "presence":
                self.present.append(Heard(json.loads(fields["data"])["id"], time.monotonic(), None))


def comes_true(claim: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is true, for so long at most; say whether it is."""
    until = time.monotonic() + seconds
    while not (is_true := claim()) and time.monotonic() < until:
        time.sleep(0.01)
    return is_true
