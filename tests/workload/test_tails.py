"""A law has the shares it was given, the mean it was asked for, and the glitches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.workload.tails import Knot, Tail

LAW = Tail((Knot(1, 1.0), Knot(20, None, 0.8), Knot(2_000, 1e-3, 0.5), Knot(10_000, 1e-5)))


@given(mean=st.floats(6.0, 40.0), n=st.integers(10_000, 200_000))
def test_a_settled_law_has_its_mean(mean: float, n: int) -> None:
    assert LAW.settled(mean, n).quantiles(n).mean() == pytest.approx(mean, rel=1e-3)


def test_known_shares_and_glitches_are_in_the_quantiles() -> None:
    n = 1_000_000
    values = LAW.settled(22.0, n).quantiles(n)
    assert np.count_nonzero(values >= 2_000) == pytest.approx(1_000, abs=1)
    assert np.count_nonzero(values == 2_000) == pytest.approx(500, abs=5)
    assert np.count_nonzero(values == 20) > 5 * np.count_nonzero(values == 21)
    assert values.max() <= 10_000
    assert (np.diff(values) >= 0).all()


def test_what_is_cut_off_leaves_the_mean() -> None:
    values = LAW.settled(22.0, 50_000, most=500).quantiles(50_000)
    assert values.max() <= 500
    assert values.mean() == pytest.approx(22.0, rel=1e-3)


def test_a_mean_that_no_law_can_have_is_refused_with_those_that_can() -> None:
    with pytest.raises(ConfigError, match=r"a mean of 5,000 is out of reach for 1,000 of at most 10,000: between"):
        LAW.settled(5_000, 1_000)


def test_a_line_that_hardly_falls_does_not_leap_beyond_what_is_cut_off() -> None:
    law = Tail((Knot(1, 1.0), Knot(2_200)))
    least, greatest = law.reach(1_000, most=250)
    assert least == pytest.approx(1, rel=0.1)
    assert greatest == pytest.approx(249 / np.log(250), rel=0.02)
    assert law.settled(greatest, 1_000, most=250).quantiles(1_000).max() <= 250
    with pytest.raises(
        ConfigError, match=r"a mean of 400 is out of reach for 1,000 of at most 250: between 1\.\d+ and 44"
    ):
        law.settled(400, 1_000, most=250)
