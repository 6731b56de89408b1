import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.workload import lengths


def test_web_queries_have_2_2_words_and_at_most_12() -> None:
    law = lengths.web_queries()
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert lengths.mean_length(law) == pytest.approx(2.2, abs=1e-12)
    assert len(law) == 13
    assert law[0] == 0
    assert (np.diff(law[2:]) < 0).all()


def test_lengths_between_bounds_are_all_alike() -> None:
    law = lengths.between(15, 35)
    assert set(law[:15]) == {0.0}
    assert set(law[15:]) == {1 / 21}
    assert lengths.mean_length(law) == pytest.approx(25)


@pytest.mark.parametrize(("shortest", "longest"), [(0, 3), (4, 3), (-2, -1)])
def test_bounds_without_a_length_between_them_are_refused(shortest: int, longest: int) -> None:
    with pytest.raises(ConfigError, match=f"from {shortest} to {longest}"):
        lengths.between(shortest, longest)
