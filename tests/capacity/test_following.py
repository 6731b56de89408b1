"""An allocation that follows its demand is feasible, near one from scratch, and moves nothing without a reason."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capacity.test_provisioning import assert_feasible, terms
from tidegate.capacity.following import followed, moved
from tidegate.capacity.packing import Parts, packed
from tidegate.capacity.provisioning import bill
from tidegate.errors import ConfigError

demands = st.lists(
    st.tuples(st.integers(1, 20), st.integers(0, 12), st.integers(1, 20), st.integers(0, 12)), min_size=1, max_size=12
)


@given(demands, st.integers(40, 90), st.sampled_from([0.0, 0.05, 0.3]))
def test_it_is_feasible_and_within_its_distance(
    drawn: list[tuple[int, int, int, int]], capacity: int, within: float
) -> None:
    events, counts, new_events, new_counts = (np.array(column) for column in zip(*drawn, strict=True))
    prices = terms(capacity)
    before = packed(events, counts, prices)
    after = followed(before.parts, new_events, new_counts, prices, within=within)
    assert_feasible(after.packing, new_events.tolist(), new_counts.tolist(), capacity)
    scratch = bill(packed(new_events, new_counts, prices), prices).cost
    assert bill(after.packing, prices).cost <= scratch * (1 + within) + 1e-9
    assert bill(after.packing, prices).cost == pytest.approx(scratch * (1 + after.over_scratch))
    assert after.moved == moved(before.parts, after.packing.parts, len(events))


@given(demands, st.integers(40, 90))
def test_the_same_demand_moves_nothing(drawn: list[tuple[int, int, int, int]], capacity: int) -> None:
    events, counts = (np.array(column) for column in list(zip(*drawn, strict=True))[:2])
    before = packed(events, counts, terms(capacity))
    after = followed(before.parts, events, counts, terms(capacity))
    assert (after.moved, after.over_scratch) == (0, 0)


def parts(*rows: tuple[int, int, int]) -> Parts:
    machine, topic, pairs = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Parts(machine.astype(np.int32), topic.astype(np.int32), pairs)


def test_moves_are_pairs_that_are_served_elsewhere() -> None:
    before = parts((0, 0, 5), (1, 1, 3))
    assert moved(before, parts((0, 0, 3), (1, 0, 2), (1, 1, 3)), 2) == 2
    assert moved(before, parts((0, 0, 9), (1, 1, 3)), 2) == 0
    assert moved(before, parts((0, 0, 5)), 2) == 0


def test_a_machine_with_too_much_gives_up_few_pairs_and_keeps_the_rest() -> None:
    # A machine takes 60: 10 times 5 and 10 times 1 are just that; with 6 instead of 5, two of the pairs have to go.
    after = followed(parts((0, 0, 9), (0, 1, 9)), np.array([5, 1]), np.array([9, 9]), terms(60), within=1.0)
    kept = {(m, t): n for m, t, n in zip(*(c.tolist() for c in after.packing.parts), strict=True)}
    assert (kept[0, 0], kept[0, 1], after.moved) == (9, 9, 0)
    after = followed(parts((0, 0, 9), (0, 1, 9)), np.array([6, 1]), np.array([9, 9]), terms(60), within=1.0)
    kept = {(m, t): n for m, t, n in zip(*(c.tolist() for c in after.packing.parts), strict=True)}
    assert (kept[0, 1], after.moved) == (9, 2)


@pytest.mark.parametrize("events", [[1], [1, 0, 0, 0]])
def test_a_topic_that_is_no_more_is_gone_whatever_its_number(events: list[int]) -> None:
    counts = [1] + [0] * (len(events) - 1)
    after = followed(parts((0, 0, 1), (1, 3, 5)), np.array(events), np.array(counts), terms(60))
    assert [column.tolist() for column in after.packing.parts] == [[0], [0], [1]]
    assert (after.moved, after.packing.machines) == (0, 1)


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(ConfigError, match="a distance of -1"):
        followed(parts((0, 0, 1)), np.array([1]), np.array([1]), terms(60), within=-1)
