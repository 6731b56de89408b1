import json
import logging
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tests.spark.sources.feed_server import Answer, FeedServer, rss, serving
from tidegate.errors import ConfigError, StoreError
from tidegate.spark.sources import feed_state
from tidegate.spark.sources.feed_state import FeedState, FeedStatus, feed_status
from tidegate.spark.sources.feeds import FeedsReader, FeedsSource, FeedsStreamReader, Offset, Settings

NOON = 1_780_000_000.0


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with serving() as running:
        yield running


class Stream:
    """A stream reader, driven as Spark drives it, on a clock that stands still until it is moved."""

    def __init__(self, server: FeedServer, state: Path, *paths: str) -> None:
        self.state = state
        self.time = NOON
        self._options = {"urls": ",".join(map(server.url, paths)), "state": str(state), "timeout": "2"}
        self.reader = self._new_reader()
        self.offset = self.reader.initialOffset()

    def _new_reader(self) -> FeedsStreamReader:
        return FeedsStreamReader(Settings.of(self._options), clock=lambda: self.time)

    def die(self) -> None:
        """Lose all that is not on disk, as a killed driver does, and come back."""
        self.reader.stop()
        self.reader = self._new_reader()

    def plan(self) -> Offset:
        end = self.reader.latestOffset(self.offset, ReadAllAvailable())
        return dict(json.loads(json.dumps(end)))

    def rows(self, end: Offset) -> list[str]:
        """The numbers of the entries up to an offset."""
        parts = self.reader.partitions(self.offset, end)
        batches = [batch for part in parts for batch in self.reader.read(part)]
        return [id_.rsplit("/", 1)[1] for batch in batches for id_ in batch["id"].to_pylist()]

    def commit(self, end: Offset) -> None:
        self.reader.commit(end)
        self.offset = end

    def next(self) -> list[str]:
        """One micro-batch, from plan to commit."""
        end = self.plan()
        rows = self.rows(end)
        self.commit(end)
        return rows

    def status(self, path: str) -> FeedStatus:
        (found,) = [one for one in feed_status(self.state) if one.url.endswith(path)]
        return found


@pytest.fixture
def stream(server: FeedServer, tmp_path: Path) -> Iterator[Stream]:
    server.answers["/a"] = Answer(rss(2, 1))
    opened = Stream(server, tmp_path / "state", "/a")
    yield opened
    opened.reader.stop()


def test_each_entry_comes_once_as_the_feed_moves_on(server: FeedServer, stream: Stream) -> None:
    assert stream.next() == ["1", "2"]
    server.answers["/a"] = Answer(rss(4, 3, 2))
    stream.time += 300
    assert stream.next() == ["3", "4"]
    stream.time += 300
    assert stream.next() == []


def test_a_feed_is_left_alone_until_its_interval_is_over(server: FeedServer, stream: Stream) -> None:
    stream.next()
    stream.time += 299
    assert stream.plan() == stream.offset
    assert server.asked("/a") == 1
    stream.time += 1
    stream.plan()
    assert server.asked("/a") == 2


def test_an_unchanged_feed_is_asked_with_its_validator_and_costs_no_batch(server: FeedServer, stream: Stream) -> None:
    server.answers["/a"] = Answer(rss(1), etag='"1"')
    stream.next()
    stream.time += 300
    stream.die()
    assert stream.plan() == stream.offset
    assert server.requests[-1][1]["If-None-Match"] == '"1"'
    assert stream.status("/a").last_ok == datetime.fromtimestamp(NOON + 300, UTC)


def test_a_batch_that_was_not_committed_is_read_again_and_the_same(server: FeedServer, stream: Stream) -> None:
    end = stream.plan()
    rows = stream.rows(end)
    server.answers["/a"] = Answer(rss(9))
    stream.time += 1000
    stream.die()
    assert stream.rows(end) == rows == ["1", "2"]
    stream.commit(end)
    assert stream.next() == ["9"]


def test_a_first_batch_of_which_spark_never_heard_is_still_first(server: FeedServer, stream: Stream) -> None:
    stream.plan()
    stream.die()
    server.answers["/a"] = Answer(rss(9))
    stream.time += 1000
    assert stream.reader.initialOffset() == stream.offset
    assert stream.next() == ["1", "2"]
    assert stream.next() == ["9"]


def test_a_later_batch_of_which_spark_never_heard_is_handed_out_before_any_visit(
    server: FeedServer, stream: Stream
) -> None:
    stream.next()
    server.answers["/a"] = Answer(rss(3))
    stream.time += 300
    stream.plan()
    stream.die()
    asked = server.asked("/a")
    assert stream.next() == ["3"]
    assert server.asked("/a") == asked


