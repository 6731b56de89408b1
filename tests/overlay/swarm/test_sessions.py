"""Sessions, read, tiled and drawn, and the changes that they come to."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.sessions import DAY_S, Sessions, always, drawn_sessions, read_sessions

PEERS = 5
SESSIONS = st.lists(
    st.tuples(st.integers(0, PEERS - 1), st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=30
)


def sessions_of(rows: list[tuple[int, int, int]], peers: int = PEERS) -> Sessions:
    """Of peers, beginnings and lengths."""
    who, begin, length = (np.array(column) for column in zip(*rows, strict=True))
    return Sessions(peers, who, begin * 1.0, (begin + length) * 1.0)


def there(sessions: Sessions, at: float) -> set[int]:
    """Who is there just after a time, by definition."""
    return set(sessions.who[(sessions.begin <= at) & (sessions.end > at)].tolist())


@given(SESSIONS)
def test_changes_lead_to_who_is_there_at_any_time(rows: list[tuple[int, int, int]]) -> None:
    sessions = sessions_of(rows)
    churn = Churn.of(sessions)
    assert (np.diff(churn.times) >= 0).all()
    for at in range(int(sessions.seconds)):
        present = churn.present(at + 0.5)
        assert set(np.flatnonzero(present).tolist()) == there(sessions, at + 0.5)
        assert churn.sizes(np.array([at + 0.5])) == present.sum()


@given(SESSIONS)
def test_nobody_comes_who_is_there_or_goes_who_is_not(rows: list[tuple[int, int, int]]) -> None:
    churn = Churn.of(sessions_of(rows))
    up = churn.first.copy()
    for who, comes in zip(churn.who.tolist(), churn.comes.tolist(), strict=True):
        assert up[who] != comes
        up[who] = comes


@given(SESSIONS, st.integers(1, 13), st.integers(0, 90))
def test_every_copy_of_a_trace_is_as_long_there_as_the_trace(
    rows: list[tuple[int, int, int]], peers: int, shift: int
) -> None:
    trace = sessions_of(rows)
    tiled = trace.tiled(peers, float(shift))
    assert tiled.peers == peers
    assert tiled.who.max(initial=0) < peers
    assert tiled.end.max(initial=0) <= trace.seconds
    lengths = np.bincount(tiled.who, tiled.end - tiled.begin, minlength=peers)
    originals = np.bincount(trace.who, trace.end - trace.begin, minlength=PEERS)
    assert lengths.tolist() == [originals[peer % PEERS] for peer in range(peers)]


def test_a_window_of_a_trace_begins_at_0() -> None:
    window = sessions_of([(0, 0, 10), (1, 4, 2), (2, 8, 9)]).between(5, 9)
    assert window.begin.tolist() == [0, 0, 3]
    assert window.end.tolist() == [4, 1, 4]


def test_times_of_a_trace_that_was_taken_by_asking_are_spread_over_what_it_cannot_know() -> None:
    asked = Sessions(100, np.arange(100), np.repeat(1000.0, 100), np.repeat((2000.0, 3000.0), 50))
    spread = asked.spread(500.0, seed=1)
    assert spread.begin.min() >= 500
    assert len(np.unique(spread.begin)) == 100
    assert (spread.end[:50] <= 2000).all()
    assert (spread.end[50:] == 3000).all()


def test_a_share_goes_at_once_and_comes_back() -> None:
    sudden = always(100, 1000.0).leaving(300.0, 0.2, seed=1, back_s=100.0)
    churn = Churn.of(sudden)
    assert churn.sizes(np.array([300.0, 301.0, 399.0, 401.0])).tolist() == [100, 80, 80, 100]


def test_a_flash_crowd_was_not_there_before_and_stays() -> None:
    churn = Churn.of(always(100, 1000.0).crowding(300.0, 0.6, seed=1, within_s=10.0))
    assert churn.sizes(np.array([299.0, 311.0, 999.0])).tolist() == [40, 100, 100]


def test_only_cycles_in_which_many_go_and_those_after_are_sharp_drops() -> None:
    churn = Churn.of(always(100, 3600.0).leaving(600.0, 0.2, seed=1).leaving(2400.0, 0.05, seed=2))
    sharp = churn.sharp_drops(60.0, 3600.0, after=3)
    assert np.flatnonzero(sharp).tolist() == [10, 11, 12, 13]


def test_where_more_come_than_go_is_a_flash_crowd_and_no_sharp_drop() -> None:
    churn = Churn.of(always(100, 3600.0).crowding(600.0, 0.6, seed=1, within_s=10.0).leaving(620.0, 0.2, seed=1))
    _, _, comes = churn.between(600.0, 660.0)
    assert (~comes).sum() > 0.1 * 40
    assert not churn.sharp_drops(60.0, 3600.0).any()
    assert np.flatnonzero(churn.flash_crowds(60.0, 3600.0, after=2)).tolist() == [10, 11, 12]


def test_drawn_sessions_have_long_tails_and_a_rhythm_of_days() -> None:
    drawn = drawn_sessions(3000, 6 * DAY_S, seed=1)
    again = drawn_sessions(3000, 6 * DAY_S, seed=1)
    assert (drawn.begin == again.begin).all()
    lengths = drawn.end - drawn.begin
    assert lengths.mean() > 2 * np.median(lengths)
    hours = Churn.of(drawn).sizes(np.arange(0.0, 6 * DAY_S, 3600.0)).reshape(6, 24).mean(axis=0)
    assert 0.3 < hours.mean() / 3000 < 0.7
    # The trace has 1.10 of its mean in the afternoon and 0.88 at night.
    assert 1.05 < hours.max() / hours.mean() < 1.25
    assert 8 <= hours.argmax() <= 17


def test_a_trace_is_read_and_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    table = pa.table({"node": [7, 7, 9], "start_s": [100, 160, 100], "end_s": [150, 170, 100]})
    pq.write_table(table, tmp_path / "trace.parquet")
    trace = read_sessions(tmp_path / "trace.parquet")
    assert (trace.peers, trace.who.tolist(), trace.begin.tolist()) == (2, [0, 0], [0, 60])
    pq.write_table(pa.table({"node": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ConfigError, match="'start_s'"):
        read_sessions(tmp_path / "other.parquet")
    with pytest.raises(ConfigError, match="no such file"):
        read_sessions(tmp_path / "none.parquet")
