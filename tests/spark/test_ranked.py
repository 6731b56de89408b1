"""The stage that ranks on real Spark, compared with all matches in one place."""

import os
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.rank.central import MATCHES, Batch, Best, Match, delivered
from tidegate.errors import ConfigError
from tidegate.rank import score
from tidegate.rank.score import register_score
from tidegate.spark.ranked import PROVIDER, RankSettings, rank_counts, ranked

MINUTE = 60_000_000
DELAY = 2 * MINUTE
SETTINGS = RankSettings(delay="2m", buckets=4)
RANKINGS = [
    '{"k": 2, "window": 7, "score": "field:likes", "feed": true}',
    '{"k": 1, "window": 5, "shift": 2, "score": "field:likes"}',
    '{"k": 2, "window": 6, "score": "field:likes", "diverse": true}',
    '{"k": 3, "window": "5m", "score": "field:likes", "feed": true}',
    '{"k": 1, "window": "6m", "shift": "2m", "score": "recency", "diverse": true}',
    '{"k": 2, "window": "1m", "score": "recency", "most": {"posts": 9, "per": "10m"}}',
]
SCHEMA = MATCHES.append(pa.field("part", pa.int32()))


@pytest.fixture(autouse=True)
def _provider(spark: SparkSession) -> Iterator[None]:
    for name, value in PROVIDER.items():
        spark.conf.set(name, value)
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    yield
    spark.conf.set("spark.sql.session.timeZone", zone)
    for name in PROVIDER:
        spark.conf.unset(name)


def stream_of(n_batches: int, n_posts: int, seed: int = 7) -> list[Batch]:
    """Batches of two slices; posts are up to six minutes out of order, and each is in several feeds."""
    rng = random.Random(seed)
    subscriptions = [(f"u{i % 5}", f"s{i}", RANKINGS[i % len(RANKINGS)]) for i in range(30)]
    batches: list[Batch] = []
    number = 0
    for batch in range(n_batches):
        slices: list[list[Match]] = [[], []]
        for _ in range(n_posts):
            number += 1
            time = 10**15 + 3 * MINUTE * batch + rng.randrange(6 * 60) * 1_000_000
            post = f"p{number * 7919 % 10_007:05}", time, f"a{rng.randrange(6)}", rng.randrange(40)
            for one in rng.sample(subscriptions, rng.randrange(5)):
                slices[number % 2].append(Match(*post, *one))
        batches.append(slices)
    return batches


def write(folder: Path, batches: Sequence[Batch]) -> None:
    """One file for each batch."""
    folder.mkdir(exist_ok=True)
    for batch in batches:
        rows = [(*match, part) for part, matches in enumerate(batch) for match in matches]
        columns = zip(*rows, strict=True)
        table = pa.table([pa.array(c, kind) for c, kind in zip(columns, SCHEMA.types, strict=True)], SCHEMA)
        number = len(list(folder.iterdir()))
        pq.write_table(table, folder / f"{number:03}.parquet")
        os.utime(folder / f"{number:03}.parquet", (number, number))  # by which Spark sorts, and clocks are coarse


