import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.workload import lengths, terms

SUBSCRIPTIONS = 10_000_000


@pytest.mark.parametrize("law", [terms.real(), terms.real(1000), terms.uniform(77), terms.zipf(5000, 0.9)])
def test_a_law_sums_to_one_and_never_rises(law: terms.Floats) -> None:
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(law) <= 0).all()
    assert law[-1] > 0


def test_the_real_law_gives_the_occurrences_of_table_4() -> None:
    occurrences = terms.real() * SUBSCRIPTIONS * 2.2
    for rank, expected in [(1, 138_090), (10, 60_469), (1_000, 4_967), (10_000, 251)]:
        assert occurrences[rank - 1] == pytest.approx(expected, rel=0.012)
    assert 0.3 < occurrences[470_000 - 1] < 1.5  # the table says 1


def test_the_real_law_gives_the_subscribed_vocabulary_of_section_4() -> None:
    law, theta = terms.real(), lengths.web_queries()
    absent = sum(share * (1.0 - law) ** k for k, share in enumerate(theta))
    assert (1.0 - absent**SUBSCRIPTIONS).sum() == pytest.approx(471_324, rel=1e-3)


def test_a_smaller_real_vocabulary_keeps_the_proportions_of_its_head() -> None:
    np.testing.assert_allclose(terms.real(500) / terms.real(500)[0], terms.real()[:500] / terms.real()[0])


def test_inverse_mirrors_real() -> None:
    np.testing.assert_array_equal(terms.inverse(1000)[::-1], terms.real(1000))


@pytest.mark.parametrize("vocabulary", [0, -1, 1_500_001])
def test_a_vocabulary_the_real_law_does_not_reach_is_refused(vocabulary: int) -> None:
    with pytest.raises(ConfigError, match="1 to 1,500,000"):
        terms.real(vocabulary)
