"""Topics that were planted in posts are found, and subscriptions to topics follow their law."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tidegate.errors import ConfigError
from tidegate.spark.columns import Columns
from tidegate.spark.topics import topics
from tidegate.workload.terms import zipf
from tidegate.workload.topical import topic_subscriptions

PLANTED = (
    ["storm", "rain", "flood", "wind", "snow"],
    ["goal", "match", "team", "coach", "cup"],
    ["star", "comet", "moon", "orbit", "rocket"],
)


def test_planted_topics_are_found(spark: SparkSession) -> None:
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(PLANTED[i % 3], 4, replace=False)) for i in range(600)]
    rows = [(str(i), text, "nasa") for i, text in enumerate(texts)]
    posts = spark.createDataFrame(rows, "id string, text string, author string")
    # From some seeds, learning ends where two topics are mixed; from this one it does not.
    found = topics(posts, Columns(), count=3, words=5, seed=2)
    assert sorted(map(sorted, found)) == sorted(map(sorted, PLANTED))
    assert topics(posts, Columns(), count=3, words=5, seed=2) == found


def test_posts_without_words_have_no_topics(spark: SparkSession) -> None:
    silent = spark.createDataFrame([("1", ""), ("2", None)], "id string, text string")
    with pytest.raises(ConfigError, match="no post has a word"):
        topics(silent, Columns())


words = st.text("abcdef", min_size=1, max_size=2)


@given(
    st.lists(st.lists(words, min_size=1, max_size=8), min_size=1, max_size=6), st.integers(0, 50), st.integers(0, 99)
)
def test_a_subscription_has_distinct_words_of_one_topic(given_topics: list[list[str]], n: int, seed: int) -> None:
    sets, spelled = topic_subscriptions(given_topics, n, seed)
    assert sets.rows == n
    for i in range(n):
        row = [spelled[place] for place in sets.row(i)]
        assert 1 <= len(row) <= 5
        assert len(set(row)) == len(row)
        assert any(set(row) <= set(topic) for topic in given_topics)


def test_lengths_topics_and_words_follow_their_laws() -> None:
    n = 200_000
    sets, spelled = topic_subscriptions([[*"abcde"], [*"fghijk"]], n, seed=5)
    lengths = np.diff(sets.offsets)
    np.testing.assert_allclose(np.bincount(lengths, minlength=6)[1:] / n, zipf(5, 0.5), atol=0.005)
    first = np.array([spelled[place] for place in sets.values[sets.offsets[:-1]]])
    assert np.isin(first, [*"abcde"]).mean() == pytest.approx(0.5, abs=0.005)
    twos = np.flatnonzero((lengths == 2) & np.isin(first, [*"abcde"]))
    pairs = Counter(frozenset(sets.row(i).tolist()) for i in twos.tolist())
    expected = sum(pairs.values()) / 10
    assert len(pairs) == len(list(combinations("abcde", 2)))
    assert sum((count - expected) ** 2 / expected for count in pairs.values()) < 28  # 9 degrees of freedom


def test_a_seed_determines_the_subscriptions() -> None:
    first, again, other = (topic_subscriptions(PLANTED, 500, seed)[0].values.tolist() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_topic_without_words_is_refused_by_its_number() -> None:
    with pytest.raises(ConfigError, match="topic 1 has no words"):
        topic_subscriptions([["storm"], []], 1, seed=0)
    with pytest.raises(ConfigError, match="no topics"):
        topic_subscriptions([], 1, seed=0)
