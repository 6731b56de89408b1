import re
from collections import Counter

import numpy as np
import pytest

from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import SOCIAL
from tidegate.workload.posts import posts
from tidegate.workload.searches import saved_searches

SEARCHES = saved_searches(10_000, seed=3)
QUERIES: list[str] = SEARCHES["query"].to_pylist()


def test_a_seed_determines_the_searches() -> None:
    assert saved_searches(500, seed=7).equals(saved_searches(500, seed=7))
    assert not saved_searches(500, seed=7).equals(saved_searches(500, seed=8))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_searches_can_be_asked_for(n: int) -> None:
    assert saved_searches(n, seed=1).num_rows == n


def test_every_search_is_a_query_the_language_accepts() -> None:
    analyzer = Analyzer(SOCIAL)
    for query in set(QUERIES):
        assert parse(query, analyzer).conjunctions


@pytest.mark.parametrize(
    "form",
    [
        r"^\w+$",
        r"^\w+ \w+$",
        " OR ",
        " NOT ",
        " -",
        '"',
        r"\*",
        "#",
        "@",
        "from:",
        "lang:en",
        r" in:\(",
        r" near:\(",
    ],
)
def test_every_form_of_the_language_occurs(form: str) -> None:
    assert sum(bool(re.search(form, query)) for query in QUERIES) > 20


def test_plain_searches_are_as_long_as_web_queries() -> None:
    distinct = set(saved_searches(60_000, seed=4)["query"].to_pylist())
    lengths = [len(query.split()) for query in distinct if re.fullmatch(r"[\w ]+", query)]
    assert max(lengths) <= 12
    # Short ones repeat and are counted once here, so the mean is above the 2.2 of all searches.
    assert 2.2 < float(np.mean(lengths)) < 3.2


def test_popular_searches_repeat_and_most_are_rare() -> None:
    counts = Counter(QUERIES)
    assert counts.most_common(1)[0][1] > 50
    assert sum(count == 1 for count in counts.values()) > 1000
    subscribers = Counter(SEARCHES["subscriber"].to_pylist())
    assert 2 < np.mean(list(subscribers.values())) < 4


def test_generated_searches_match_generated_posts() -> None:
    analyzer = Analyzer(SOCIAL)
    parsed = [parse(query, analyzer) for query in QUERIES[:300]]
    views = [
        PostView(row["text"], row["author"], row["lang"], row["lat"], row["lon"]) for row in posts(100, 9).to_pylist()
    ]
    matched = sum(satisfies(query, view, analyzer) for query in parsed for view in views)
    assert 0.002 < matched / (len(parsed) * len(views)) < 0.1
