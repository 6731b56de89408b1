"""Follow graphs have the size and the tails they were asked for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.errors import ConfigError
from tidegate.workload.follows import FACEBOOK_LIKE, TWITTER_LIKE, Follows, fans, friends, stored_follows, thinned

KINDS: list[tuple[Callable[[int, int, int], Follows], int]] = [(friends, FACEBOOK_LIKE), (fans, TWITTER_LIKE)]


def pairs_of(follows: Follows) -> set[tuple[int, int]]:
    return {(user, int(other)) for user in range(follows.users) for other in follows.followed.row(user)}


@pytest.mark.parametrize(("kind", "mean"), KINDS)
def test_everybody_follows_somebody_and_nobody_itself_or_anybody_twice(
    kind: Callable[[int, int, int], Follows], mean: int
) -> None:
    follows = kind(1_000, mean, 7)
    pairs = pairs_of(follows)
    assert len(pairs) == follows.pairs == 1_000 * mean
    assert all(user != other for user, other in pairs)
    assert (np.diff(follows.followed.offsets) > 0).all()
    assert follows.popularity.sum() == follows.pairs


@pytest.mark.parametrize(("kind", "mean"), KINDS)
def test_the_popular_few_have_far_more_followers_than_the_many(
    kind: Callable[[int, int, int], Follows], mean: int
) -> None:
    tail = np.sort(kind(1_000, mean, 7).popularity)[::-1]
    assert tail[0] > 10 * mean
    assert tail[:100].sum() > 0.3 * tail.sum()
    assert np.median(tail) < mean


@pytest.mark.parametrize(("kind", "mean"), KINDS)
def test_a_seed_determines_the_graph(kind: Callable[[int, int, int], Follows], mean: int) -> None:
    first, again, other = (pairs_of(kind(300, mean, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_friends_follow_each_other() -> None:
    pairs = pairs_of(friends(300, 4, 1))
    assert {(other, user) for user, other in pairs} == pairs


def test_who_follows_many_is_not_for_that_reason_popular() -> None:
    follows = fans(1_000, 30, 1)
    assert abs(np.corrcoef(np.diff(follows.followed.offsets), follows.popularity)[0, 1]) < 0.2


def test_authors_post_in_proportion_to_their_followers() -> None:
    follows = fans(200, 10, 1)
    posts = np.bincount(follows.authors(200_000, 1), minlength=200) / 200_000
    assert posts == pytest.approx(follows.popularity / follows.pairs, abs=0.003)


def stored(folder: Path, pairs: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Path:
    path = folder / "graph.parquet"
    pq.write_table(pa.table({"src": pairs[:, 0], "dst": pairs[:, 1]}), path)
    return path


@pytest.mark.parametrize("mutual", [False, True])
def test_a_real_graph_is_thinned_to_follows_that_it_has(tmp_path: Path, mutual: bool) -> None:
    pairs = np.random.default_rng(1).zipf(1.5, (60_000, 2)) % 3_000 * 7 + 5
    real = {(int(a), int(b)) for a, b in pairs} | ({(int(b), int(a)) for a, b in pairs} if mutual else set())
    follows = thinned(stored(tmp_path, pairs), 400, 4, seed=2, mutual=mutual)
    assert follows.users == 400
    assert follows.pairs == 1_600
    degrees = np.sort(np.bincount([a for a, b in real if a != b]))[::-1]
    assert np.diff(follows.followed.offsets).max() <= degrees[0]
    if mutual:
        assert {(other, user) for user, other in pairs_of(follows)} == pairs_of(follows)
    again = thinned(stored(tmp_path, pairs), 400, 4, seed=2, mutual=mutual)
    assert pairs_of(again) == pairs_of(follows)


def test_a_graph_that_is_all_there_is_is_kept_whole(tmp_path: Path) -> None:
    ring = np.array([(user, (user + 1) % 50) for user in range(50)] + [(3, 3), (4, 5)])
    follows = thinned(stored(tmp_path, ring), 50, 2, seed=1)
    assert follows.pairs == 50
    assert (follows.popularity == 1).all()


def test_a_graph_that_has_each_friendship_once_may_be_read_both_ways(tmp_path: Path) -> None:
    path = stored(tmp_path, np.array([(5, 7), (7, 9), (9, 7), (9, 9)]))
    assert pairs_of(stored_follows(path)) == {(0, 1), (1, 2), (2, 1)}
    assert pairs_of(stored_follows(path, mutual=True)) == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file of follows"):
        thinned(tmp_path / "none.parquet", 10, 2, 1)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ConfigError, match="follows need columns 'src' and 'dst'; its columns are a"):
        thinned(tmp_path / "other.parquet", 10, 2, 1)
    with pytest.raises(ConfigError, match="has 3 users: 10 are needed"):
        thinned(stored(tmp_path, np.array([(1, 2), (2, 3)])), 10, 2, 1)
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(ConfigError, match="no follows can be read from"):
        thinned(tmp_path / "text.parquet", 10, 2, 1)
    pq.write_table(pa.table({"src": np.zeros(0, np.int64), "dst": np.zeros(0, np.int64)}), tmp_path / "empty.parquet")
    with pytest.raises(ConfigError, match="there are no follows in it: give at least one row"):
        stored_follows(tmp_path / "empty.parquet")
    with pytest.raises(ConfigError, match="4 users: 2 follows of each in the mean take at least 5"):
        friends(4, 2, 1)
    with pytest.raises(ConfigError, match="9 follows a user among 10: give 2 to 4"):
        friends(10, 9, 1)
