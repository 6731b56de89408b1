"""What is shed and what is kept: a subset, bounded, the best of each post, and the same in every replay."""

from math import ceil, floor, inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.route.hot_words import Hashes, drawn, post_hashes
from tidegate.route.shedding import _GRAIN, _NEXT_MATCHER, By, Levels, random_drop, shed
from tidegate.route.visits import Visits

MATCHERS = 9
BOTH: list[By] = ["subscriptions", "consensus"]

Row = list[tuple[int, int, int]]
"""The visits of a post: matcher, keys, subscriptions."""

# Few different values, so that there are ties.
one_row = st.dictionaries(st.integers(0, MATCHERS - 1), st.tuples(st.integers(1, 3), st.integers(0, 3))).map(
    lambda visits: [(matcher, *visits[matcher]) for matcher in sorted(visits)]
)
some_rows = st.lists(one_row, max_size=12)
thresholds = st.floats(0, MATCHERS + 1) | st.integers(0, MATCHERS + 1).map(float) | st.just(inf)
ways = st.sampled_from(BOTH)


def visits_of(rows: list[Row]) -> Visits:
    flat = [visit for row in rows for visit in row]
    columns = [np.array([visit[i] for visit in flat], np.int64) for i in (1, 2)]
    return Visits(from_rows([[visit[0] for visit in row] for row in rows]), *columns)


def rows_of(visits: Visits) -> list[Row]:
    columns = zip(visits.matchers.values.tolist(), visits.keys.tolist(), visits.subscriptions.tolist(), strict=True)
    rows: list[Row] = [[] for _ in range(visits.matchers.rows)]
    for post, visit in zip(visits.post_of.tolist(), columns, strict=True):
        rows[post].append(visit)
    return rows


def hashes_of(rows: list[Row], first: int = 0) -> Hashes:
    return post_hashes(pa.array(np.arange(first, first + len(rows))))


def plainly_shed(row: Row, post: np.uint64, most: float, by: By) -> Row:
    """The definition, for one post."""
    if most == inf:
        return row
    whole = floor(most)
    if drawn(post, _NEXT_MATCHER, _GRAIN) / _GRAIN < most - whole:
        whole += 1
    best = sorted(row, key=lambda visit: (-visit[2 if by == "subscriptions" else 1], visit[0]))
    return sorted(best[:whole])


@given(rows=some_rows, most=thresholds, by=ways, first=st.integers(0, 1000))
def test_the_kernel_keeps_what_its_plain_twin_keeps(rows: list[Row], most: float, by: By, first: int) -> None:
    hashes = hashes_of(rows, first)
    kept = rows_of(shed(visits_of(rows), hashes, most, by))
    assert kept == [plainly_shed(row, post, most, by) for row, post in zip(rows, hashes, strict=True)]


@given(rows=some_rows, most=thresholds, by=ways)
def test_what_is_kept_is_a_subset_and_never_more_than_the_threshold(rows: list[Row], most: float, by: By) -> None:
    kept = rows_of(shed(visits_of(rows), hashes_of(rows), most, by))
    for before, after in zip(rows, kept, strict=True):
        assert set(after) <= set(before)
        assert min(len(before), floor(min(most, MATCHERS))) <= len(after) <= ceil(min(most, MATCHERS))


@given(rows=some_rows, one=thresholds, other=thresholds, by=ways)
def test_a_lower_threshold_keeps_part_of_what_a_higher_one_keeps(
    rows: list[Row], one: float, other: float, by: By
) -> None:
    less, more = (rows_of(shed(visits_of(rows), hashes_of(rows), most, by)) for most in sorted((one, other)))
    assert all(set(few) <= set(many) for few, many in zip(less, more, strict=True))


@given(rows=some_rows, by=ways)
def test_level_0_sheds_nothing(rows: list[Row], by: By) -> None:
    assert rows_of(shed(visits_of(rows), hashes_of(rows), Levels().most(0), by)) == rows


