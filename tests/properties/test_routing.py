"""However many matchers share the queries, each on the posts that visit it: no match is lost, none is doubled."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import posts, queries
from tidegate.csr import Csr
from tidegate.query.conjunction import Query
from tidegate.query.semantics import PostView, satisfies
from tidegate.route.placement import Placement, owner, place
from tidegate.route.plan import Plan
from tidegate.route.router import Router
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()

some_queries = st.lists(queries(ANALYZER), max_size=12)
some_posts = st.lists(posts(), max_size=6)
matcher_counts = st.integers(1, 8)


def table(views: Sequence[PostView]) -> pa.Table:
    columns = {
        "text": pa.string(),
        "author": pa.string(),
        "lang": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
    return pa.table({name: pa.array([getattr(v, name) for v in views], kind) for name, kind in columns.items()})


def rows(csr: Csr) -> list[list[int]]:
    return [csr.row(i).tolist() for i in range(csr.rows)]


def found_at_homes(
    asked: Sequence[Query], placement: Placement, routed: Csr, views: Sequence[PostView]
) -> list[tuple[int, int]]:
    """The matches of all matchers, one after the other: (post, query)."""
    return [
        (post, number)
        for matcher in range(placement.matchers)
        for post, view in enumerate(views)
        if matcher in routed.row(post)
        for number, query in enumerate(asked)
        if placement.homes[number] == matcher and satisfies(query, view, ANALYZER)
    ]


@given(asked=some_queries, views=some_posts, matchers=matcher_counts)
@settings(max_examples=100)
def test_matchers_together_find_every_match_exactly_once(
    asked: list[Query], views: list[PostView], matchers: int
) -> None:
    placement = place(asked, Plan.hash(matchers))
    routed = Router.build(placement, ANALYZER).route(table(views))
    everything = [
        (p, q) for p, view in enumerate(views) for q, query in enumerate(asked) if satisfies(query, view, ANALYZER)
    ]
    assert sorted(found_at_homes(asked, placement, routed, views)) == everything


@given(asked=some_queries, matchers=matcher_counts)
@settings(max_examples=50)
def test_every_query_has_one_home_and_every_key_leads_to_homes_in_rising_order(
    asked: list[Query], matchers: int
) -> None:
    placement = place(asked, Plan.hash(matchers))
    assert len(placement.homes) == len(asked)
    assert placement.keys == sorted(set(placement.keys))
    routes = dict(zip(placement.keys, rows(placement.routes), strict=True))
    for query, home in zip(asked, placement.homes.tolist(), strict=True):
        keys = [
            [term for term in conjunction.positive if home in routes.get(term, [])]
            for conjunction in query.conjunctions
        ]
        assert all(keys), "a conjunction has no term that leads home"
        assert home in {owner(term, matchers) for terms in keys for term in terms}
    assert all(route and all(a < b for a, b in pairwise(route)) for route in routes.values())
    assert {matcher for route in routes.values() for matcher in route} == set(placement.homes.tolist())


@given(asked=some_queries, views=some_posts, matchers=matcher_counts)
@settings(max_examples=50)
def test_posts_take_the_same_ways_after_saving_in_any_batch_and_any_order_of_queries(
    asked: list[Query], views: list[PostView], matchers: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    router = Router.build(place(asked, Plan.hash(matchers)), ANALYZER)
    expected = rows(router.route(table(views)))
    path: Path = tmp_path_factory.mktemp("routers") / "router.arrow"
    router.save(path)
    opened = Router.open(path)
    assert rows(opened.route(table(views))) == expected
    assert [row for view in views for row in rows(opened.route(table([view])))] == expected
    turned = Router.build(place(asked[::-1], Plan.hash(matchers)), ANALYZER)
    assert rows(turned.route(table(views))) == expected
    assert all(0 <= matcher < matchers for row in expected for matcher in row)
    assert all(a < b for row in expected for a, b in pairwise(row))
