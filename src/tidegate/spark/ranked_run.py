"""The job that ranks: posts stream in, the best of every window of every ranked feed stream out, each window once."""

import json
import logging

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tidegate.errors import ConfigError, StoreError
from tidegate.spark.columns import Columns
from tidegate.spark.history import word_counts
from tidegate.spark.ranked import PROVIDER, RankSettings
from tidegate.spark.ranked_posts import WordCounts, ranked_feeds, with_rarity
from tidegate.spark.run import Settings, writer_to
from tidegate.spark.sinks import Sink
from tidegate.store.location import Location
from tidegate.store.post_columns import note_columns
from tidegate.store.store import Store

_log = logging.getLogger(__name__)

WINDOW_KEY = ("subscriber", "subscription", "ranking", "window", "rank")
"""With the id of the post, the columns that tell the rows of windows apart."""

# In the checkpoint, beside Spark's own files: a post must not be worth more after a restart than before.
_WORDS_FILE = "tidegate-words"
# Words rarer than these are taken for strangers: they are most of the words there are, and little is known of them.
_MOST_WORDS = 1_000_000


def start_ranked(
    posts: DataFrame,
    store: Store,
    sink: Sink,
    settings: Settings,
    ranking: RankSettings,
    *,
    words: WordCounts | None = None,
) -> StreamingQuery:
    """Start the job; `words` are counted ones, by which posts are rated for scores by rarity.

    The plan is the one that is newest now. What a window by time has waited for is delivered when the job is started
    again, if it was stopped meanwhile.
    """
    for name, value in PROVIDER.items():
        posts.sparkSession.conf.set(name, value)
    columns = settings.columns.of(posts.schema)
    rated = posts if words is None else with_rarity(posts, words, text=columns.text)
    carry = settings.carry if words is None or settings.carry is None else (*settings.carry, "rarity")
    feeds = ranked_feeds(
        rated, store, ranking, text=columns.text, lang=columns.lang, lat=columns.lat, lon=columns.lon, carry=carry
    )
    run, writer = writer_to(feeds, sink, settings)
    note_columns(store.beside, run, set(feeds.columns) & set(rated.columns))

    def write(windows: DataFrame, batch: int) -> None:
        if sink.has(run, batch):
            # Its rows are there, but what is held of feeds has to be computed all the same.
            _log.info("batch %d is in the sink already", batch)
            windows.write.format("noop").mode("overwrite").save()
            return
        sink.write(windows, run, batch)

    return writer.foreachBatch(write).start()


def counted_words(history: DataFrame | None, columns: Columns, checkpoint: str) -> WordCounts | None:
    """Return the words of a history with their counts, as they were when the job of a checkpoint was first started.

    None if there is no history, now or then.
    """
    place = Location.of(checkpoint)
    if history is not None and place.read(_WORDS_FILE) is None:
        place.create(_WORDS_FILE, _counted(history, columns).encode())
    content = place.read(_WORDS_FILE)
    if content is None:
        return None
    try:
        return WordCounts(**json.loads(content))
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{checkpoint}/{_WORDS_FILE}: the counts of words are damaged: remove them, and they are counted anew"
        ) from error


def _counted(history: DataFrame, columns: Columns) -> str:
    counted = word_counts(history, columns)
    most = counted.orderBy("posts", ascending=False).limit(_MOST_WORDS).toArrow()
    words = dict(zip(most.column("word").to_pylist(), most.column("posts").to_pylist(), strict=True))
    if not words:
        raise ConfigError("the history has no words to count: name one with posts")
    return json.dumps({"words": words, "n_posts": history.count()}, ensure_ascii=False)
