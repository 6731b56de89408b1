"""Scores of many posts for many feeds, compared with one at a time in plain Python."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.query.region import great_circle_km
from tidegate.rank.score import Part, Score
from tidegate.rank.scores import Scored, rarities, scored

POSTS = pa.table(
    {
        "likes": pa.array([3, None, 7, 0], pa.int64()),
        "shares": pa.array([0.5, math.inf, -math.inf, math.nan]),
        "followers": pa.array([0, 100, -1, None], pa.int32()),
        "lat": pa.array([48.86, 0.0, None, 91.0]),
        "lon": pa.array([2.35, 180.0, 1.0, 0.0]),
        "lang": ["en", "fr", "de", "en"],
    }
)
TIMES = np.array([0, 3_600_000_000, 5_400_000_000, 1], np.int64)
FIELDS = [f"field:{name}" for name in ("likes", "shares", "lang", "none")]
SUMS = st.dictionaries(
    st.sampled_from([*FIELDS, "recency", "popularity", "near:(48,2)", "near:(0,0)"]),
    st.floats(-5, 5),
    min_size=1,
    max_size=4,
)


def score_of(part: Part, row: int) -> float:
    """What a part is defined to be."""
    post: dict[str, Any] = POSTS.slice(row, 1).to_pylist()[0]
    if part.kind == "recency":
        return float(TIMES[row]) / 3.6e9
    if part.kind == "popularity":
        followers = post["followers"]
        return math.log1p(followers) if followers is not None and followers >= 0 else math.nan
    if part.kind == "near":
        lat, lon = post["lat"], post["lon"]
        return math.nan if lat is None or lat > 90 else -great_circle_km(lat, lon, part.lat, part.lon)
    value = post.get(part.name)
    return math.nan if value is None or isinstance(value, str) else float(value)


def all_pairs(*scores: Any, functions: Any = None) -> Scored:
    read = [Score(((Part(*one.split(":", 1)), 1.0),)) if ":" in one else Score.parse(one) for one in scores]
    post, score = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(len(read)), indexing="ij"))
    return scored(POSTS, TIMES, post, score, read, functions or {})


@given(asked=st.lists(SUMS, min_size=1, max_size=4))
def test_pairs_are_scored_as_each_would_be_alone(asked: list[dict[str, float]]) -> None:
    scores = [Score.parse(one) for one in asked]
    post, score = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(len(scores)), indexing="ij"))
    found = scored(POSTS, TIMES, post, score, scores, {})
    for row, number, value, reason in zip(post, score, found.values, found.reason, strict=True):
        expected = sum(weight * score_of(part, int(row)) for part, weight in scores[number].parts)
        assert math.isnan(value) == math.isnan(expected) == (reason >= 0)
        assert math.isnan(value) or math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-6)


def test_what_has_no_score_is_told_why() -> None:
    found = scored(
        POSTS,
        TIMES,
        np.array([0, 0, 1, 2, 1]),
        np.array([0, 1, 2, 3, 4]),
        [Score.parse(one) for one in ("field:none", "field:lang", "field:likes", "near:(0,0)", {"field:shares": 0})],
        {},
    )
    assert [found.reasons[i] for i in found.reason] == [
        "posts have no column 'none', which its score needs",
        "column 'lang' is of type string: a score needs numbers",
        "score field:likes is no number: column 'likes' has none",
        "the post has no place, which near needs",
        "the parts of its score have no sum: they are infinite",
    ]


def test_a_function_is_blamed_for_the_posts_it_fails_of_and_no_others() -> None:
    def picky(posts: pa.Table) -> pa.Array:
        if None in posts.column("likes").to_pylist():
            raise KeyError("likes")
        return posts.column("likes")

    found = all_pairs("function:picky", functions={"picky": picky})
    assert found.values[[0, 2, 3]].tolist() == [3, 7, 0]
    assert [found.reasons[i] if i >= 0 else None for i in found.reason] == [
        None,
        "score function:picky fails: KeyError: 'likes'",
        None,
        None,
    ]


def test_a_function_that_answers_nonsense_ranks_nothing() -> None:
    found = all_pairs("function:nan", "function:short", "function:gone", functions={"nan": nan, "short": short})
    assert np.isnan(found.values).all()
    assert {found.reasons[i] for i in found.reason} == {
        "score function:nan is NaN",
        "score function:short fails: ValueError: 1 posts got an answer of shape (0,)",
        "score function 'gone' is not registered",
    }


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


def test_a_function_may_fail_in_whatever_words() -> None:
    def raising(error: Exception) -> Any:
        def fails(posts: pa.Table) -> None:
            raise error

        return fails

    functions = {"mute": raising(MuteError()), "torn": raising(ValueError("\ud800"))}
    found = all_pairs("function:mute", "function:torn", functions=functions)
    assert pa.array([found.reasons[i] for i in found.reason[:2]]).to_pylist() == [
        "score function:mute fails: MuteError",
        "score function:torn fails: ValueError: \\ud800",
    ]


def nan(posts: pa.Table) -> list[float]:
    return [math.nan] * posts.num_rows


def short(posts: pa.Table) -> list[float]:
    return [1.0] * (posts.num_rows - 1)


def test_rare_terms_count_more_and_long_posts_less() -> None:
    frequency = np.array([900, 10, 10], np.int64)
    common, rare, both, long = rarities(from_rows([[0], [1], [0, 1], [0, 1, 2]]), frequency, 1_000, 2.0)
    assert common < rare
    assert both / (common + rare) < 1 < long / rare
    idf = math.log(1 + (1_000 - 10 + 0.5) / 10.5)
    assert math.isclose(rare, idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 / 2)))