def read(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.repartitionById(2, F.col("part"))


class Sink:
    """Keeps what every batch delivered; a batch that comes again takes the place of the first."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Any]] = {}

    def run(self, result: DataFrame, checkpoint: Path) -> list[dict[str, int]]:
        """Take all that is there, and return the counts of every batch."""

        def keep(rows: DataFrame, batch: int) -> None:
            self.batches[batch] = rows.collect()

        writer = result.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return [rank_counts(one.observedMetrics) for one in query.recentProgress if one.observedMetrics]

    @property
    def rows(self) -> list[Any]:
        return [row for _, rows in sorted(self.batches.items()) for row in rows]

    @property
    def best(self) -> list[Best]:
        found = [Best(*(row[name] for name in Best._fields)) for row in self.rows if row["reason"] is None]
        return sorted(found, key=lambda one: (one.subscriber, one.subscription or "", *one[2:]))


def test_feeds_deliver_what_all_matches_in_one_place_would_across_restarts(spark: SparkSession, tmp_path: Path) -> None:
    batches = stream_of(5, 120)
    sink, folder = Sink(), tmp_path / "posts"
    for end, begin in ((2, 0), (3, 2), (5, 3)):
        write(folder, batches[begin:end])
        sink.run(ranked(read(spark, folder), SETTINGS), tmp_path / "checkpoint")
        if end == 3:
            # As a driver leaves it that dies before it notes the end of its last batch.
            commits = tmp_path / "checkpoint" / "commits"
            max((one for one in commits.iterdir() if one.name.isdigit()), key=lambda one: int(one.name)).unlink()
    expected = delivered(batches, DELAY)
    assert sink.best == expected
    kinds = {one.ranking for one in expected}
    assert len(kinds) == len(RANKINGS), "all kinds of windows deliver something"
    assert delivered(batches, DELAY) != delivered(batches, 100 * MINUTE), "some posts are late"


def test_slices_shuffle_less_and_deliver_the_same_in_any_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    rankings = ['{"k": 1, "window": 20, "score": "field:likes"}', '{"k": 5, "window": "10m", "score": "field:likes"}']
    rng = random.Random(3)
    begin = 10**15 // (10 * MINUTE) * 10 * MINUTE
    slices: list[list[Match]] = [[], []]
    for part, i in product(range(2), range(100)):
        post = f"{part}-{i:03}", begin + i * MINUTE // 10, "a", rng.randrange(10**6)
        wanted = product(("ana", "bo"), enumerate(rankings))
        slices[part] += [Match(*post, subscriber, f"s{number}", ranking) for subscriber, (number, ranking) in wanted]
    write(tmp_path / "posts", [slices])
    found = {}
    for chunks, zone in ((True, "UTC"), (False, "Asia/Tokyo")):
        spark.conf.set("spark.sql.session.timeZone", zone)
        sink = Sink()
        settings = RankSettings(delay="2m", buckets=4, chunks=chunks)
        counts = sink.run(ranked(read(spark, tmp_path / "posts"), settings), tmp_path / f"checkpoint-{chunks}")
        begins = {row["begins"] for row in sink.rows}
        found[chunks] = sink.best, counts[0], begins
    assert found[True][0] == found[False][0] != []
    assert found[True][2] == found[False][2]
    with_chunks, without = found[True][1], found[False][1]
    assert (without["matches"], without["sent"]) == (800, 800)
    # Of a hundred: 19 guards on each side and the best between, or five.
    assert with_chunks["sent"] < 4 * 46 + 4 * 5
    assert with_chunks["sent_bytes"] < without["sent_bytes"]


def test_what_cannot_be_ranked_comes_out_with_its_reason(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "_functions", {})

    def picky(posts: pa.Table) -> list[float]:
        return [1 / (likes - 3) for likes in posts.column("likes").to_pylist()]

    register_score("picky", picky)
    ranking = '{"k": 1, "window": 3, "score": "function:picky"}'
    matches = [Match(f"{i}", 10**15 + i, "a", i, "ana", "s", ranking) for i in range(5)]
    matches += [m._replace(ranking='{"k": 0}', subscription="t") for m in matches[:1]]
    write(tmp_path / "posts", [[matches, []]])
    sink = Sink()
    (counts, *_) = sink.run(ranked(read(spark, tmp_path / "posts"), SETTINGS), tmp_path / "checkpoint")
    assert [(one.window, one.id) for one in sink.best] == [(0, "0")]
    assert sorted((row["id"], row["reason"]) for row in sink.rows if row["reason"]) == [
        ("0", "k is 0: give a whole number from 1 to 1,000,000"),
        ("3", "score function:picky fails: ZeroDivisionError: division by zero"),
    ]
    assert counts["aside"] == 2


def test_what_buckets_hold_is_reported_and_does_not_grow(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "posts", stream_of(4, 120))
    counts = Sink().run(ranked(read(spark, tmp_path / "posts"), SETTINGS), tmp_path / "checkpoint")
    busy = [one for one in counts if one.get("matches")]
    assert len(busy) == 4
    for one in busy:
        assert 0 < one["feeds"] <= 30
        assert 0 < one["held"] < 300
        assert one["held_bytes"] > 0
    assert sum(one["late"] for one in busy) > 0


def test_matches_that_cannot_be_read_are_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "posts", stream_of(1, 5))
    matches = read(spark, tmp_path / "posts")
    for wrong, answer in (
        (matches.drop("ranking"), "matches have no column 'ranking'"),
        (matches.withColumn("ts", F.lit("now")), "column 'ts' is of type string: cast it to timestamp first"),
        (matches.withColumn("id", F.struct("id")), "column 'id' is of type struct<id:string>: cast it to string first"),
        (matches.withColumn("ranking", F.lit(3)), "column 'ranking' is of type int: cast it to string first"),
        (matches.withColumn("author", F.array("author")), "column 'author' is of type array<string>: cast it"),
        (matches.withColumn("Rank", F.lit(1)), "matches have a column 'rank', which ranking adds itself"),
        (matches.withColumn("_bucket", F.lit("pail")), "matches have a column '_bucket', which ranking adds itself"),
    ):
        with pytest.raises(ConfigError, match=answer):
            ranked(wrong)
    spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    with pytest.raises(ConfigError, match="ranked feeds need the RocksDB state store"):
        ranked(matches)


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ({"buckets": 0}, "buckets is 0: give 1 to 65,536"),
        ({"slice_rows": 0}, "slice_rows is 0: give 1 or more"),
        ({"delay": "10"}, "delay is '10': give a span of time"),
        ({"ahead": None}, "ahead is None: give a span of time"),
        ({"idle": "soon"}, "idle is 'soon': give a span of time"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_there_is_a_stream(wrong: dict[str, Any], answer: str) -> None:
    with pytest.raises(ConfigError, match=answer):
        RankSettings(**wrong)
    assert RankSettings(idle=None).idle is None


def test_posts_of_any_columns_are_carried_through_a_restart_in_another_time_zone(
    spark: SparkSession, tmp_path: Path
) -> None:
    ranking = '{"k": 3, "window": 3, "score": "field:likes"}'
    batches: list[Batch] = [[[Match(f"{i}", 10**15 + i, "a", i, "ana", "s", ranking)], []] for i in range(3)]
    sink, folder = Sink(), tmp_path / "posts"
    for zone, part in (("UTC", batches[:1]), ("Asia/Tokyo", batches[1:])):
        spark.conf.set("spark.sql.session.timeZone", zone)
        write(folder, part)
        odd = read(spark, folder).withColumns(
            {
                "raw": F.encode(F.col("id"), "utf-8"),
                "price": F.col("likes").cast("decimal(20,3)"),
                "meta": F.struct(F.lit(1).alias("version"), F.col("ts").alias("crawled")),
                "times": F.array(F.col("ts"), F.lit(None).cast("timestamp")),
                "marks": F.create_map(F.lit("at"), F.col("ts")),
            }
        )
        sink.run(ranked(odd, SETTINGS), tmp_path / "checkpoint")
    rows = sink.rows
    assert [row.id for row in rows] == ["2", "1", "0"]
    for row in rows:
        assert (bytes(row.raw), row.price) == (row.id.encode(), int(row.id))
        assert row.meta.version == 1
        assert [row.meta.crawled, *row.times, row.marks["at"]] == [row.ts, row.ts, None, row.ts]
