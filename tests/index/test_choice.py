import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.index.choice import choose_index
from tidegate.index.costs import (
    DEFAULT_TAUS,
    Steps,
    Taus,
    Weights,
    build_steps,
    counting_bytes,
    counting_steps,
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


def test_a_large_workload_gets_flat_and_is_told_why() -> None:
    choice = choose_index(WORKLOAD)
    assert choice.index == "flat"
    assert set(choice.predicted) == {"counting", "ranked-key", "ordered-trie", "flat"}
    assert "distinct queries" in choice.reasons[0]
    assert choice.reasons[1].startswith("flat is expected to take")
    assert all(name in " ".join(choice.reasons) for name in choice.predicted)
    assert choice == choose_index(WORKLOAD)


def test_the_taus_decide() -> None:
    assert choose_index(WORKLOAD, Taus(probe=1e6)).index == "ranked-key"
    assert choose_index(WORKLOAD, Taus(probe=1e6, check=1e6)).index == "ordered-trie"


def test_an_index_beyond_the_memory_limit_is_not_chosen() -> None:
    predicted = choose_index(WORKLOAD).predicted
    limit = int(predicted["flat"].nbytes) - 1
    choice = choose_index(WORKLOAD, memory_limit=limit)
    assert choice.index != "flat"
    assert choice.predicted[choice.index].nbytes <= limit
    assert any(reason.startswith("Too large") and "flat" in reason for reason in choice.reasons)


def test_the_smallest_is_chosen_when_none_fits() -> None:
    choice = choose_index(WORKLOAD, memory_limit=1000)
    assert choice.index == min(choice.predicted, key=lambda name: choice.predicted[name].nbytes)
    assert any(reason.startswith("No index fits") for reason in choice.reasons)


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


def test_building_sorts_where_terms_are_ordered() -> None:
    steps = build_steps(Workload(1, LAW, lengths.fixed(8), LAW))
    assert steps == {"counting": 8, "ranked-key": 24, "ordered-trie": 24}


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
