import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.workload import terms
from tidegate.workload.alias import Alias, alias_table, next_word, random_state, sample


def law_of(table: Alias) -> terms.Floats:
    """The law a table stands for: each slot's own share, and what it gives away."""
    law = table.threshold.copy()
    np.add.at(law, table.other, 1.0 - table.threshold)
    return law / len(law)


def xoshiro(state: list[int]) -> int:
    """The generator in plain Python integers."""
    mask = 2**64 - 1

    def rotated(x: int, by: int) -> int:
        return ((x << by) | (x >> (64 - by))) & mask

    word = (rotated((state[0] + state[3]) & mask, 23) + state[0]) & mask
    shifted = (state[1] << 17) & mask
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = rotated(state[3], 45)
    return word


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60).filter(lambda weights: sum(weights) > 1e-3))
@settings(deadline=None)
def test_a_table_stands_for_exactly_its_law(weights: list[float]) -> None:
    law = np.array(weights) / sum(weights)
    np.testing.assert_allclose(law_of(alias_table(law)), law, atol=1e-12)


def test_the_table_of_the_real_law_keeps_its_rarest_terms() -> None:
    law = terms.real()
    np.testing.assert_allclose(law_of(alias_table(law)), law, rtol=1e-6)


def test_the_generator_is_xoshiro256_plus_plus() -> None:
    state = random_state(5)
    twin = [int(word) for word in state]
    assert [int(next_word(state)) for _ in range(100)] == [xoshiro(twin) for _ in range(100)]
    assert [int(word) for word in state] == twin


def test_draws_fit_the_law_by_chi_square() -> None:
    law = terms.zipf(200, 1.1)
    drawn = sample(law, 400_000, random_state(11))
    expected = law * len(drawn)
    chi_square = ((np.bincount(drawn, minlength=len(law)) - expected) ** 2 / expected).sum()
    # 199 degrees of freedom: mean 199, standard deviation 20.
    assert 140 < chi_square < 270


def test_a_term_of_probability_zero_is_never_drawn() -> None:
    drawn = sample(np.array([0.0, 0.5, 0.0, 0.5]), 10_000, random_state(1))
    assert set(drawn.tolist()) == {1, 3}


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_a_seed_determines_the_draws(seed: int) -> None:
    first, again, other = (sample(terms.uniform(1 << 20), 100, random_state(s)) for s in (seed, seed, seed + 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
