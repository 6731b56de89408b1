"""What jobs have seen lately, as they leave it beside the store."""

import logging
import time
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final

from tidegate.errors import StoreError
from tidegate.serve.sample import Sample
from tidegate.store.glimpses import Glimpse, Glimpses

# Jobs leave something every few seconds: nobody needs to look for it more often.
_LOOK_EVERY_S: Final = 2.0
_log = logging.getLogger(__name__)


class Seen:
    """The glimpses of all jobs on a store, each read once. May be shared by threads."""

    def __init__(self, glimpses: Glimpses, timer: Callable[[], float] = time.monotonic) -> None:
        """Look for them when they are asked for, but not again and again; `timer` counts seconds."""
        self._glimpses, self._timer = glimpses, timer
        self._lock = Lock()
        self._look_at = float("-inf")
        self._read: dict[str, tuple[float, Glimpse]] = {}

    def samples(self, since: int) -> Iterator[Sample]:
        """What each job has seen since a moment (microseconds), as far as it has seen anything."""
        for _, whole in self._known().values():
            glimpse = whole.since(since)
            if glimpse.looks:
                each = glimpse.weights * (glimpse.per_day / glimpse.stands_for)
                yield Sample(glimpse.posts, glimpse.seen, each, glimpse.stands_for)

    def _known(self) -> dict[str, tuple[float, Glimpse]]:
        with self._lock:
            if self._timer() >= self._look_at:
                try:
                    self._read = dict(self._looked())
                except StoreError as error:
                    _log.warning("what jobs have seen lately cannot be read: %s", error)
                self._look_at = self._timer() + _LOOK_EVERY_S
            return self._read

    def _looked(self) -> Iterator[tuple[str, tuple[float, Glimpse]]]:
        for run, written in self._glimpses.written().items():
            known = self._read.get(run)
            if known is not None and known[0] == written:
                yield run, known
            elif (glimpse := self._glimpses.read(run)) is not None:
                yield run, (written, glimpse)
