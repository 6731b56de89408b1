"""A store filled with drawn subscriptions, once in a run, for all that is measured on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidegate.bench.index.measure import timed
from tidegate.bench.pipeline.searches import Searches
from tidegate.errors import TidegateError
from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs
from tidegate.route.forecast import Evidence
from tidegate.route.learning import learned
from tidegate.route.place_map import PlaceMap
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.route.word_map import WordMap
from tidegate.store.pins import Pin
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

# What ten million subscriptions take while they are parsed must not be in memory all at once.
_ROWS: Final = 250_000
_LEARNED_FROM: Final = 200_000
_PLANNED_FOR: Final = 100_000
# Where a head ends depends on these only in proportion; half of all subscriptions may be on a host.
_COSTS: Final = Costs(0.5, 0.2, 5.0, (100.0, 1e7), (0.3, 2.0), 60.0)


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

    def spread(self, plan: Plan) -> tuple[Pin, float]:
        """Compile the same subscriptions for a plan, learned if it has to be; return its versions, and the seconds."""
        plan = self.store.publish(*self._learned(plan))
        seconds, _ = timed(lambda: self.store.opener.cover(self.at.store, plan))
        return Pin(self.at.store, plan.version), seconds

    def _learned(self, plan: Plan) -> tuple[Plan, WordMap | None, PlaceMap | None]:
        """Learn from the last posts of the corpus, which are not those that are timed."""
        if not plan.learned:
            return plan, None, None
        texts = self.searches.corpus.texts
        sample = Sample.of(pa.table({"text": texts.slice(max(0, len(texts) - _LEARNED_FROM))}), Analyzer())
        rows = self.searches.changes(0, min(len(self), _PLANNED_FOR))
        asked, _ = Asked.read(rows["id"], rows["query"], Analyzer())
        cluster = Cluster(plan.matchers, host_bytes=_COSTS.subscription_bytes * len(self) / 2)
        found = learned(plan, sample, Evidence(sample, asked, len(self), _COSTS, cluster))
        return found.plan, found.words, found.places


def _apply(store: Store, searches: Searches) -> None:
    for first in range(0, len(searches), _ROWS):
        refused = store.apply(searches.changes(first, _ROWS)).refused
        if refused:
            raise TidegateError(f"a drawn subscription was refused: {refused[0].error}")
