"""However many matchers share the queries, each on the posts that visit it: no match is lost, none is doubled."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.plans import Planned, plans
from tests.strategies import posts, queries
from tidegate.csr import Csr
from tidegate.index.asked import Asked
from tidegate.index.compiled import Compiled
from tidegate.index.strings import strings
from tidegate.query.conjunction import Query
from tidegate.query.semantics import PostView, satisfies
from tidegate.route.hot_words import Hashes, post_hashes
from tidegate.route.placement import HEAD, Placement, place
from tidegate.route.places.heard import KEY_BITS
from tidegate.route.router import Router
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()

some_queries = st.lists(queries(ANALYZER), max_size=12)
some_posts = st.lists(posts(), max_size=6)


def table(views: Sequence[PostView]) -> pa.Table:
    columns = {
        "text": pa.string(),
        "author": pa.string(),
        "lang": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
    return pa.table({name: pa.array([getattr(v, name) for v in views], kind) for name, kind in columns.items()})


def hashes(views: Sequence[PostView]) -> Hashes:
    return post_hashes(pa.array([f"post {number}" for number in range(len(views))], pa.string()))


def rows(csr: Csr) -> list[list[int]]:
    return [csr.row(i).tolist() for i in range(csr.rows)]


def placed(asked: Sequence[Query], planned: Planned) -> Placement:
    return place(asked, planned.plan, planned.words, places=planned.places)


def found_at_homes(asked: Sequence[Query], planned: Planned, views: Sequence[PostView]) -> list[tuple[int, int]]:
    """The matches of the head and of all matchers, one after the other, each as it really works: (post, query)."""
    placement, plan = placed(asked, planned), planned.plan
    router = Router.build(placement, ANALYZER)
    visits = router.route(table(views), hashes(views)).matchers
    found = []
    for matcher in range(HEAD, plan.matchers):
        numbers = [number for number in range(len(asked)) if matcher in placement.homes.row(number)]
        part = Asked(
            strings([str(number) for number in numbers]),
            strings([""] * len(numbers)),
            np.arange(len(numbers), dtype=np.int32),
            [asked[number] for number in numbers],
        )
        compiled = Compiled.of(part, ANALYZER)
        matched = compiled.match(table(views))
        duty = placement.copies.duty(matcher, compiled.canonical) if matcher != HEAD else None
        if duty is not None:
            matched = replace(matched, queries=duty.answered(matched.queries, visits))
        found += [
            (post, int(number)) for post, number in matched.pairs() if matcher == HEAD or matcher in visits.row(post)
        ]
    return sorted(found)


@given(asked=some_queries, views=some_posts, planned=plans())
@settings(max_examples=200)
def test_matchers_together_find_every_match_exactly_once(
    asked: list[Query], views: list[PostView], planned: Planned
) -> None:
    asked = list({query.id: query for query in asked}.values())
    everything = [
        (p, q) for p, view in enumerate(views) for q, query in enumerate(asked) if satisfies(query, view, ANALYZER)
    ]
    assert found_at_homes(asked, planned, views) == everything


@given(asked=some_queries, planned=plans())
@settings(max_examples=100)
def test_every_conjunction_has_a_key_that_leads_to_its_query(asked: list[Query], planned: Planned) -> None:
    placement = placed(asked, planned)
    assert placement.homes.rows == len(asked)
    assert placement.keys == sorted(set(placement.keys))
    routes, slots = rows(placement.routes), placement.slots.tolist()
    ways = {key: routes[slots[k] : slots[k + 1]] for k, key in enumerate(placement.keys) if slots[k] < slots[k + 1]}
    heard, mask = placement.spots.heard, 2**KEY_BITS - 1
    in_cells = {placement.keys[key & mask] for key in heard.keys.tolist()}
    for query, homes in zip(asked, rows(placement.homes), strict=True):
        assert homes
        if homes == [HEAD]:
            continue
        for conjunction in query.conjunctions:
            leading = [
                term for term in conjunction.positive if all(set(way) & set(homes) for way in ways.get(term, [[]]))
            ]
            by_place = conjunction.regions and in_cells & set(conjunction.positive)
            assert leading or by_place, "a conjunction has no term that leads home, whatever version a post draws"
    assert all(route and all(a < b for a, b in pairwise(route)) for route in routes)
    led_to = {matcher for route in routes for matcher in route}
    led_to |= {int(placement.spots.matchers[place]) for place in np.flatnonzero(heard.table >= 0)}
    assert led_to == set(placement.homes.values.tolist()) - {HEAD}


@given(asked=some_queries, views=some_posts, planned=plans())
@settings(max_examples=50)
def test_posts_take_the_same_ways_after_saving_and_in_any_batch(
    asked: list[Query],
    views: list[PostView],
    planned: Planned,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    router = Router.build(placed(asked, planned), ANALYZER)
    expected = rows(router.route(table(views), hashes(views)).matchers)
    path: Path = tmp_path_factory.mktemp("routers") / "router.arrow"
    router.save(path)
    opened = Router.open(path)
    assert rows(opened.route(table(views), hashes(views)).matchers) == expected
    one_by_one = [
        rows(opened.route(table([view]), hashes(views)[number : number + 1]).matchers)[0]
        for number, view in enumerate(views)
    ]
    assert one_by_one == expected
    assert all(0 <= matcher < planned.plan.matchers for row in expected for matcher in row)
    assert all(a < b for row in expected for a, b in pairwise(row))


@given(asked=some_queries, views=some_posts, planned=plans())
@settings(max_examples=50)
def test_the_order_of_queries_makes_no_difference_but_to_lasp_and_chance(
    asked: list[Query], views: list[PostView], planned: Planned
) -> None:
    planned = planned._replace(plan=replace(planned.plan, placement="rarest"))
    one, other = (Router.build(placed(order, planned), ANALYZER) for order in (asked, asked[::-1]))
    assert rows(one.route(table(views), hashes(views)).matchers) == rows(
        other.route(table(views), hashes(views)).matchers
    )