@given(rows=some_rows, most=thresholds, by=ways, share=st.floats(0, 1), at=st.integers(0, 12))
def test_a_post_is_shed_alike_whatever_batch_it_comes_in(
    rows: list[Row], most: float, by: By, share: float, at: int
) -> None:
    whole, hashes = visits_of(rows), hashes_of(rows)
    parts = [slice(0, at), slice(at, None)]
    assert rows_of(shed(whole, hashes, most, by)) == [
        row for part in parts for row in rows_of(shed(visits_of(rows[part]), hashes[part], most, by))
    ]
    assert rows_of(random_drop(whole, hashes, share)) == [
        row for part in parts for row in rows_of(random_drop(visits_of(rows[part]), hashes[part], share))
    ]


def many_posts(n: int) -> tuple[Visits, Hashes]:
    """Posts that visit three matchers each."""
    matchers = Csr(np.arange(0, 3 * n + 1, 3), np.tile(np.arange(3, dtype=np.int32), n))
    return Visits(matchers, np.ones(3 * n, np.int64), np.ones(3 * n, np.int64)), post_hashes(pa.array(np.arange(n)))


@pytest.mark.parametrize("most", [0.25, 1.6, 2.9])
def test_a_threshold_between_two_numbers_is_kept_on_average(most: float) -> None:
    n = 20_000
    kept = shed(*many_posts(n), most)
    chance = most % 1
    # Five standard deviations of a fair draw.
    assert abs(len(kept.keys) - n * most) < 5 * np.sqrt(n * chance * (1 - chance))


def test_posts_are_dropped_whole_and_in_the_share_that_was_asked_for() -> None:
    n = 20_000
    lengths = np.diff(random_drop(*many_posts(n), 0.3).matchers.offsets)
    assert set(lengths.tolist()) == {0, 3}
    assert abs(np.count_nonzero(lengths == 0) - 0.3 * n) < 5 * np.sqrt(n * 0.21)


def test_who_is_dropped_has_nothing_to_do_with_who_loses_a_matcher() -> None:
    n = 20_000
    visits, hashes = many_posts(n)
    dropped = np.diff(random_drop(visits, hashes, 0.5).matchers.offsets) == 0
    loses = np.diff(shed(visits, hashes, 2.5).matchers.offsets) == 2
    assert abs(np.count_nonzero(dropped & loses) - n / 4) < 5 * np.sqrt(n * 3 / 16)


@given(
    k=st.floats(0.1, 20),
    m_min=st.floats(0.1, 20),
    count=st.integers(2, 20),
)
def test_thresholds_fall_by_equal_steps_from_k_to_m_min(k: float, m_min: float, count: int) -> None:
    assume(m_min <= k)
    levels = Levels(k, m_min, count)
    most = np.array([levels.most(level) for level in range(1, count + 1)])
    assert levels.most(0) == inf
    assert (most[0], most[-1]) == pytest.approx((k, m_min))
    assert np.diff(most) == pytest.approx(np.full(count - 1, (m_min - k) / (count - 1)), abs=1e-9)


def test_the_last_level_of_whole_numbers_is_met_exactly() -> None:
    # A hair less than one matcher would be no matcher at all for some posts.
    assert all(Levels(k, 1, count).most(count) == 1 for k in range(1, 12) for count in range(2, 30))


def test_what_cannot_be_shed_by_is_refused() -> None:
    visits, hashes = many_posts(2)
    with pytest.raises(ConfigError, match="no shedding goes by 'luck': choose one of subscriptions, consensus"):
        shed(visits, hashes, 1, by="luck")  # type: ignore[arg-type]
    for most in (-0.5, float("nan")):
        with pytest.raises(ConfigError, match="matchers a post: 0 is the least"):
            shed(visits, hashes, most)
    with pytest.raises(ConfigError, match=r"a share of 1\.5 of the posts to drop: 0 to 1 is allowed"):
        random_drop(visits, hashes, 1.5)


@pytest.mark.parametrize("bad", [{"count": 1}, {"m_min": 0}, {"m_min": 8}, {"k": inf}])
def test_what_are_no_levels_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="levels of shedding, from"):
        Levels(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [-1, 9])
def test_a_level_that_there_is_not_is_refused(level: int) -> None:
    with pytest.raises(ConfigError, match=f"shedding level {level}: there are levels 0 to 8"):
        Levels().most(level)
