"""Pins: which version of the store and of the plan a micro-batch sees, and how much of it is shed.

The first to ask for a batch decides, and every later one, in a replay after a crash too, is told the same. Pins are
also what keeps old versions readable: the newest of a query may be replayed, the older ones are done.
"""

import json
import time
from math import inf
from typing import NamedTuple

from tidegate.errors import StoreError
from tidegate.route.shedding import By
from tidegate.store.location import Location

JOB = "job-"
"""How the name begins under which a job pins that is no stream's: it ends some day, and is not replayed."""

_JOB_S = 86_400.0


class Pin(NamedTuple):
    """What a micro-batch is matched against."""

    store: int
    """The version of the subscription table."""
    plan: int
    """The version of the plan."""
    most: float = inf
    """How many matchers a post may visit, on average where it is no whole number: less than all under load."""
    by: By = "subscriptions"
    """What decides which."""


class Pins:
    """The pins of one store."""

    def __init__(self, location: Location) -> None:
        """Keep them below `location`."""
        self._location = location

    def at(self, query: str, batch: int) -> Pin | None:
        """What a batch of a streaming query was pinned to, if it was."""
        content = self._location.read(_name(query, batch))
        try:
            return None if content is None else Pin(**json.loads(content))  # JSON as Python writes it knows infinity
        except (ValueError, TypeError) as error:
            name = f"{self._location.url}/{_name(query, batch)}"
            raise StoreError(
                f"{name}: this pin is damaged: remove it, and the batch will see what is newest"
            ) from error

    def pin(self, query: str, batch: int, pin: Pin) -> Pin:
        """Pin a batch unless it is; return what it is pinned to."""
        if self._location.create(_name(query, batch), json.dumps(pin._asdict()).encode()):
            return pin
        found = self.at(query, batch)
        if found is None:
            raise StoreError(f"{self._location.url}: the pin of batch {batch} of query {query} has vanished")
        return found

    def needed(self, since: float) -> set[Pin]:
        """The newest pin of every query that has pinned a batch after `since` (seconds since 1970)."""
        newest = self._newest()
        pins = (self.at(query, batch) for query, (batch, at) in newest.items() if _is_needed(query, at, since))
        return {pin for pin in pins if pin is not None}

    def tidy(self, since: float) -> None:
        """Remove the pins of batches that a later one of their query has followed, and those that nobody needs."""
        newest = self._newest()
        for name in list(self._location.names("pins")):
            query, batch = _query_and_batch(name)
            last, at = newest.get(query, (batch, since))
            # The one before the newest stays: its offsets may be committed and its output asked about.
            if batch < last - 1 or not _is_needed(query, at, since):
                self._location.delete(name)

    def _newest(self) -> dict[str, tuple[int, float]]:
        """By query: its last batch, and when that was pinned."""
        newest: dict[str, tuple[int, float]] = {}
        for name, written in self._location.listing("pins"):
            query, batch = _query_and_batch(name)
            newest[query] = max(newest.get(query, (-1, 0.0)), (batch, written))
        return newest


def _is_needed(query: str, pinned: float, since: float) -> bool:
    return pinned >= (max(since, time.time() - _JOB_S) if query.startswith(JOB) else since)


def _name(query: str, batch: int) -> str:
    return f"pins/{query}/{batch:012}.json"


def _query_and_batch(name: str) -> tuple[str, int]:
    folder, _, file = name.rpartition("/")
    return folder.rpartition("/")[2], int(file.removesuffix(".json"))
