"""A sample by breadth first has all follows between those it takes, who are near each other."""

import numpy as np
import pytest

from tidegate.errors import ConfigError
from tidegate.workload.breadth_first import breadth_first
from tidegate.workload.follows import Follows, fans, friends


def chain(users: int) -> Follows:
    """Everybody follows the next one."""
    return Follows.of(users, np.arange(users - 1), np.arange(1, users))


def test_all_follows_between_those_taken_are_kept() -> None:
    assert breadth_first(friends(300, 6, 1), 300, seed=2).pairs == friends(300, 6, 1).pairs
    # However it is entered, a stretch of a chain is a chain.
    part = breadth_first(chain(100), 20, seed=1, starts=1)
    assert (part.users, part.pairs) == (20, 19)


def test_follows_are_walked_either_way() -> None:
    star = Follows.of(50, np.arange(1, 50), np.zeros(49, np.int64))
    for seed in range(4):
        assert breadth_first(star, 10, seed, starts=1).popularity.max() == 9


def test_it_goes_on_elsewhere_where_it_leads_no_further() -> None:
    lonely = Follows.of(40, np.array([0]), np.array([1]))
    assert breadth_first(lonely, 40, seed=1, starts=1).pairs == 1


def test_those_near_the_starts_follow_each_other_more_than_any_do() -> None:
    whole = fans(4_000, 20, 1)
    part = breadth_first(whole, 800, seed=1)
    by_chance = whole.pairs * (800 / 4_000) ** 2
    assert part.pairs > 1.5 * by_chance


def test_a_seed_determines_the_sample() -> None:
    whole = friends(500, 6, 1)
    first, again, other = (breadth_first(whole, 100, seed) for seed in (1, 1, 2))
    assert (first.followed.values == again.followed.values).all()
    assert first.pairs != other.pairs or (first.followed.values != other.followed.values).any()


@pytest.mark.parametrize(("users", "starts"), [(0, 1), (11, 1), (5, 6), (5, 0)])
def test_samples_that_cannot_be_are_refused(users: int, starts: int) -> None:
    with pytest.raises(ConfigError, match="starts"):
        breadth_first(chain(10), users, seed=1, starts=starts)
