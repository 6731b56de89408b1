"""What the streaming queries of this process have done and how they fare: counts, rates, lag, latency.

Counts come from the stages, the rest from Spark; who shows them (`prometheus`, `tidegate status`) reads them here.
"""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Condition
from typing import Any, Final, NamedTuple

from tidegate.spark.counts import Counts

RANKED_LEVELS: Final = frozenset({"feeds", "held", "held_bytes"})
"""Of what a batch counts where it ranks: how much there is, and not how much has come."""


class Lag(NamedTuple):
    """What waits at a source."""

    waiting: int
    unit: str
    """Of what: posts, messages or files."""


class Progress(NamedTuple):
    """What Spark tells of a micro-batch that has ended."""

    began: float
    """In seconds since 1970."""
    seconds: float
    input_per_s: float | None = None
    processed_per_s: float | None = None
    lag: Lag | None = None
    state_bytes: int | None = None
    """What the query holds between batches, on disk; old versions that are not tidied up yet among it."""


@dataclass
class Figures:
    """Of one streaming query, since this process started it. None is what nobody knows."""

    query: str
    batch: int = -1
    """The last one that has ended."""
    batches: int = 0
    last: Counts = field(default_factory=Counts)
    """Of the last batch."""
    total: Counts = field(default_factory=Counts)
    progress: Progress | None = None
    """Of the last batch; it comes a little after its counts."""
    latency_s: float | None = None
    """How long a post of the last batch has waited for its matches at most, if it found no lag when it came."""
    ranked: dict[str, int] = field(default_factory=dict)
    """What the last batch counted where it ranked matches, as `rank_counts` has it."""
    ranked_total: Counter[str] = field(default_factory=Counter)
    """The same since the start, but for what is held at a time."""
    offloading: dict[str, int] = field(default_factory=dict)
    """What is told in real time and what is not, as `Standing` has it; empty where nothing is offloaded."""
    active: bool = True

    @property
    def waiting(self) -> int | None:
        """How many posts, or files, wait at the source, as far as is known."""
        return self.progress.lag.waiting if self.progress and self.progress.lag else None

    @property
    def candidates_per_post(self) -> float | None:
        """How many candidates the indexes proposed for a post of the last batch."""
        return self.last.candidates / self.last.posts if self.last.posts else None

    def summary(self) -> dict[str, Any]:
        """All of it as plain values, as they are written into a status."""
        progress = self.progress or Progress(0.0, 0.0)
        known = {
            "candidates_per_post": self.candidates_per_post,
            "lag": None if progress.lag is None else progress.lag._asdict(),
            "batch_s": self.progress and progress.seconds,
            "input_per_s": progress.input_per_s,
            "processed_per_s": progress.processed_per_s,
            "state_bytes": progress.state_bytes,
            "latency_s": self.latency_s,
            "ranked": self.ranked or None,
            "ranked_total": dict(self.ranked_total) or None,
            "offloading": self.offloading or None,
        }
        return {
            "batches": self.batches,
            "total": _plain(self.total),
            "last": _plain(self.last),
            **{name: value for name, value in known.items() if value is not None},
        }


class Metrics:
    """The figures of any number of queries. Safe to use from several threads."""

    def __init__(self) -> None:
        """Know of no query yet."""
        self._lock = Condition()
        self._queries: dict[str, Figures] = {}

    def counted(self, query: str, batch: int, counts: Counts) -> None:
        """Take the counts of a batch."""
        with self._lock:
            figures = self._figures(query)
            figures.batch, figures.last = batch, counts
            figures.batches += 1
            figures.total.add(counts)

    def ranked(self, query: str, counts: Mapping[str, int]) -> None:
        """Take what a batch counted where it ranked matches."""
        with self._lock:
            figures = self._figures(query)
            figures.ranked = dict(counts)
            figures.ranked_total.update({name: count for name, count in counts.items() if name not in RANKED_LEVELS})

    def offloaded(self, query: str, standing: Mapping[str, int]) -> None:
        """Take what was decided of topics, and what came of it so far."""
        with self._lock:
            self._figures(query).offloading = dict(standing)

    def progressed(self, query: str, progress: Progress, trigger_s: float | None = None) -> None:
        """Take what Spark tells of a batch; the latency follows from it where the trigger is known."""
        with self._lock:
            figures = self._figures(query)
            earlier, figures.progress = figures.progress, progress
            if earlier is not None and trigger_s is not None:
                # The worst moment to come is right after the batch before has begun: it is too late for that one.
                missed = min(progress.began - earlier.began, max(earlier.seconds, trigger_s))
                figures.latency_s = missed + progress.seconds

    def ended(self, query: str) -> None:
        """Note that a query has ended; its figures stay."""
        with self._lock:
            self._figures(query).active = False
            self._lock.notify_all()

    def wait_for_end(self, query: str, seconds: float) -> bool:
        """Wait until a query is known to have ended, so long at most; return whether it is: then its figures are whole.

        Spark tells of batches in order, and after they have ended; last of all it tells the end.
        """
        with self._lock:
            return self._lock.wait_for(lambda: not self._figures(query).active, seconds)

    def of(self, query: str) -> Figures:
        """The figures of a query as they are now; zeros where nothing is known yet."""
        with self._lock:
            return deepcopy(self._queries.get(query) or Figures(query))

    def all(self) -> list[Figures]:
        """The figures of all queries as they are now."""
        with self._lock:
            return deepcopy(list(self._queries.values()))

    def _figures(self, query: str) -> Figures:
        return self._queries.setdefault(query, Figures(query))


def _plain(counts: Counts) -> dict[str, Any]:
    by_number = {
        name: {str(number): count for number, count in sorted(counted.items())}
        for name, counted in (("loads", counts.loads), ("visited", counts.visited), ("wanted", counts.wanted))
    }
    return {**vars(counts), **by_number}
