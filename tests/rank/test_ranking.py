"""What a subscription may ask for when it is to be ranked, and what it is told when it may not."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.rank import score
from tidegate.rank.ranking import Most, Ranking, TimeWindows, checked_ranking, ranking_of
from tidegate.rank.score import register_score, scorable
from tidegate.rank.windows import Windows
from tidegate.store.checking import ranking_errors


@pytest.fixture(autouse=True)
def _functions_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "_functions", {})


def test_a_ranking_says_everything_or_nothing() -> None:
    assert Ranking.parse({}).windows == TimeWindows(10, 3_600_000_000, 3_600_000_000), "the ten newest of every hour"
    full = Ranking.parse(
        {
            **{"k": 2, "window": 20, "shift": 5, "score": {"recency": 2, "near:(48.5,2)": 1}, "diverse": True},
            **{"most": {"posts": 7, "per": "1d"}, "feed": True},
        }
    )
    assert full.windows == Windows(2, 20, 5)
    assert (full.diverse, full.most, full.feed) == (True, Most(7, 86_400_000_000), True)
    assert [(str(part), weight) for part, weight in full.score.parts] == [("near:(48.5,2.0)", 1.0), ("recency", 2.0)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"k": 21, "window": 20}, "k is 21 of windows of 20: give 1 to 20"),
        ({"k": 0}, "k is 0: give a whole number from 1"),
        ({"k": True}, "k is True: give a whole number"),
        ({"window": 20, "shift": 0}, "shift is 0: give a whole number from 1"),
        ({"window": 20, "shift": 21}, "windows of 20 that shift by 21: give 1 to 20"),
        ({"window": "10m", "shift": "11m"}, "windows of 10m that shift by 11m: give 6s to 10m"),
        ({"window": "10m", "shift": "1s"}, "windows of 10m that shift by 1s: give 6s to 10m"),
        ({"window": "10m", "shift": 5}, "shift is 5 of a window of '10m': give a span of time"),
        ({"window": 10, "shift": "5m"}, "shift is '5m' of a window of 10 posts: give a number of posts"),
        ({"window": "ten minutes"}, "window is 'ten minutes': give a span of time such as '30s'"),
        ({"window": "0s"}, "window is '0s': give a span"),
        ({"window": None}, "window is None: give a whole number"),
        ({"score": "fame"}, "score 'fame' is unknown: allowed are recency"),
        ({"score": "recency:2"}, "score 'recency:2' is unknown"),
        ({"score": []}, r"score is \[\]: give a part such as 'recency'"),
        ({"score": {"recency": "2"}}, "the weight of score 'recency' is '2': give a number"),
        ({"score": {"recency": float("nan")}}, "the weight of score 'recency' is nan: give a number"),
        ({"score": {"recency": 10**400}}, "the weight of score 'recency' is 1000"),
        ({"score": {"near:(1,2)": 1, "near:(1.0,2)": 2}}, r"score 'near:\(1.0,2\)' is there twice"),
        ({"score": "near:(91,0)"}, r"score 'near:\(91,0\)' is no place on Earth: write near:\(lat,lon\)"),
        ({"score": "near:home"}, "score 'near:home' is no place on Earth"),
        ({"diverse": 1}, "diverse is 1: give true or false"),
        ({"feed": "yes"}, "feed is 'yes': give true or false"),
        ({"most": 20}, "most is 20: give a bound as in {'posts': 20, 'per': '1d'}"),
        ({"most": {"posts": 0, "per": "1d"}}, "posts of most is 0: give a whole number"),
        ({"k": 500, "window": 500, "shift": 4}, "shift by 4 are 125 for every post: give a shift of 5 or more"),
        ({"by": "time"}, "ranking names 'by': allowed are k, window"),
    ],
)
def test_what_cannot_be_ranked_is_refused_with_its_remedy(asked: dict[str, Any], answer: str) -> None:
    with pytest.raises(ConfigError, match=answer):
        Ranking.parse(asked)


def test_a_field_is_refused_where_the_fields_of_posts_are_known() -> None:
    assert Ranking.parse({"score": "field:likes"}).score.value == "field:likes"
    with pytest.raises(ConfigError, match="score field 'likes' is unknown: posts have replies, shares"):
        Ranking.parse({"score": "field:likes"}).score.check(scorable(frozenset({"shares", "replies"})))


def test_a_function_can_be_asked_for_once_it_is_registered() -> None:
    text = '{"score": "function:fresh"}'
    with pytest.raises(ConfigError, match=r"function 'fresh' is not registered: register it first \(known: none\)"):
        checked_ranking(text, scorable())
    register_score("fresh", lambda posts: posts.column("age"))
    assert checked_ranking(text, scorable()).score.value == "function:fresh"
    with pytest.raises(ConfigError, match="cannot be called 'a b'"):
        register_score("a b", len)


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "[" * 100_000])
def test_what_is_no_object_is_no_ranking(text: str) -> None:
    with pytest.raises(ConfigError, match="give a JSON object"):
        ranking_of(text)


def _objects() -> Iterator[st.SearchStrategy[dict[str, Any]]]:
    parts = st.sampled_from(["recency", "popularity", "rarity", "field:likes", "field:é:1", "near:(-3.25,1e-7)"])
    rest = {
        "score": parts | st.dictionaries(parts, st.floats(-9, 9) | st.integers(-9, 9), min_size=1),
        "diverse": st.booleans(),
        "feed": st.booleans(),
        "most": st.none() | st.fixed_dictionaries({"posts": st.integers(1, 9), "per": st.sampled_from(["1d", "90s"])}),
    }
    counted = {"k": st.integers(1, 5), "window": st.integers(5, 9), "shift": st.integers(1, 5)}
    timed = {"k": st.integers(1, 9), "window": st.sampled_from(["120s", "2m"]), "shift": st.sampled_from(["2s", "60s"])}
    for windows in (counted, timed):
        yield st.fixed_dictionaries({}, optional={**windows, **rest}).filter(lambda one: "window" in one)


@given(asked=st.one_of(*_objects()))
def test_the_canonical_text_means_the_same_and_is_the_same_for_all_that_do(asked: dict[str, Any]) -> None:
    if "k" not in asked or (isinstance(asked["window"], str) and "shift" not in asked):
        asked["k"] = 1
    ranking = Ranking.parse(asked)
    again = ranking_of(ranking.canonical)
    assert (again, again.canonical) == (ranking, ranking.canonical)
    assert ranking.canonical.isascii()


def test_zeros_are_written_alike() -> None:
    for one, other in (("near:(0,5)", "near:(-0.0,5)"), ({"recency": 0}, {"recency": -0.0})):
        assert Ranking.parse({"score": one}).canonical == Ranking.parse({"score": other}).canonical


def test_bad_rankings_are_told_by_row() -> None:
    rankings = pa.array([None, '{"k": 3}', '{"k": 0}', "{", '{"k": 0}'])
    assert {row: str(error)[:12] for row, error in ranking_errors(rankings, scorable()).items()} == {
        2: "k is 0: give",
        3: "ranking is '",
        4: "k is 0: give",
    }
