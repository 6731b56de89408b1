import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.index.costs import (
    DEFAULT_BUILD_TAUS,
    DEFAULT_TAUS,
    BuildSteps,
    BuildTaus,
    Steps,
    Taus,
    Weights,
    build_steps,
    counting_bytes,
    counting_steps,
    fit_build_taus,
    fit_taus,
    ranked_key_bytes,
    ranked_key_steps,
    trie_bytes,
    trie_steps,
)
from tidegate.index.models import Workload
from tidegate.index.trie_models import TrieModel
from tidegate.workload import lengths, terms
from tidegate.workload.subscriptions import items, term_sets

LAW = terms.real(20_000)
WORKLOAD = Workload(1_000_000, LAW, lengths.web_queries(), LAW)


def test_steps_of_random_items_are_the_mean_over_drawn_items() -> None:
    posts = items(2000, LAW, seed=3, shortest=25, longest=25)
    for steps_of in (counting_steps, ranked_key_steps):
        mean = np.array(steps_of(WORKLOAD, posts.values)) / posts.rows
        random = steps_of(WORKLOAD)
        assert random.decrement == pytest.approx(mean[Steps._fields.index("decrement")], rel=0.02)
        assert random.check == pytest.approx(mean[Steps._fields.index("check")], rel=0.02)


def test_steps_of_an_item_are_counted_on_its_terms() -> None:
    item = [3, 200, 11]
    model = TrieModel(WORKLOAD)
    assert counting_steps(WORKLOAD, item).copy == 1_000_000
    assert trie_steps(WORKLOAD, model, item) == Steps(sort=3 * np.log2(3), node=model.visits(item))


def test_sizes_are_those_of_a_drawn_workload() -> None:
    sets = term_sets(WORKLOAD.subscriptions, LAW, WORKLOAD.lengths, seed=4)
    weights = Weights(counter=1, term=100, posting=4, node=16)
    keys = np.maximum.reduceat(sets.values, sets.offsets[:-1])
    counting = sets.rows * 1 + len(np.unique(sets.values)) * 100 + len(sets.values) * 4
    ranked_key = len(np.unique(keys)) * 100 + len(sets.values) * 4
    assert counting_bytes(WORKLOAD, weights) == pytest.approx(counting, rel=0.005)
    assert ranked_key_bytes(WORKLOAD, weights) == pytest.approx(ranked_key, rel=0.005)
    assert trie_bytes(10, weights) == 160


def test_a_subscription_is_inserted_in_the_steps_of_its_terms_sorted_where_they_are_ordered() -> None:
    assert build_steps(Workload(1, LAW, lengths.fixed(8), LAW)) == {
        "counting": BuildSteps(post=8),
        "ranked-key": BuildSteps(sort=24),
        "ordered-trie": BuildSteps(sort=24, node=8),
    }


def test_steps_of_insertion_are_the_mean_over_the_lengths() -> None:
    half = Workload(1, LAW, (lengths.fixed(8) + np.pad(lengths.fixed(4), (0, 4))) / 2, LAW)
    assert build_steps(half)["ordered-trie"] == BuildSteps(sort=(24 + 8) / 2, node=6)


def test_building_taus_are_recovered_from_the_times_of_each_index() -> None:
    generator = np.random.default_rng(2)
    taus = BuildTaus(post=17, sort=85, node=95)
    workloads = [Workload(1, LAW, lengths.fixed(k), LAW) for k in (1, 2, 3, 6, 12)]
    steps = [step for workload in workloads for step in build_steps(workload).values()]
    noisy = [step.nanoseconds(taus) * generator.normal(1, 0.001) for step in steps]
    np.testing.assert_allclose(fit_build_taus(steps, noisy), taus, rtol=0.02)


def test_a_building_tau_that_nothing_measures_keeps_its_value() -> None:
    fitted = fit_build_taus([BuildSteps(post=2), BuildSteps(post=4)], [6.0, 12.0])
    assert fitted == pytest.approx(DEFAULT_BUILD_TAUS._replace(post=3))


def test_taus_are_recovered_from_the_times_they_make() -> None:
    generator = np.random.default_rng(1)
    taus = Taus(copy=0.2, decrement=4, check=1, sort=3, node=30, probe=1.5, hit=9)
    steps = [Steps(*generator.uniform(0, 1000, len(Steps._fields))) for _ in range(40)]
    noisy = [step.nanoseconds(taus) * generator.normal(1, 0.0005) for step in steps]
    np.testing.assert_allclose(fit_taus(steps, noisy), taus, rtol=0.05)


def test_a_fitted_tau_is_never_negative() -> None:
    # Unconstrained, the second kind would get -1.
    fitted = fit_taus([Steps(node=10, hit=5), Steps(node=10), Steps(hit=1, node=1)], [15.0, 20.0, 1.0])
    assert fitted.hit == 0
    assert fitted.node > 0


def test_a_tau_that_nothing_measures_keeps_its_value() -> None:
    fitted = fit_taus([Steps(node=10), Steps(node=20)], [100.0, 200.0])
    assert fitted.node == pytest.approx(10)
    assert fitted._replace(node=DEFAULT_TAUS.node) == DEFAULT_TAUS


@pytest.mark.parametrize("times", [[1.0], [1.0, 0.0]])
def test_times_that_do_not_fit_their_counts_are_refused(times: list[float]) -> None:
    with pytest.raises(ConfigError, match="one positive time for each count"):
        fit_taus([Steps(node=1), Steps(node=2)], times)
