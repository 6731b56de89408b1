from itertools import combinations
from math import comb, factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr
from tidegate.errors import ConfigError
from tidegate.index import models
from tidegate.index.contents import estimate_contents, sample_items
from tidegate.index.models import Floats, Workload
from tidegate.index.trie_models import (
    Order,
    TrieModel,
    complete_trie_nodes,
    complete_trie_size,
    expected_visits,
)
from tidegate.workload import lengths, terms
from tidegate.workload.subscriptions import items, term_sets

Path = tuple[int, ...]


def workload_of(subscriptions: int, law: Floats, theta: Floats) -> Workload:
    return Workload(subscriptions, law, theta, law, item_length=min(25, len(law)))


def all_sets(workload: Workload) -> dict[Path, float]:
    """Every possible subscription with its probability, by enumeration."""
    found: dict[Path, float] = {}
    for k in range(1, workload.longest + 1):
        products = {s: prod(workload.terms[list(s)].tolist()) for s in combinations(range(len(workload.terms)), k)}
        total = sum(products.values())
        found.update({s: float(workload.lengths[k]) * p / total for s, p in products.items()})
    return found


def trie_paths(sets: Csr, order: Order) -> set[Path]:
    """A trie in plain Python: the set of its paths."""
    paths: set[Path] = set()
    for i in range(sets.rows):
        path = tuple(sorted(sets.row(i).tolist(), reverse=order == "reverse"))
        paths.update(path[:depth] for depth in range(1, len(path) + 1))
    return paths


def visited(paths: set[Path], item: list[int], order: Order) -> int:
    ordered = sorted(item, reverse=order == "reverse")

    def below(path: Path, first: int) -> int:
        children = [i for i in range(first, len(ordered)) if (*path, ordered[i]) in paths]
        return sum(1 + below((*path, ordered[i]), i + 1) for i in children)

    return below((), 0)


@st.composite
def small_workloads(draw: st.DrawFn) -> Workload:
    weights = np.array(draw(st.lists(st.floats(0.05, 1), min_size=4, max_size=7)))
    theta = np.array([0.0, *draw(st.lists(st.floats(0.05, 1), min_size=1, max_size=4))])
    n = draw(st.integers(1, 200))
    return workload_of(n, weights / weights.sum(), theta / theta.sum())


@given(small_workloads())
@settings(deadline=None, max_examples=60)
def test_the_models_equal_enumeration_over_all_possible_subscriptions(workload: Workload) -> None:
    sets = all_sets(workload)
    n, vocabulary = workload.subscriptions, range(len(workload.terms))
    present = [sum(p for s, p in sets.items() if t in s) for t in vocabulary]
    keys = [sum(p for s, p in sets.items() if s[-1] == t) for t in vocabulary]
    stored = [sum(p * len(s) for s, p in sets.items() if s[-1] == t) for t in vocabulary]
    np.testing.assert_allclose(models.membership(workload), present, rtol=1e-9)
    np.testing.assert_allclose(models.posting_sizes(workload).sum(), n * workload.mean_length, rtol=1e-9)
    np.testing.assert_allclose(models.key_shares(workload), keys, rtol=1e-9)
    np.testing.assert_allclose(models.keyed_sizes(workload), np.multiply(n, stored), rtol=1e-9)
    assert models.subscribed_terms(workload) == pytest.approx(sum(1 - (1 - p) ** n for p in present), rel=1e-6)
    assert models.keyed_terms(workload) == pytest.approx(sum(1 - (1 - p) ** n for p in keys), rel=1e-6)


@given(small_workloads(), st.sampled_from(["frequency", "reverse"]), st.data())
@settings(deadline=None, max_examples=60)
def test_theorems_1_and_2_equal_enumeration_over_all_possible_paths(
    workload: Workload, order: Order, data: st.DataObject
) -> None:
    shares: dict[Path, float] = {}
    for s, p in all_sets(workload).items():
        path = s[::-1] if order == "reverse" else s
        for depth in range(1, len(path) + 1):
            shares[path[:depth]] = shares.get(path[:depth], 0.0) + p
    occupied = {path: 1 - max(1 - p, 0) ** workload.subscriptions for path, p in shares.items()}
    item = data.draw(st.sets(st.sampled_from(range(len(workload.terms))), min_size=1))
    model = TrieModel(workload, order)
    assert model.nodes() == pytest.approx(sum(occupied.values()), rel=1e-4)
    expected = sum(p for path, p in occupied.items() if item.issuperset(path))
    assert model.visits(sorted(item)) == pytest.approx(expected, rel=1e-4)
    assert expected_visits(workload, sorted(item), order) == model.visits(sorted(item))


def test_the_distinct_shares_are_the_birthday_problem() -> None:
    workload = workload_of(1, terms.uniform(365), lengths.fixed(23))
    expected = [factorial(k) * comb(365, k) / 365**k for k in range(24)]
    np.testing.assert_allclose(workload.distinct, expected, rtol=1e-12)


def test_long_subscriptions_of_a_large_vocabulary_do_not_underflow() -> None:
    workload = workload_of(1000, terms.real(200_000), lengths.fixed(36))
    assert workload.distinct[36] > 0.5
    assert models.key_shares(workload).sum() == pytest.approx(1.0, rel=1e-9)
    assert models.membership(workload).sum() == pytest.approx(36, rel=1e-9)


