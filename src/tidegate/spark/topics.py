"""Topics of a stream's history, by Spark ML's latent Dirichlet allocation: what topic-based subscriptions ask for."""

import pyarrow as pa
from pyspark.ml.clustering import LDA
from pyspark.ml.feature import CountVectorizerModel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.errors import ConfigError
from tidegate.index.sets import ranked_items
from tidegate.spark.columns import Columns
from tidegate.spark.history import sample_of
from tidegate.text.profile import SOCIAL, Profile

# What bounds the time, however long the history is.
_POSTS = 100_000
_VOCABULARY = 20_000
_ITERATIONS = 20
_POSTS_PER_ITERATION = 5_000
# Spark's own, 1024, is for thousands of iterations: after twenty, topics would still be what they began as, chance.
_LEARNING_OFFSET = 1.0
# Of posts over topics and of topics over words: both priors as S³-TM §6.1 sets them.
_ALPHA = _BETA = 0.1


def topics(
    posts: DataFrame, columns: Columns, count: int = 100, words: int = 5, seed: int = 0, *, profile: Profile = SOCIAL
) -> list[list[str]]:
    """Return for each of `count` topics its `words` most probable words, the most probable first.

    They are learned from the texts of at most 100,000 posts, and of their 20,000 commonest words. On as many cores, the
    same seed gives the same topics, as far as sums of floats are the same in any order.
    """
    names = columns.of(posts.schema)
    texts = posts.select(F.col(f"`{names.id}`").alias("id"), F.col(f"`{names.text}`").alias("text"))
    sample = sample_of(texts, Columns(), _POSTS, seed, profile=profile)
    vocabulary = sample.words.slice(0, _VOCABULARY)
    if len(vocabulary) == 0:
        raise ConfigError("no post has a word to find topics by: give posts with texts, and an id each")
    rows = ranked_items(sample.posts, len(vocabulary))
    lists = pa.LargeListArray.from_arrays(pa.array(rows.offsets), vocabulary.take(pa.array(rows.values)))
    bags = posts.sparkSession.createDataFrame(pa.table({"words": lists.cast(pa.list_(pa.string()))}))
    terms = vocabulary.to_pylist()
    counter = CountVectorizerModel.from_vocabulary(terms, inputCol="words", outputCol="features")
    features = counter.transform(bags).select("features").cache()
    lda = LDA(
        k=count,
        maxIter=_ITERATIONS,
        seed=seed,
        optimizer="online",
        docConcentration=[_ALPHA] * count,
        topicConcentration=_BETA,
        learningOffset=_LEARNING_OFFSET,
        subsamplingRate=min(1.0, _POSTS_PER_ITERATION / len(sample)),
        optimizeDocConcentration=False,
    )
    try:
        described = lda.fit(features).describeTopics(words).orderBy("topic").toArrow()
    finally:
        features.unpersist()
    return [[terms[term] for term in indices] for indices in described.column("termIndices").to_pylist()]
