"""Learning a plan for a store from the history of a stream: what `tidegate learn` does.

Words are counted and posts drawn by Spark; what is learned from is a sample that fits the driver.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.csr import Csr, offsets_of
from tidegate.errors import ConfigError, StoreError
from tidegate.index.asked import Asked
from tidegate.index.strings import strings
from tidegate.route.costs import Cluster, Costs, measured_matching
from tidegate.route.forecast import Evidence, forecast
from tidegate.route.learning import Learned, alternatives, best, learned, readjusted
from tidegate.route.maps import GRAPH_LEARNERS
from tidegate.route.placement import place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.route.sample import Sample
from tidegate.route.word_graph import WordGraph
from tidegate.route.word_map import WordMap
from tidegate.spark.columns import Columns
from tidegate.spark.history import pair_counts, sample_of, word_counts
from tidegate.store.level import place_map, word_map
from tidegate.store.schema import whole_queries
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.workload.posts import posts as generated_posts

# Of ten posts, one is kept to see what a map does to posts that it was not learned from.
_FOLDS = 10
_SUBSCRIPTIONS = 200_000
_PROBE_POSTS = 20_000
_VISITS = 100_000
# METIS partitions so many words, and millions of pairs, in seconds; the rare ones decide nothing.
_GRAPH_WORDS = 50_000

Say = Callable[[str], None]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lesson:
    """What is asked for."""

    cluster: Cluster
    plan: Plan | None = None
    """None: whichever is forecast to be best."""
    sample: int = 1_000_000
    """Posts to learn from."""
    adjusting: bool = False
    """Whether to adjust the store's newest plan, if it is like the wanted one and goes by places, where that does."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what nothing can be learned from."""
        if self.sample < _FOLDS:
            raise ConfigError(f"a sample of {self.sample} posts: {_FOLDS} are the least to learn from")
        if self.plan is not None and self.plan.partitions and self.plan.matchers != self.cluster.matchers:
            raise ConfigError(
                f"plan {self.plan} for {self.cluster.matchers} matchers: give the number once, or the same twice"
            )


def learn_plan(
    posts: DataFrame, columns: Columns, store: Store, lesson: Lesson, say: Say
) -> tuple[Learned, list[Learned]]:
    """Learn from posts, a batch; return the plan to be published, and all that it was chosen from."""
    say(f"drawing up to {lesson.sample:,} posts")
    sample = sample_of(posts, columns, lesson.sample, lesson.seed)
    if len(sample) < _FOLDS:
        raise ConfigError(f"the history has {len(sample)} posts with words: {_FOLDS} are the least to learn from")
    say(f"{len(sample):,} posts with {len(sample.words):,} words; measuring what matching and a visit cost here")
    visit_us = visit_cost(posts.sparkSession)
    if lesson.plan is None or lesson.plan.kind not in GRAPH_LEARNERS:
        return learn_from(sample, store, lesson, visit_us, say)
    say(f"learning {lesson.plan} from the pairs of words in the whole history")
    words = words_by_graph(posts, columns, lesson.plan)
    found = Learned(lesson.plan, words, forecast(lesson.plan, words, _evidence(sample, store, lesson, visit_us)[1]))
    return found, [found]


def words_by_graph(posts: DataFrame, columns: Columns, plan: Plan) -> WordMap:
    """Learn a map from the graph of words that Spark counts over a history; the rarest words are left to hash."""
    common = word_counts(posts, columns).orderBy(F.desc("posts"), "word").limit(_GRAPH_WORDS).toArrow()
    words, frequency = strings(common["word"]), common["posts"].to_numpy()
    pairs = pair_counts(posts, columns, words.to_pylist()).toArrow()
    first, second, together = (pairs[name].to_numpy().astype(np.int64) for name in ("first", "second", "posts"))
    owners = GRAPH_LEARNERS[plan.kind](WordGraph.of_pairs(first, second, together, frequency), plan.matchers)
    alone = Csr(offsets_of(np.ones(len(owners), np.int64)), owners)
    return WordMap(plan.matchers, words, frequency, posts.count(), alone)


