"""Learning while a job runs: the first plan after a training period, and new ones as the stream drifts (S³-TM §6.4).

Posts are drawn from the micro-batches themselves. Learning goes on in a thread of its own, and what it publishes is
followed from the next micro-batch on; if it fails, the stream goes on with the plan it has.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tidegate.errors import ConfigError, TidegateError
from tidegate.route.costs import Cluster
from tidegate.route.drift import Drift
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.spark.columns import Columns
from tidegate.spark.counts import Counts
from tidegate.spark.history import sample_of
from tidegate.spark.learning import Lesson, learn_from, visit_cost
from tidegate.store.store import Store

# Drawing posts reads a micro-batch once more: outside of training, not more often than this.
_DRAW_EVERY_S = 10.0
# After a failure, learning rests for twice as long each time.
_REST_S, _LONGEST_REST_S = 10.0, 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Schedule:
    """When a running job learns."""

    training: int = 100_000
    """Posts to learn from; the first plan is learned when there were so many."""
    every_s: float | None = None
    """Learn again after so long; None: not by the clock."""
    decay: float | None = None
    """Learn again when spread times imbalance has grown by this share; None: not by drift."""

    def __post_init__(self) -> None:
        """Refuse what is no schedule."""
        if self.training < 100 or (self.every_s is not None and self.every_s <= 0):
            raise ConfigError(f"{self}: train on 100 posts or more, and relearn after a time above 0")


class Relearning:
    """Belongs to the driver of one job; told of every micro-batch, before and after. Its failures stop nothing."""

    def __init__(
        self,
        store: Store,
        columns: Columns,
        plan: Plan,
        cluster: Cluster,
        schedule: Schedule,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Learn plans like `plan` for a store."""
        self._store, self._columns, self._plan, self._cluster = store, columns, plan, cluster
        self._schedule, self._say, self._clock = schedule, say, clock
        self._drawn: deque[Sample] = deque()
        self._last_draw, self._learned_at = float("-inf"), clock()
        self._watched: tuple[int, Drift] | None = None
        self._due = False
        self._thread: Thread | None = None
        self._visit_us: float | None = None
        self._failures, self._rest_until = 0, float("-inf")

    @property
    def training(self) -> bool:
        """Whether the job does not follow a plan like the wanted one yet."""
        return str(self._store.plans.newest()) != str(self._plan)

    def before(self, posts: DataFrame) -> None:
        """Draw posts from a micro-batch, if it is time for that."""
        try:
            if self._draws():
                self._draw(posts)
        except (TidegateError, PySparkException) as error:
            _log.warning("no posts were drawn to learn from: %s", error)

    def after(self, posts: DataFrame, counts: Counts, plan: Plan) -> None:
        """Take note of what a micro-batch did under a plan; start to learn, if it is time for that."""
        try:
            self._watch(counts, plan)
            if self._is_time():
                self._due, self._learned_at = False, self._clock()
                sample = Sample.joined(self._drawn)
                self._thread = Thread(target=self._learn, args=(sample, posts), name="tidegate-learning", daemon=True)
                self._thread.start()
        except TidegateError as error:
            _log.warning("whether to learn a plan could not be told: %s", error)

    def wait(self) -> None:
        """Wait until what is being learned is published."""
        if self._thread is not None:
            self._thread.join()

    def _draws(self) -> bool:
        if self._clock() < self._rest_until:
            return False
        if self.training:
            return True
        relearns = self._schedule.every_s is not None or self._schedule.decay is not None
        return relearns and self._clock() - self._last_draw >= _DRAW_EVERY_S

    def _draw(self, posts: DataFrame) -> None:
        self._last_draw = self._clock()
        self._drawn.append(sample_of(posts, self._columns, self._schedule.training))
        while sum(map(len, self._drawn)) - len(self._drawn[0]) >= self._schedule.training:
            self._drawn.popleft()

    def _watch(self, counts: Counts, plan: Plan) -> None:
        """Look for drift; what is shed, or done while another plan is on its way, says nothing of it."""
        if self._schedule.decay is None or not plan.learned or counts.shed or self._is_learning:
            return
        if not self._store.follows(plan):
            return  # older subscriptions still live by the plan before, whose decay must not be the measure of this one
        if self._watched is None or self._watched[0] != plan.version:
            self._watched = (plan.version, Drift(plan.matchers, self._schedule.decay, self._schedule.training))
            self._due = False
        self._due |= self._watched[1].observe(counts.posts, counts.visited)

    def _is_time(self) -> bool:
        every = self._schedule.every_s
        wanted = self._due or (every is not None and self._clock() - self._learned_at >= every) or self.training
        enough = sum(map(len, self._drawn)) >= self._schedule.training
        return wanted and enough and not self._is_learning and self._clock() >= self._rest_until

    @property
    def _is_learning(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _learn(self, sample: Sample, posts: DataFrame) -> None:
        try:
            lesson = Lesson(self._cluster, self._plan, len(sample), adjusting=True)
            self._visit_us = self._visit_us or visit_cost(posts.sparkSession)
            found, _ = learn_from(sample, self._store, lesson, self._visit_us, lambda _: None)
            published = self._store.publish(found.plan, found.words, found.places, gradually=True)
            self._failures = 0
            self._say(f"learned {published} from {len(sample):,} posts: version {published.version}")
        except Exception as error:
            self._failures += 1
            rest = min(_REST_S * 2**self._failures, _LONGEST_REST_S)
            self._rest_until = self._clock() + rest
            _log.warning("no plan was learned; it is tried again in %.0f s: %s", rest, error)
