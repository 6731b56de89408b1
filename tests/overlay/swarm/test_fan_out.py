"""A fan-out that adapts raises copies where rings are broken, and no others while that does."""

import pytest

from tidegate.errors import ConfigError
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut, restless
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import Timed
from tidegate.workload.follows import friends


@pytest.fixture
def shaken() -> Timed:
    """Some have gone, and some of the others have found out."""
    swarm = Swarm(friends(150, 8, 3).followed, seed=3)
    swarm.warm()
    timed = Timed(swarm)
    timed.run(20 * 60.0)
    timed.leave(range(0, 150, 15))
    timed.run(timed.now + 70)
    return timed


def test_who_found_somebody_silent_or_has_come_is_restless(shaken: Timed) -> None:
    calm = ~restless(shaken, 3)
    assert 0 < calm.sum() < 150
    assert not restless(shaken, -1).any()
    shaken.join([0])
    assert restless(shaken, 3)[0]


def test_only_the_restless_send_more_and_no_more_than_they_may(shaken: Timed) -> None:
    fan_out, moved = AdaptiveFanOut(0.01, most=4, extra=0.0), restless(shaken, 3)
    fan_out.set(shaken)
    assert (shaken.spreading.fan_outs == 2).all()
    fan_out.learn(0.5)
    fan_out.set(shaken)
    assert (shaken.spreading.fan_outs[moved] == 4).all()
    assert (shaken.spreading.fan_outs[~moved] == 2).all()
    fan_out.learn(0.5)
    fan_out.set(shaken)
    assert shaken.spreading.fan_outs.max() == 4
    assert (shaken.spreading.fan_outs[~moved] == 2).all()


def test_it_stays_where_the_mean_is_the_target_and_comes_down_where_less_is_missed() -> None:
    fan_out = AdaptiveFanOut(0.01, extra=1.0)
    for missed in (0.0, 0.02, 0.03, 0.0, 0.0):
        fan_out.learn(missed)
    assert fan_out.extra == pytest.approx(1.0)
    for _ in range(20):
        fan_out.learn(0.0)
    assert fan_out.extra == 0


def test_a_target_that_cannot_be_held_is_refused() -> None:
    for target, most in ((0.0, 8), (1.0, 8), (0.1, 1)):
        with pytest.raises(ConfigError, match="give 0 to 1, and 2"):
            AdaptiveFanOut(target, most)