def learn_from(
    sample: Sample, store: Store, lesson: Lesson, visit_us: float, say: Say
) -> tuple[Learned, list[Learned]]:
    """Learn from a sample, in the order in which its posts were drawn."""
    to_learn, evidence = _evidence(sample, store, lesson, visit_us)
    if lesson.plan is not None:
        newest = store.plans.newest()
        if lesson.adjusting and newest.by_place and str(newest) == str(lesson.plan):
            say(f"adjusting {newest}")
            found = _readjusted(newest, store, to_learn, evidence)
        else:
            say(f"learning {lesson.plan}")
            found = learned(lesson.plan, to_learn, evidence)
        return found, [found]
    every = []
    for one in alternatives(to_learn, evidence):
        say(f"{one.plan}: {one.forecast.throughput:,.0f} posts a second are to be expected")
        every.append(one)
    return best(every), every


def _evidence(sample: Sample, store: Store, lesson: Lesson, visit_us: float) -> tuple[Sample, Evidence]:
    """Divide a sample into the posts to learn from and those that forecasts go by."""
    kept = np.arange(len(sample)) % _FOLDS == 0
    apart = sample.only(np.flatnonzero(kept))
    asked, subscriptions = _subscriptions(store)
    costs = _costs(asked, apart, visit_us)
    return sample.only(np.flatnonzero(~kept)), Evidence(apart, asked, subscriptions, costs, lesson.cluster)


def _readjusted(newest: Plan, store: Store, sample: Sample, evidence: Evidence) -> Learned:
    try:
        words, places = word_map(store.files, newest), place_map(store.files, newest)
    except StoreError as error:
        _log.warning("there is nothing to adjust, the plan is learned anew: %s", error)
        return learned(newest, sample, evidence)
    return readjusted(Learned(newest, words, forecast(newest, words, evidence, places), places), sample, evidence)


def visit_cost(spark: SparkSession) -> float:
    """Return what it costs to send a post to a matcher, in microseconds of a core: with the shuffle less without."""
    posts = spark.range(_VISITS, numPartitions=2).select(
        F.col("id").cast("string"), F.rpad(F.lit("a post"), 60, ".").alias("text"), (F.col("id") % 8).alias("matcher")
    )
    schema = posts.schema
    alone = posts.mapInArrow(_unchanged, schema)
    sent = alone.repartitionById(8, F.col("matcher").cast("int")).mapInArrow(_unchanged, schema)
    times = []
    for frame in (alone, sent):
        rounds = []
        for _ in range(4):  # in the first, workers are started and code is compiled
            start = perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            rounds.append(perf_counter() - start)
        times.append(min(rounds))
    # Of the cores of a session Spark Connect knows nothing: two tasks run at once, as there are two partitions.
    return max(1e6 * 2 * (times[1] - times[0]) / _VISITS, 0.1)


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _subscriptions(store: Store) -> tuple[Asked, int]:
    """Subscriptions of a store, evenly taken, and how many there are in all."""
    rows = store.table.living(store.version, ["id", "query", "region"])
    if rows.num_rows == 0:
        raise ConfigError(f"{store.location.url}: there are no subscriptions yet, and plans are made for them")
    taken = np.unique(np.linspace(0, rows.num_rows - 1, min(_SUBSCRIPTIONS, rows.num_rows)).astype(np.int64))
    some = rows.take(pa.array(taken))
    asked, _ = Asked.read(some.column("id"), whole_queries(some), Analyzer())
    return asked, rows.num_rows


def _costs(asked: Asked, posts: Sample, visit_us: float) -> Costs:
    analyzer = Analyzer()
    sizes, times, each = measured_matching(asked, posts, analyzer)
    router = Router.build(place(asked.queries, Plan.hash(8)), analyzer)
    probe = generated_posts(_PROBE_POSTS, 0)
    lexicon = Lexicon(analyzer)
    lexicon.add_terms(router.keys.to_pylist())
    read_us = _best_us(lambda: lexicon.scan(probe["text"]))
    routed_us = _best_us(lambda: router.route(probe, text="text"))
    return Costs(read_us, max(routed_us - read_us, 0.0), visit_us, tuple(sizes), tuple(times), each)


def _best_us(work: Callable[[], object]) -> float:
    """The best of three times by post of the probe, after one that learns its words."""
    work()
    times = []
    for _ in range(3):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return 1e6 * min(times) / _PROBE_POSTS
