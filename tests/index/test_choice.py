import pytest

from tidegate.index.choice import choose_index
from tidegate.index.costs import BuildTaus, Taus, build_steps
from tidegate.index.models import Workload
from tidegate.workload import lengths, terms

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


def test_building_is_predicted_for_all_subscriptions_and_named_in_the_reasons() -> None:
    build_taus = BuildTaus(post=10, sort=50, node=100)
    predicted = choose_index(WORKLOAD, build_taus=build_taus).predicted
    ordering = WORKLOAD.subscriptions * build_steps(WORKLOAD)["ranked-key"].sort
    # Distinct queries are found by ordering all subscriptions; only what is held is filed.
    assert [prediction.build.sort for prediction in predicted.values()] == pytest.approx([ordering] * 4)
    filed = predicted["counting"].build.post
    assert filed == predicted["ordered-trie"].build.node
    assert 0 < filed < WORKLOAD.subscriptions * WORKLOAD.mean_length
    assert predicted["flat"].build_seconds == pytest.approx(50e-9 * ordering)
    assert predicted["counting"].build_seconds == pytest.approx(50e-9 * ordering + 10e-9 * filed)
    assert predicted["ordered-trie"].build_seconds == pytest.approx(50e-9 * ordering + 100e-9 * filed)
    reasons = choose_index(WORKLOAD, build_taus=build_taus).reasons
    assert any(f"built in about {predicted['flat'].build_seconds:.1f} s" in reason for reason in reasons)
