"""A store filled with drawn subscriptions, once in a run, for all that is measured on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidegate.bench.index.measure import timed
from tidegate.bench.pipeline.searches import Searches
from tidegate.errors import TidegateError
from tidegate.route.plan import Plan
from tidegate.store.pins import Pin
from tidegate.store.store import Store

# What ten million subscriptions take while they are parsed must not be in memory all at once.
_ROWS: Final = 250_000


@dataclass(frozen=True)
class Subscribed:
    """Subscriptions that lie in a store, compiled, and what that took."""

    searches: Searches
    store: Store
    at: Pin
    """The versions that all timed batches match against."""
    apply_seconds: float
    compile_seconds: float

    @classmethod
    def fill(cls, folder: Path, searches: Searches) -> "Subscribed":
        """Make a store of the subscriptions, and compile it for plan *replicate*."""
        store = Store.open(folder)
        apply_seconds, _ = timed(lambda: _apply(store, searches))
        compile_seconds, _ = timed(lambda: store.opener.cover(store.version, store.plans.newest()))
        return cls(searches, store, store.newest(), apply_seconds, compile_seconds)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self.searches)

    def spread(self, matchers: int) -> tuple[Pin, float]:
        """Compile the same subscriptions for a plan with so many matchers; return its versions, and the seconds."""
        plan = self.store.publish(Plan.hash(matchers))
        seconds, _ = timed(lambda: self.store.opener.cover(self.at.store, plan))
        return Pin(self.at.store, plan.version), seconds


def _apply(store: Store, searches: Searches) -> None:
    for first in range(0, len(searches), _ROWS):
        refused = store.apply(searches.changes(first, _ROWS)).refused
        if refused:
            raise TidegateError(f"a drawn subscription was refused: {refused[0].error}")