def test_posting_lists_are_as_long_as_the_model_says() -> None:
    law, theta, n = terms.real(50_000), lengths.web_queries(), 1_000_000
    workload, sets = workload_of(n, law, theta), term_sets(n, law, theta, seed=21)
    counts = np.bincount(sets.values, minlength=len(law))
    np.testing.assert_allclose(counts[:10], models.posting_sizes(workload)[:10], rtol=0.03)
    assert (counts > 0).sum() == pytest.approx(models.subscribed_terms(workload), rel=0.005)
    keys = np.maximum.reduceat(sets.values, sets.offsets[:-1])
    stored = np.bincount(keys, weights=np.diff(sets.offsets), minlength=len(law))
    for ranks in (slice(0, 100), slice(100, 1000), slice(1000, 50_000)):
        assert stored[ranks].sum() == pytest.approx(models.keyed_sizes(workload)[ranks].sum(), rel=0.02)


@pytest.mark.parametrize(
    ("law", "theta", "item_terms"),
    [
        # The case of a Zipf law at which the paper's binomial form predicts about half.
        (terms.zipf(3000, 0.9), lengths.fixed(5), 20),
        (terms.real(30_000), lengths.fixed(2), 25),
        (terms.real(30_000), lengths.fixed(8), 25),
        (terms.real(30_000), lengths.web_queries(), 30),
    ],
    ids=["zipf-5", "real-2", "real-8", "real-web"],
)
@pytest.mark.parametrize("order", ["frequency", "reverse"])
def test_items_visit_as_many_trie_nodes_as_theorem_2_says(
    law: Floats, theta: Floats, item_terms: int, order: Order
) -> None:
    n, seeds = 50_000, (6, 7, 8, 9)  # one drawn workload scatters by 1 %, the mean of four by half of it
    model = TrieModel(workload_of(n, law, theta), order)
    posts = items(400, law, seed=5, shortest=item_terms, longest=item_terms)
    tries = [trie_paths(term_sets(n, law, theta, seed), order) for seed in seeds]
    measured = np.mean([[visited(trie, posts.row(i).tolist(), order) for i in range(posts.rows)] for trie in tries])
    assert np.mean([model.visits(posts.row(i)) for i in range(posts.rows)]) == pytest.approx(measured, rel=0.015)


def test_repeated_terms_of_an_item_are_visited_once() -> None:
    model = TrieModel(workload_of(100, terms.zipf(50), lengths.fixed(3)))
    assert model.visits([4, 1, 4, 9, 1]) == model.visits([1, 4, 9])


def test_estimated_contents_are_those_of_a_drawn_workload() -> None:
    law, theta, n = terms.real(20_000), lengths.web_queries(), 100_000
    contents = estimate_contents(workload_of(n, law, theta))
    sets = term_sets(n, law, theta, seed=12)
    held = {tuple(sorted(sets.row(i).tolist())) for i in range(n)}
    posts = items(3000, law, seed=13, shortest=25, longest=25)
    use = np.bincount(posts.values, minlength=len(law)) / posts.rows
    assert contents.sets == pytest.approx(len(held), rel=0.01)
    assert contents.occurrences == pytest.approx(sum(map(len, held)), rel=0.01)
    assert contents.trie_nodes == pytest.approx(len(trie_paths(sets, "frequency")), rel=0.01)
    assert contents.pairs == pytest.approx(len({s[-2:] for s in held if len(s) > 1}), rel=0.01)
    assert contents.tail_terms == pytest.approx(sum(len(s[:-2]) for s in held), rel=0.04)
    assert contents.postings_read == pytest.approx(sum(use[list(s)].sum() for s in held), rel=0.03)
    assert contents.keyed_terms_read == pytest.approx(sum(use[s[-1]] * len(s) for s in held), rel=0.05)


def test_sampled_items_have_distinct_terms_even_of_a_tiny_vocabulary() -> None:
    workload = Workload(1, terms.uniform(25), lengths.fixed(1), terms.uniform(25), item_length=25)
    np.testing.assert_array_equal(sample_items(workload, 3, np.random.default_rng(0)), [range(25)] * 3)


def test_the_complete_trie_holds_every_set_once() -> None:
    sets = [s for k in range(1, 4) for s in combinations(range(7), k)]
    assert complete_trie_size(7, depth=3) == len(sets)
    assert [complete_trie_nodes(rank, depth=3) for rank in range(1, 8)] == [
        sum(s[-1] == rank - 1 for s in sets) for rank in range(1, 8)
    ]


@pytest.mark.parametrize(
    ("law", "theta", "message"),
    [
        (np.array([0.5, 0.6]), lengths.fixed(1), "terms of a workload is not a law"),
        (np.array([0.5, 0.5]), np.array([0.0, 0.5]), "lengths of a workload is not a law"),
        (np.array([0.5, 0.5]), np.array([0.5, 0.5]), "subscriptions of 0 to 1 terms"),
        (np.array([0.5, 0.5]), lengths.fixed(3), "allowed are 1 to 2"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(law: Floats, theta: Floats, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Workload(1, law, theta, np.array([0.5, 0.5]), item_length=1)


def test_subscriptions_that_cannot_be_sampled_are_refused() -> None:
    with pytest.raises(ConfigError, match="subscriptions of 30 distinct terms"):
        estimate_contents(workload_of(10, terms.uniform(30), lengths.fixed(30)))
