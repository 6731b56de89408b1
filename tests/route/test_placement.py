"""Where queries live under plan hash, by hand-made examples and on a generated workload."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tidegate.query.conjunction import Query
from tidegate.query.parse import parse, parse_many
from tidegate.route.ownership import owner
from tidegate.route.placement import Placement, place
from tidegate.route.plan import Plan
from tidegate.text.analyzer import Analyzer
from tidegate.workload.searches import saved_searches

ANALYZER = Analyzer()


def read(*texts: str) -> list[Query]:
    return [parse(text, ANALYZER) for text in texts]


def routes_of(placement: Placement) -> dict[str, list[int]]:
    return {key: placement.routes.row(number).tolist() for number, key in enumerate(placement.keys)}


def words_of(matcher: int) -> list[str]:
    """Two words that the matcher owns, of 8."""
    return [word for word in map("w{}".format, range(200)) if owner(word, 8) == matcher][:2]


def test_owners_are_the_same_for_ever() -> None:
    # What CRC-32 is specified to give for these digits; segments are built on it, so it must not change.
    assert owner("123456789", 4096) == 0xCBF43926 % 4096
    assert [owner(term, 64) for term in ("storm", "#eclipse", "from:nasa", "сто*", "=the")] == [5, 29, 30, 59, 20]


@pytest.mark.parametrize("matchers", [2, 7, 16, 64])
@pytest.mark.parametrize("shape", ["{}", "#tag{}", "from:user{:06}", "слово{}"])
def test_owners_spread_as_evenly_as_chance(shape: str, matchers: int) -> None:
    n = 500 * matchers
    loads = np.bincount([owner(shape.format(i), matchers) for i in range(n)], minlength=matchers)
    # Five standard deviations of a fair draw.
    assert np.abs(loads - 500).max() < 5 * np.sqrt(500)


def test_a_query_lives_where_its_rarest_term_is_owned() -> None:
    placement = place(read("storm coast", "storm flood", "storm"), Plan.hash(64))
    assert placement.homes.values.tolist() == [owner("coast", 64), owner("flood", 64), owner("storm", 64)]
    assert routes_of(placement) == {term: [owner(term, 64)] for term in ("coast", "flood", "storm")}


def test_of_equally_rare_terms_the_first_in_the_alphabet_is_the_key() -> None:
    assert place(read("zebra apple"), Plan.hash(8)).keys == ["appl"]


def test_a_query_of_several_conjunctions_lives_where_most_of_its_keys_are_owned() -> None:
    (low, _), (first, second) = words_of(2), words_of(5)
    placement = place(read(f"{low} OR {first} OR {second}"), Plan.hash(8))
    assert placement.homes.values.tolist() == [5]
    assert routes_of(placement) == {low: [5], first: [5], second: [5]}


def test_on_a_tie_the_lowest_matcher_is_the_home() -> None:
    assert place(read(f"{words_of(6)[0]} OR {words_of(3)[0]}"), Plan.hash(8)).homes.values.tolist() == [3]


def test_a_key_of_two_conjunctions_of_a_query_counts_once() -> None:
    twice, once = words_of(6)[0], words_of(3)[0]
    query = f"({twice} often) OR ({twice} usual) OR {once}"
    placement = place(read(query, *["often"] * 3, *["usual"] * 3), Plan.hash(8))
    assert placement.keys == sorted([twice, once, "often", "usual"])
    assert placement.homes.values[0] == 3


def test_a_key_leads_to_the_homes_of_all_queries_that_have_it() -> None:
    shared = words_of(0)[0]
    queries = read(shared, *(" OR ".join([shared, *words_of(matcher)]) for matcher in (7, 4)))
    placement = place(queries, Plan.hash(8))
    assert placement.homes.values.tolist() == [0, 7, 4]
    assert routes_of(placement)[shared] == [0, 4, 7]


def test_a_query_without_words_lives_where_places_do() -> None:
    placement = place(read("in:(0,0,10,10)", "near:(0,0,5)"), Plan.hash(16))
    assert placement.keys == ["has:place"]
    assert placement.homes.values.tolist() == [owner("has:place", 16)] * 2


def test_accounts_languages_prefixes_and_exact_words_are_keys_as_well() -> None:
    placement = place(read("from:nasa", "lang:en", "sto*", '"the"', "#eclipse"), Plan.hash(16))
    assert placement.keys == ["#eclipse", "=the", "from:nasa", "lang:en", "sto*"]


def test_one_matcher_holds_everything() -> None:
    placement = place(read("storm coast", "flood OR tide", "in:(0,0,1,1)"), Plan.replicate())
    assert placement.homes.values.tolist() == [0, 0, 0]
    assert all(route == [0] for route in routes_of(placement).values())


def test_no_queries_have_no_homes() -> None:
    placement = place([], Plan.hash(4))
    assert (placement.homes.rows, placement.keys, placement.routes.rows) == (0, [], 0)


def test_the_order_of_the_queries_makes_no_difference() -> None:
    queries = [q for q in parse_many(saved_searches(2_000, seed=5)["query"].to_pylist(), ANALYZER)[0] if q]
    order = np.random.default_rng(6).permutation(len(queries))
    one, other = place(queries, Plan.hash(7)), place([queries[i] for i in order], Plan.hash(7))
    assert one.keys == other.keys
    assert routes_of(one) == routes_of(other)
    assert one.homes.values[order].tolist() == other.homes.values.tolist()


def test_homes_are_spread_over_all_matchers() -> None:
    queries = [q for q in parse_many(saved_searches(20_000, seed=7)["query"].to_pylist(), ANALYZER)[0] if q]
    loads = np.bincount(place(queries, Plan.hash(8)).homes.values, minlength=8)
    assert loads.min() > 0.5 * loads.mean()
    assert loads.max() < 2 * loads.mean()


def test_a_process_with_another_hash_seed_places_alike() -> None:
    program = """
from tidegate.query.parse import parse
from tidegate.route.placement import place
from tidegate.route.plan import Plan
from tidegate.text.analyzer import Analyzer
analyzer = Analyzer()
texts = ["storm coast", "flood OR tide OR #eclipse", "from:nasa mars", "in:(0,0,1,1)"]
placement = place([parse(text, analyzer) for text in texts], Plan.hash(64))
print(placement.homes.values.tolist(), placement.keys, placement.routes.values.tolist())
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