def test_a_round_that_fails_while_it_is_recorded_leaves_no_trace(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(feed_state.FeedState, "_remember", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream.plan()
    stream.die()
    assert stream.next() == ["1", "2"]


def test_a_committed_batch_is_gone_from_the_folder(stream: Stream) -> None:
    first, end = stream.offset, stream.plan()
    stream.commit(end)
    stream.offset = first
    with pytest.raises(StoreError, match="a checkpoint and its state folder belong together"):
        stream.rows(end)


def test_a_checkpoint_without_its_state_folder_is_refused(stream: Stream) -> None:
    stream.offset = {"batches": 7}
    with pytest.raises(StoreError, match=r"feed batches 7 to 7 are asked of .* which has 0 to 0"):
        stream.plan()


def test_a_broken_feed_does_not_stop_the_others(
    server: FeedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers |= {
        "/good": Answer(rss(1)),
        "/error": Answer(status=500),
        "/html": Answer(b"<html><body>moved</body></html>"),
        "/huge": Answer(b"x" * 11_000_000),
        "/cut": Answer(rss(5), cut_at=50),
    }
    stream = Stream(server, tmp_path, "/error", "/html", "/huge", "/cut", "/missing", "/good")
    with caplog.at_level(logging.WARNING):
        assert stream.next() == ["1"]
    errors = {one.url.rsplit("/", 1)[1]: one.error for one in feed_status(tmp_path)}
    assert errors.pop("good") is None
    assert all(f"/{name}: {error}" in caplog.text for name, error in errors.items())
    assert errors["error"] == "the server answered 500 Internal Server Error"
    stream.reader.stop()


def test_a_feed_that_fails_is_asked_again_later_and_later(server: FeedServer, stream: Stream) -> None:
    server.answers["/a"] = Answer(status=500)
    waits = []
    for failures in range(1, 13):
        stream.plan()
        status = stream.status("/a")
        assert status.failures == failures
        assert status.next_poll is not None
        waits.append(status.next_poll.timestamp() - stream.time)
        stream.time = status.next_poll.timestamp() + 1
    assert all(300 * 2**n <= wait <= 300 * 2 ** (n + 1) for n, wait in enumerate(waits[:8]))
    assert all(43_200 <= wait <= 86_400 for wait in waits[8:])
    server.answers["/a"] = Answer(rss(1))
    assert stream.next() == ["1"]
    status = stream.status("/a")
    assert (status.failures, status.error) == (0, "the server answered 500 Internal Server Error")


def test_a_server_that_names_a_time_is_not_asked_before(server: FeedServer, stream: Stream) -> None:
    server.answers["/a"] = Answer(status=503, headers={"Retry-After": "5000"})
    stream.plan()
    assert stream.status("/a").next_poll == datetime.fromtimestamp(NOON + 5000, UTC)


def test_a_feed_that_is_gone_is_never_asked_again(server: FeedServer, stream: Stream) -> None:
    server.answers["/a"] = Answer(status=410)
    stream.plan()
    assert stream.status("/a").next_poll is None
    stream.time += 10**8
    stream.plan()
    stream.die()
    stream.plan()
    assert server.asked("/a") == 1


def test_ids_are_remembered_up_to_a_bound_but_never_fewer_than_the_document_has(
    server: FeedServer, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_state, "SEEN_PER_FEED", 3)
    server.answers["/a"] = Answer(rss(*range(10, 0, -1)))
    assert len(stream.next()) == 10
    stream.time += 300
    assert stream.next() == []
    for number in (11, 12, 13):
        server.answers["/a"] = Answer(rss(number))
        stream.time += 300
        assert stream.next() == [str(number)]
    server.answers["/a"] = Answer(rss(13, 12, 11, 1))  # the last was pushed out of memory
    stream.time += 300
    assert stream.next() == ["1"]


def test_feeds_beyond_one_round_follow_in_the_next(server: FeedServer, tmp_path: Path) -> None:
    paths = [f"/{n}" for n in range(40)]
    server.answers |= {path: Answer(rss(n)) for n, path in enumerate(paths)}
    stream = Stream(server, tmp_path, *paths)
    stream.reader.prepareForTriggerAvailableNow()
    first, second, third = stream.next(), stream.next(), stream.next()
    assert (len(first), len(second), third) == (32, 8, [])
    assert {*first, *second} == {str(n) for n in range(40)}
    stream.reader.stop()


def test_many_entries_are_spread_over_partitions(server: FeedServer, stream: Stream) -> None:
    server.answers["/a"] = Answer(rss(*range(2500)))
    end = stream.plan()
    assert len(stream.reader.partitions(stream.offset, end)) == 3
    assert sorted(map(int, stream.rows(end))) == list(range(2500))


def test_a_state_folder_belongs_to_one_query_at_a_time(stream: Stream) -> None:
    with pytest.raises(StoreError, match="another query uses the state folder"):
        FeedState(stream.state, patience=0.1)
    stream.reader.stop()
    FeedState(stream.state, patience=0.1).close()


def test_a_state_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "feeds.sqlite").write_bytes(b"no database at all, but long enough to be one" * 50)
    with pytest.raises(StoreError, match=r"feeds\.sqlite: file is not a database"):
        FeedState(tmp_path)
    with pytest.raises(StoreError, match=r"has no feeds\.sqlite"):
        feed_status(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either path"),
        ({"urls": "http://a.org", "path": "x"}, "give either path"),
        ({"urls": "gopher://a.org"}, "the option urls has 'gopher://a.org'"),
        ({"urls": "http://a.org", "interval": "often"}, "the option interval is 'often'"),
        ({"urls": "http://a.org", "maxBytes": "0"}, "the option maxBytes is '0'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FeedsSource(options).schema()


def test_a_stream_needs_a_state_folder_and_a_batch_does_not() -> None:
    settings = Settings.of({"urls": "http://a.org"})
    with pytest.raises(ConfigError, match="needs the option state"):
        FeedsStreamReader(settings)
    assert len(FeedsReader(settings).partitions()) == 1


# Notes each batch under its end before it goes on, as a sink that knows its batches would.
CHILD = """
import pathlib, sys
from pyspark.sql.streaming.datasource import ReadAllAvailable
from tidegate.spark.sources.feeds import FeedsStreamReader, Settings

url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
reader = FeedsStreamReader(Settings.of({"urls": url, "state": str(folder / "state"), "interval": "0.0001"}))
done = [int(path.name) for path in folder.glob("[0-9]*")]
offset = {"batches": max(done)} if done else reader.initialOffset()
while True:
    end = reader.latestOffset(offset, ReadAllAvailable())
    batches = [batch for part in reader.partitions(offset, end) for batch in reader.read(part)]
    if batches:
        (folder / "noted").write_text(" ".join(id_ for batch in batches for id_ in batch["id"].to_pylist()))
        (folder / "noted").rename(folder / str(end["batches"]))
    reader.commit(offset)
    offset = end
"""


def test_a_driver_killed_at_any_moment_loses_and_doubles_nothing(server: FeedServer, tmp_path: Path) -> None:
    chance = random.Random(1)
    numbers = count(1)
    window: list[int] = []

    def one_more() -> Answer:
        window.insert(0, next(numbers))
        del window[50:]
        return Answer(rss(*window))

    server.answers["/a"] = one_more
    for _ in range(6):
        enough = server.asked("/a") + chance.randint(1, 6)
        with subprocess.Popen([sys.executable, "-c", CHILD, server.url("/a"), str(tmp_path)]) as child:
            while server.asked("/a") < enough:
                assert child.poll() is None
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
            child.kill()
    batches = sorted((path for path in tmp_path.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    rows = [int(id_.rsplit("/", 1)[1]) for path in batches for id_ in path.read_text().split()]
    assert len(rows) > 5
    assert rows == list(range(1, rows[-1] + 1))


def test_spark_reads_what_feeds_have_now(spark: SparkSession, server: FeedServer, tmp_path: Path) -> None:
    server.answers |= {"/a": Answer(rss(1)), "/broken": Answer(b"<"), "/b": Answer(rss(2, language="fr"))}
    (tmp_path / "feeds.txt").write_text("\n".join(map(server.url, server.answers)))
    spark.dataSource.register(FeedsSource)
    rows = spark.read.format("tidegate-feeds").load(str(tmp_path / "feeds.txt")).collect()
    assert {(row["text"], row["lang"]) for row in rows} == {("Title 1\nStorm 1", "en"), ("Title 2\nStorm 2", "fr")}


def test_spark_streams_each_entry_once_through_a_restart(
    spark: SparkSession, server: FeedServer, tmp_path: Path
) -> None:
    spark.dataSource.register(FeedsSource)

    def run() -> list[int]:
        options = {"urls": server.url("/a"), "state": str(tmp_path / "state"), "interval": "0.001"}
        entries = spark.readStream.format("tidegate-feeds").options(**options).load()
        writer = entries.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(120)
        written = spark.read.parquet(str(tmp_path / "out")).collect()
        return sorted(int(row["id"].rsplit("/", 1)[1]) for row in written)

    server.answers["/a"] = Answer(rss(2, 1))
    assert run() == [1, 2]
    server.answers["/a"] = Answer(rss(3, 2, 1))
    assert run() == [1, 2, 3]
