"""The analysis on Spark is that of one process, however pairs are spread, and refuses what it cannot count."""

import pickle
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.workload.test_analysis import check_analysis
from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.spark import workload
from tidegate.spark.workload import analyse, publications, read, subscriptions
from tidegate.workload.analysis import Analysis
from tidegate.workload.social import TWITTER, Social
from tidegate.workload.social_files import PAIRS, TOPICS, write_workload
from tidegate.workload.tally import Topics, apart

Pairs = list[tuple[int, int]]


def random_pairs(seed: int, *, grouped: bool) -> tuple[Pairs, dict[int, int]]:
    """Pairs with repetitions, subscribers and topics with gaps in their numbers, and some topics without a rate."""
    generator = np.random.default_rng(seed)
    who, what = generator.integers(0, 200, 3_000) * 7, generator.zipf(1.5, 3_000) % 97 * 3
    pairs = [(int(a), int(b)) for a, b in zip(who, what, strict=True)]
    rates = {int(topic): int(generator.integers(0, 1_000)) for topic in range(0, 97 * 3, 3) if topic % 10}
    return sorted(pairs) if grouped else pairs, rates


def on_spark(spark: SparkSession, pairs: Pairs, rates: dict[int, int], said: list[str], partitions: int) -> Analysis:
    columns = np.array(pairs).T
    frame = spark.createDataFrame(pa.table({"subscriber": columns[0], "topic": columns[1].astype(np.int32)}))
    topics = spark.createDataFrame(pa.table({"topic": list(rates), "events": list(rates.values())}))
    return analyse(frame.coalesce(partitions), topics, said.append)


@pytest.mark.parametrize("grouped", [True, False])
def test_it_finds_what_plain_python_finds(spark: SparkSession, grouped: bool) -> None:
    pairs, rates = random_pairs(3, grouped=grouped)
    said: list[str] = []
    check_analysis(on_spark(spark, pairs, rates, said, 1), pairs, rates)
    assert any("sorting" in line for line in said) == (not grouped)


def test_a_subscriber_in_two_files_is_still_one(spark: SparkSession, tmp_path: Path) -> None:
    pairs, rates = random_pairs(4, grouped=True)
    # Both halves rise, and one subscriber is in both.
    middle = next(i for i in range(1_500, len(pairs)) if pairs[i - 1][0] == pairs[i][0])
    for name, part in (("a", pairs[:middle]), ("b", pairs[middle:])):
        who, what = np.array(part).T
        pq.write_table(pa.table({"subscriber": who, "topic": what}), tmp_path / f"{name}.parquet")
    topics = spark.createDataFrame(pa.table({"topic": list(rates), "events": list(rates.values())}))
    check_analysis(analyse(read(spark, str(tmp_path)), topics), pairs, rates)


def test_followers_in_several_blocks_are_added_up(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_BLOCK", 10)
    pairs, rates = random_pairs(5, grouped=True)
    check_analysis(on_spark(spark, pairs, rates, [], 2), pairs, rates)


def test_what_was_generated_is_read_as_it_is_grouped(spark: SparkSession, tmp_path: Path) -> None:
    social = Social.draw(TWITTER, TWITTER.numbers.scaled(0.02), seed=2)
    write_workload(social, tmp_path / "new")
    said: list[str] = []
    found = analyse(
        read(spark, str(tmp_path / "new" / PAIRS)), read(spark, str(tmp_path / "new" / TOPICS)), said.append
    )
    assert said == ["counting"]
    assert (found.topics, found.subscribers, found.pairs) == social.numbers
    assert found.events == social.events.sum()
    assert (found.repeated, found.unrated, found.nulls) == (0, 0, 0)


@pytest.mark.parametrize(
    "subscribers", [np.arange(4_000)[::-1], np.arange(6_000) // 3 * 10_000_000 + np.arange(6_000) % 3]
)
def test_a_task_that_left_off_does_not_count_though_its_stretches_are_apart(subscribers: Int64) -> None:
    # Falling, and rising by leaps: no subscriber comes twice, in more stretches than a task goes on for.
    columns = {"subscriber": np.repeat(subscribers, 2), "topic": np.tile([0, 1], len(subscribers))}
    batches = pa.table(columns).to_batches(max_chunksize=2_000)
    tally = workload.tallying(Topics.of([0, 1], [5, 7]), 1, only_grouped=True)
    part: workload.Part = pickle.loads(next(tally(iter(batches)))["payload"][0].as_py())
    assert part.counts.sizes.total < len(subscribers)
    assert apart(part.stretches)
    assert not workload.are_whole([part])


def test_pairs_without_a_number_are_counted_and_left_out(spark: SparkSession) -> None:
    pairs = spark.createDataFrame([(1, 1), (None, 1), (1, None), (2, 1)], "subscriber int, topic int")
    found = analyse(pairs, spark.createDataFrame([(1, 5)], "topic int, events long"))
    assert (found.pairs, found.nulls, found.most_received) == (2, 2, 5)


def test_columns_that_are_missing_or_no_numbers_are_named(spark: SparkSession, tmp_path: Path) -> None:
    good = spark.createDataFrame([(1, 5)], "topic int, events long")
    with pytest.raises(ConfigError, match="pairs need a column 'subscriber'; their columns are follower, topic"):
        analyse(spark.createDataFrame([(1, 1)], "follower int, topic int"), good)
    with pytest.raises(ConfigError, match="column 'topic' is of type string, and has to be of whole numbers"):
        analyse(spark.createDataFrame([(1, "a")], "subscriber int, topic string"), good)
    with pytest.raises(ConfigError, match="there are no pairs"):
        analyse(spark.createDataFrame([], "subscriber int, topic int"), good)
    with pytest.raises(ConfigError, match=r"no Parquet can be read from .*nowhere"):
        read(spark, str(tmp_path / "nowhere"))


def test_events_are_summed_by_the_hour_whether_counted_or_one_by_one(spark: SparkSession) -> None:
    rows = [
        (datetime(2026, 3, 2, 18, 5), "presence", "a", "a"),
        (datetime(2026, 3, 2, 18, 50), "presence", "a", "b"),
        (datetime(2026, 3, 2, 19, 0), "playlist", "a", "a"),
    ]
    schema = "hour timestamp, service string, site string, origin string"
    one_by_one = publications(spark.createDataFrame(rows, schema))
    assert one_by_one.local.tolist() == [1, 1]
    assert one_by_one.remote.tolist() == [1, 0]
    assert {name: counts.tolist() for name, counts in one_by_one.by_service.items()} == {
        "playlist": [0, 1],
        "presence": [1, 0],
    }
    counted = publications(spark.createDataFrame([(*row, 10) for row in rows], schema + ", events long"))
    assert counted.local.tolist() == [10, 10]


def test_changes_are_summed_over_services(spark: SparkSession) -> None:
    rows = [(datetime(2026, 3, 2, 18), "a", 5, 4, 100), (datetime(2026, 3, 2, 18), "b", 1, 2, 50)]
    schema = "hour timestamp, service string, subscribed int, unsubscribed int, standing long"
    found = subscriptions(spark.createDataFrame(rows, schema))
    assert (found.subscribed.tolist(), found.unsubscribed.tolist()) == ([6], [6])
    assert {name: counts.tolist() for name, counts in found.standing.items()} == {"a": [100], "b": [50]}
    with pytest.raises(ConfigError, match="subscriptions need a column 'standing'"):
        subscriptions(spark.createDataFrame(rows, schema).drop("standing"))
