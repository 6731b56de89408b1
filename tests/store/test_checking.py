"""What a subscription may ask for: the same at every door of the store, and never more than its region holds."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.strategies import PLACES, posts, query_texts
from tidegate.errors import QueryError
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.rank.score import scorable
from tidegate.spark.changes import checking
from tidegate.store.checking import checked_query, query_errors, subscription_errors
from tidegate.store.importing import import_subscriptions
from tidegate.store.schema import SUBSCRIPTION, conform, whole_query
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
HERE = "in:(0,0,10,10)"
ESCAPES = [
    ("storm) OR (flood", HERE),
    ("storm OR (flood", HERE),
    ("storm", f"{HERE} OR storm"),
    ("storm", f"{HERE} OR {HERE} flood"),
    ("storm", f"{HERE}) OR (flood"),
    ("storm", f"OR {HERE}"),
    ("storm", f"-{HERE}"),
    ("storm", "flood"),
    ("storm", "from:nasa"),
    ("storm", " "),
    ("storm", "0,0,10,10"),
    ("", HERE),
    (" ", HERE),
    ("-flood", HERE),
    ("the", HERE),
]
"""What has a meaning as a whole, or would have, but not as a query and its region."""

_pieces = st.sampled_from(["storm", "flood", "the", "(", ")", "OR", "-", "NOT ", '"', "in:", HERE])
_debris = st.builds(str.join, st.sampled_from(["", " "]), st.lists(_pieces, max_size=6))
_places = st.sampled_from([*PLACES, "IN: ( 0, 0 , 10,10)", "(near:(0,0,800))", "in:(0,0,10)", "in:(0,100,10,110)"])
_queries = query_texts() | _debris | st.tuples(query_texts(), query_texts()).map(") OR (".join)
_regions = _places | _debris | st.tuples(_places, query_texts()).map(" OR ".join)


def reason(query: str | None, region: str | None) -> str | None:
    try:
        checked_query(query or "", region, ANALYZER)
    except QueryError as error:
        return str(error)
    return None


@settings(max_examples=300)
@given(_queries, _regions.filter(bool), st.lists(posts(), min_size=1, max_size=5))
def test_a_post_matches_if_it_satisfies_the_query_and_lies_in_the_region(
    query: str, region: str, some: list[PostView]
) -> None:
    event(f"accepted: {reason(query, region) is None}")
    if reason(query, region) is not None:
        return
    alone, place, whole = (parse(text, ANALYZER) for text in (query, region, whole_query(query, region)))
    ((where,),) = (conjunction.regions for conjunction in place.conjunctions)
    for post in some:
        wanted = satisfies(alone, post, ANALYZER) and post.is_in(where)
        assert satisfies(whole, post, ANALYZER) == wanted


@pytest.mark.parametrize(("query", "region"), ESCAPES)
def test_no_door_lets_a_query_escape_its_region(tmp_path: Path, query: str, region: str) -> None:
    with pytest.raises(QueryError):
        checked_query(query, region, ANALYZER)
    store = Store.open(tmp_path / "store")
    row = {"id": "a", "subscriber": "ana", "query": query, "region": region}
    if query.strip():
        with pytest.raises(QueryError):
            store.subscribe("ana", query, region=region)
    assert [refusal.row for refusal in store.apply(pa.Table.from_pylist([row])).refused] == [0]
    (problems,) = checking(scorable())(iter(pa.Table.from_pylist([row]).to_batches()))
    assert problems.column("_problem").null_count == 0
    (tmp_path / "one.jsonl").write_text(json.dumps(row))
    assert import_subscriptions(store, tmp_path / "one.jsonl").refused == 1
    assert store.subscriptions().num_rows == 0


@pytest.mark.parametrize("region", [*PLACES, "IN: ( 0, 0 , 10,10)", " near:(0,0,800)\n"])
def test_every_region_of_the_language_is_accepted(region: str) -> None:
    query = checked_query("storm OR flood", region, ANALYZER)
    assert query == parse(f"storm {region} OR flood {region}", ANALYZER)


@pytest.mark.parametrize("region", [None, ""])
def test_without_a_region_the_query_is_all_that_is_asked(region: str | None) -> None:
    assert checked_query("storm OR flood", region, ANALYZER) == parse("storm OR flood", ANALYZER)


@pytest.mark.parametrize(
    ("query", "region", "wrong", "position"),
    [
        ("storm (flood", HERE, "storm (flood", 6),
        ("storm) OR (flood", HERE, "storm) OR (flood", 5),
        ("storm", "in:(0,100,10,110)", "in:(0,100,10,110)", 6),
        ("(storm", "in:(0,100,10,110)", "(storm", 0),
        ("storm", f"{HERE} OR storm", f"{HERE} OR storm", 0),
        (f"storm -{HERE}", HERE, f"(storm -{HERE}) {HERE}", 7),
    ],
)
def test_an_error_points_into_the_text_that_is_wrong(query: str, region: str, wrong: str, position: int) -> None:
    with pytest.raises(QueryError) as caught:
        checked_query(query, region, ANALYZER)
    assert (caught.value.query, caught.value.position) == (wrong, position)


def test_what_is_no_region_is_told_how_to_write_one() -> None:
    with pytest.raises(QueryError, match=r"a region is one place .* \(write in:\(west,south,east,north\) or near:\("):
        checked_query("storm", "storm", ANALYZER)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.none() | _queries, st.none() | _regions), max_size=8), st.booleans())
def test_many_are_checked_as_one_by_one(pairs: list[tuple[str | None, str | None]], are_apart: bool) -> None:
    rows = [*pairs, ("storm", None), *pairs[:3]]
    queries = [query for query, _ in rows]
    regions = [region if are_apart else None for _, region in rows]
    found = query_errors(pa.array(queries, pa.string()), pa.chunked_array([regions], pa.string()), ANALYZER)
    wanted = {i: why for i, pair in enumerate(zip(queries, regions, strict=True)) if (why := reason(*pair))}
    assert {i: str(error) for i, error in found.items()} == wanted
    assert query_errors(queries, regions, ANALYZER).keys() == wanted.keys()


def test_the_query_of_a_row_without_subscriber_is_what_is_told_first() -> None:
    rows = pa.table(
        {"subscriber": ["", None, "ana"], "query": ["(storm", "storm", "storm"], "region": [None, HERE, None]}
    )
    found = subscription_errors(conform(rows, SUBSCRIPTION), ANALYZER, scorable())
    assert [type(error).__name__ for error in found.values()] == ["QueryError", "ConfigError"]
    assert list(found) == [0, 1]
