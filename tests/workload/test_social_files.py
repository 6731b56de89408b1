"""A workload's folder holds what was drawn, whoever wrote it."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tidegate.errors import ConfigError
from tidegate.workload.social import SPOTIFY, TWITTER, Social
from tidegate.workload.social_files import PAIRS, PUBLICATIONS, TOPICS, write_workload
from tidegate.workload.traffic import publications, subscriptions


def test_files_hold_the_pairs_grouped_by_subscriber_however_many_threads_write(tmp_path: Path) -> None:
    social = Social.draw(TWITTER, TWITTER.numbers.scaled(0.06), seed=3)
    told: list[int] = []
    write_workload(social, tmp_path / "two", done=lambda written, total: told.append(written))
    write_workload(social, tmp_path / "one", threads=1)
    files = sorted((tmp_path / "two" / PAIRS).iterdir())
    assert len(files) == 2
    for path in files:
        assert path.read_bytes() == (tmp_path / "one" / PAIRS / path.name).read_bytes()
    table = pq.read_table(tmp_path / "two" / PAIRS)
    expected = social.all_pairs()
    assert [str(field.type) for field in table.schema] == ["int32", "int32"]
    assert np.array_equal(table["topic"], expected.values)
    assert np.array_equal(np.unique(table["subscriber"], return_counts=True)[1], np.diff(expected.offsets))
    assert (np.diff(table["subscriber"]) >= 0).all()
    topics = pq.read_table(tmp_path / "two" / TOPICS)
    assert np.array_equal(topics["events"], social.events)
    assert told[-1] == social.numbers.pairs
    assert not (tmp_path / "two" / PUBLICATIONS).exists(), "of Twitter's traffic by the hour nothing is known"


def test_no_subscriber_is_in_two_row_groups(tmp_path: Path) -> None:
    social = Social.draw(TWITTER, TWITTER.numbers.scaled(0.02), seed=3)
    write_workload(social, tmp_path / "new")
    (path,) = (tmp_path / "new" / PAIRS).iterdir()
    groups = pq.ParquetFile(path)
    ends = [groups.read_row_group(i)["subscriber"].to_numpy()[[0, -1]] for i in range(groups.num_row_groups)]
    assert len(ends) == 4
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    social = Social.draw(SPOTIFY, SPOTIFY.numbers.scaled(0.001), seed=1)
    with pytest.raises(ConfigError, match="is not empty: name a new folder"):
        write_workload(social, tmp_path)


def test_publications_peak_in_the_evening_and_most_stay_at_their_site() -> None:
    table = publications(10_000_000, seed=1)
    hours = table["hour"].to_numpy().astype("datetime64[h]").astype(int) % 24
    events = table["events"].to_numpy()
    by_hour = np.bincount(hours, events)
    assert [int(by_hour.argmax()), int(by_hour.argmin())] == [18, 2]
    local = table["site"].to_numpy() == table["origin"].to_numpy()
    assert 7 < events[local].sum() / events[~local].sum() < 14
    assert events[(table["service"].to_numpy() == "presence") & local].sum() == pytest.approx(1e7, rel=0.01)


def test_subscriptions_come_and_go_and_hardly_change_in_number() -> None:
    table = subscriptions(1_000_000, seed=1)
    assert sum(table["subscribed"].to_pylist()) == pytest.approx(sum(table["unsubscribed"].to_pylist()), rel=0.01)
    standing = table["standing"].to_numpy().reshape(3, -1).sum(0)
    assert standing.max() / standing.min() < 1.02
