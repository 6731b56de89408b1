"""What runs in a Python worker when matches are ranked, without Spark around it."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.rank.central import MATCHES, Match
from tests.rank.test_holding import table
from tidegate.errors import PipelineError
from tidegate.rank.bundle import PostColumns
from tidegate.rank.slicing import Slicing, sliced
from tidegate.spark.ranked_worker import BUCKET, CLOCK, Feeds, slicing

SECOND = 1_000_000
SECONDS = '{"k": 1, "window": "1s", "score": "field:likes"}'


def match(number: int, time: int, ranking: str = SECONDS) -> Match:
    return Match(f"{number}", time, "a", number, "ana", "s", ranking)


def bucket_of(buckets: int = 1) -> TwsTester:
    return TwsTester(Feeds(PostColumns(), None, buckets), timeMode="EventTime", eventTimeExtractor=lambda row: 2**62)


def sent(matches: Sequence[Match]) -> list[Row]:
    ((_, bundle),) = sliced(table(matches), np.zeros(len(matches), np.int64), Slicing()).bundles()
    return [Row(slice=0, bundle=bundle.to_bytes(), unranked=None)]


def ids(steps: Sequence[Row]) -> list[str]:
    results = [pa.ipc.open_stream(step.result).read_all() for step in steps if step.result is not None]
    return [id_ for one in results for id_ in one.column("id").to_pylist()]


def test_a_window_is_delivered_when_the_watermark_reaches_its_end_and_not_before() -> None:
    bucket = bucket_of()
    bucket.test(0, sent([match(1, 5 * SECOND)]))
    assert ids(bucket.setWatermark(5_999)) == []
    assert ids(bucket.test(0, sent([match(2, 5 * SECOND)]))) == [], "in the last millisecond"
    assert ids(bucket.setWatermark(6_000)) == ["2"]
    assert bucket.peekValueState("held", 0) is None


def test_posts_from_before_1970_hold_up_nothing() -> None:
    bucket = bucket_of()
    bucket.test(0, sent([match(1, -5 * SECOND), match(2, 5 * SECOND)]))
    assert ids(bucket.setWatermark(1)) == ["1"]
    assert ids(bucket.setWatermark(6_000)) == ["2"]


def slices_of(matches: Sequence[Match], rows: int, clock: int = 10**15, zone: str = "UTC") -> list[Row]:
    """What a partition sends to its one bucket, when its matches come one by one."""
    given = table(matches).cast(zoned(zone)).append_column(BUCKET, pa.nulls(len(matches), pa.int32()).fill_null(0))
    given = given.append_column(CLOCK, pa.array([clock] * len(matches), pa.timestamp("us", tz=zone)))
    function = slicing(Slicing(), MATCHES, rows, ahead=SECOND)
    rows_sent = [row for batch in function(iter(given.to_batches(max_chunksize=1))) for row in batch.to_pylist()]
    return [Row(**row) for row in rows_sent]


def zoned(zone: str) -> pa.Schema:
    return MATCHES.set(1, pa.field("ts", pa.timestamp("us", tz=zone)))


def test_a_post_counts_once_wherever_a_partition_is_cut_into_slices() -> None:
    ranking = '{"k": 3, "window": 3, "score": "field:likes", "feed": true}'
    matches = [match(i, i, ranking)._replace(subscription=f"s{j}") for i in range(3) for j in range(3)]
    for rows in range(1, 10):
        bucket = bucket_of()
        assert ids(bucket.test(0, slices_of(matches, rows))) == ["2", "1", "0"]


def test_a_slice_that_is_cut_again_sets_the_same_posts_aside() -> None:
    matches = [match(1, 2 * SECOND), match(2, 2 * SECOND + 1)]
    counts = slices_of(matches, 10, clock=SECOND)[-1]
    assert (counts.matches, counts.sent, counts.aside) == (2, 1, 1)


def test_what_is_held_goes_on_in_another_time_zone() -> None:
    bucket = bucket_of()
    ranking = '{"k": 2, "window": 2, "score": "field:likes"}'
    bucket.test(0, slices_of([match(1, SECOND, ranking)], 1))
    assert ids(bucket.test(0, slices_of([match(2, SECOND, ranking)], 1, zone="Asia/Tokyo"))) == ["2", "1"]


def test_a_stream_goes_on_with_as_many_buckets_as_it_began_with() -> None:
    before, after = bucket_of(4), bucket_of(5)
    before.test(0, sent([match(1, SECOND)]))
    held = before.peekValueState("held", 0)
    assert held is not None
    after.updateValueState("held", 0, held)
    with pytest.raises(PipelineError, match="this stream began with 4 buckets, not 5: give as many"):
        after.test(0, sent([match(2, SECOND)]))
