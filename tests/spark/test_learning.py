"""What is learned of a history on Spark, compared with plain Python over the same posts."""

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.route.maps import learn
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.route.word_graph import pairs_of
from tidegate.spark.columns import Columns
from tidegate.spark.history import pair_counts, sample_of, word_counts
from tidegate.spark.learning import words_by_graph
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import post_terms
from tidegate.workload.posts import posts as generated_posts

PROJECT = Path(__file__).parents[2]
N = 1_500
ODD = [
    {"id": None, "text": "storm without an id"},
    {"id": "", "text": "storm with an empty one"},
    {"id": "x1", "text": None},
    {"id": "x2", "text": ""},
    {"id": "x3", "text": "storm storms Storm", "author": "NASA", "lang": "en-GB"},
    {"id": "x4", "text": "storm off Earth", "lat": 200.0, "lon": 5.0},
    {"id": "x5", "text": " ".join(f"w{i}" for i in range(90))},
]


@pytest.fixture(scope="module")
def history() -> pa.Table:
    """Generated posts, and odd ones between them."""
    generated = generated_posts(N, 41).select(["id", "text", "author", "lang", "lat", "lon"])
    generated = generated.set_column(0, "id", generated.column("id").cast(pa.string()))
    odd = pa.Table.from_pylist(ODD, generated.schema)
    return pa.concat_tables([generated.slice(0, N // 2), odd, generated.slice(N // 2)])


@pytest.fixture(scope="module")
def posts(spark: SparkSession, history: pa.Table) -> DataFrame:
    return spark.createDataFrame(history).repartition(3)


@pytest.fixture(scope="module")
def words_of(history: pa.Table) -> dict[str, set[str]]:
    """By id: the words of each post that can be matched."""
    analyzer = Analyzer()
    return {
        post["id"]: post_terms(
            analyzer, post["text"], post["author"], post["lang"], _on_earth(post["lat"], post["lon"])
        )
        for post in history.to_pylist()
        if post["id"] and post["text"] is not None
    }


def _on_earth(lat: float | None, lon: float | None) -> bool:
    return lat is not None and lon is not None and abs(lat) <= 90 and abs(lon) <= 180


def rows(sample: Sample) -> list[frozenset[str]]:
    """The posts of a sample, in its order, as sets of words."""
    words = np.array(sample.words.to_pylist())
    return [frozenset(words[sample.posts.row(i)]) for i in range(len(sample))]


def test_words_are_counted_as_plain_python_counts_them(posts: DataFrame, words_of: dict[str, set[str]]) -> None:
    counted = word_counts(posts, Columns()).collect()
    assert len(counted) == len({row.word for row in counted})
    assert {row.word: row.posts for row in counted} == Counter(word for words in words_of.values() for word in words)


def test_pairs_of_known_words_are_counted_as_plain_python_counts_them(
    posts: DataFrame, words_of: dict[str, set[str]]
) -> None:
    frequency = Counter(word for words in words_of.values() for word in words)
    known = [word for word, _ in frequency.most_common(200)] + [f"w{i}" for i in range(90)] + ["never seen"]
    place = {word: i for i, word in enumerate(known)}
    expected = Counter(
        pair for words in words_of.values() for pair in combinations(sorted(place[w] for w in words if w in place), 2)
    )
    counted = pair_counts(posts, Columns(), known).toArrow().to_pydict()
    assert dict(zip(zip(counted["first"], counted["second"], strict=True), counted["posts"], strict=True)) == expected
    assert len(counted["posts"]) == len(expected)


@given(st.lists(st.sets(st.integers(0, 2**31 - 1), max_size=6).map(sorted)), st.integers(1, 20))
def test_all_pairs_are_found_however_few_are_taken_at_once(lists: list[list[int]], at_once: int) -> None:
    blocks = [block.tolist() for block in pairs_of(from_rows(lists), at_once)]
    found = Counter(divmod(pair, 1 << 32) for block in blocks for pair in block)
    assert found == Counter(pair for values in lists for pair in combinations(values, 2))
    assert all(len(block) <= max(at_once, 15) for block in blocks)  # 15: of the longest row


def test_a_sample_as_large_as_the_history_is_all_of_it(posts: DataFrame, words_of: dict[str, set[str]]) -> None:
    sample = sample_of(posts, Columns(), 10 * N)
    assert Counter(rows(sample)) == Counter(frozenset(words) for words in words_of.values())
    plain = Sample.from_rows(sample.posts, sample.words)
    assert sample.words.equals(plain.words)
    assert (sample.frequency == plain.frequency).all()


def test_a_sample_is_the_same_however_its_history_is_partitioned(spark: SparkSession, history: pa.Table) -> None:
    plain = spark.createDataFrame(history)
    samples = [
        sample_of(arranged, Columns(), 400, seed=7)
        for arranged in (plain.coalesce(1), plain.repartition(5), plain.orderBy(F.desc("text")))
    ]
    for sample in samples[1:]:
        assert sample.words.equals(samples[0].words)
        assert sample.posts.offsets.tolist() == samples[0].posts.offsets.tolist()
        assert sample.posts.values.tolist() == samples[0].posts.values.tolist()


def test_a_smaller_sample_is_the_beginning_of_a_larger_one(posts: DataFrame) -> None:
    small, large = (rows(sample_of(posts, Columns(), size, seed=7)) for size in (100, 400))
    assert 98 <= len(small) <= 100  # two posts may share the last place
    assert 398 <= len(large) <= 400
    assert small == large[: len(small)]
    assert small != rows(sample_of(posts, Columns(), 100, seed=8))[: len(small)]


def test_every_post_is_as_likely_to_be_drawn(spark: SparkSession) -> None:
    n, size = 20_000, 5_000
    numbered = spark.range(n).select("id", F.concat(F.lit("#p"), F.col("id")).alias("text"))
    sample = sample_of(numbered, Columns(), size)
    drawn = np.array([int(word.removeprefix("#p")) for word in sample.words.to_pylist()])
    assert len(sample) == len(drawn)
    assert len(drawn) == pytest.approx(size, abs=5)
    tenths = np.bincount(drawn * 10 // n, minlength=10)
    share = size / n
    chi_square = ((tenths - size / 10) ** 2 / (n / 10 * share * (1 - share))).sum()
    assert chi_square < 28  # 9 degrees of freedom; 28 is passed once in a thousand


def test_columns_may_have_any_names(spark: SparkSession) -> None:
    table = pa.table({"post.id": ["1", "2"], "body.text": ["storms in Kiel", "a storm"], "by": ["nasa", None]})
    named = spark.createDataFrame(table)
    columns = Columns(id="post.id", text="body.text", author="by")
    assert {row.word: row.posts for row in word_counts(named, columns).collect()} == {
        "storm": 2,
        "kiel": 1,
        "from:nasa": 1,
    }


def test_a_history_without_posts_has_an_empty_sample(spark: SparkSession) -> None:
    empty = spark.createDataFrame([], "id long, text string")
    sample = sample_of(empty, Columns(), 10)
    assert (len(sample), len(sample.words)) == (0, 0)


def test_a_sample_of_no_posts_and_columns_that_are_missing_are_refused(posts: DataFrame) -> None:
    with pytest.raises(ConfigError, match="a sample of 0 posts"):
        sample_of(posts, Columns(), 0)
    with pytest.raises(ConfigError, match="no column 'body'"):
        word_counts(posts, Columns(text="body"))


# In a process of its own: sessions with and without a JVM do not mix in one.
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from tidegate.spark.columns import Columns
from tidegate.spark.history import pair_counts, sample_of, word_counts
from tidegate.spark.learning import words_by_graph
from tidegate.spark.topics import topics

spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
posts = spark.read.parquet(sys.argv[1])
sample = sample_of(posts, Columns(), 400, seed=7)
found = {
    "words": word_counts(posts, Columns()).toArrow().to_pydict(),
    "pairs": pair_counts(posts, Columns(), ["storm", "rain"]).toArrow().to_pydict()["posts"],
    "sample": [sample.words.to_pylist(), sample.posts.values.tolist()],
    "topics": topics(posts, Columns(), 2, 3),
}
print(json.dumps(found))
spark.stop()
"""


@pytest.mark.slow
def test_all_is_learned_under_spark_connect_too(
    posts: DataFrame, history: pa.Table, words_of: dict[str, set[str]], tmp_path: Path
) -> None:
    pq.write_table(history, tmp_path / "history.parquet")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "history.parquet"],
        cwd=PROJECT,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    frequency = Counter(word for words in words_of.values() for word in words)
    assert dict(zip(found["words"]["word"], found["words"]["posts"], strict=True)) == frequency
    both = sum({"storm", "rain"} <= words for words in words_of.values())
    assert found["pairs"] == ([both] if both else [])
    sample = sample_of(posts, Columns(), 400, seed=7)
    assert found["sample"] == [sample.words.to_pylist(), sample.posts.values.tolist()]
    assert [len(words) for words in found["topics"]] == [3, 3]


def test_a_map_by_the_graph_that_spark_counts_is_the_map_by_the_graph_of_all_posts(posts: DataFrame) -> None:
    plan = Plan.parse("gfcl:4")
    counted = words_by_graph(posts, Columns(), plan)
    everything = sample_of(posts, Columns(), 10 * N)
    whole = learn("gfcl", everything, 4, splitting=False)
    assert counted.words.equals(whole.words)
    assert np.array_equal(counted.frequency, whole.frequency)
    assert np.array_equal(counted.owners.values, whole.owners.values)
