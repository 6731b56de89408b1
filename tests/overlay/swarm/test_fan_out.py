"""A fan-out that adapts sends more while more was missed than its target allows, and gives up what it cannot hold."""

import numpy as np
import pytest

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.ringcast import BY_ALL
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import Timed


@pytest.fixture
def timed() -> Timed:
    return Timed(Swarm(from_rows([[0]] * 4), seed=1))


def test_who_publishes_sends_many_and_others_along_their_rings(timed: Timed) -> None:
    AdaptiveFanOut(0.01, most=7).set(timed)
    assert timed.spreading.fan_outs.tolist() == [[7] * 4, [2] * 4]
    assert timed.shortcuts == BY_ALL


def test_each_peer_sends_more_by_what_it_knows_itself_and_no_more_than_it_may(timed: Timed) -> None:
    fan_out = AdaptiveFanOut(0.01, most=5)
    # One that knows nothing yet has missed nothing.
    fan_out.learn(np.array([0.01, 0.11, 0.51, -1.0]))
    assert fan_out.debt == pytest.approx([0, 10, 50, -1])
    fan_out.set(timed)
    assert timed.spreading.fan_outs[1].tolist() == [2, 3, 5, 2]


def test_parts_of_a_copy_are_sent_now_and_then() -> None:
    timed, fan_out = Timed(Swarm(from_rows([[0]] * 400), seed=1)), AdaptiveFanOut(0.01)
    fan_out.learn(np.full(400, 0.035))
    fan_out.set(timed)
    assert set(timed.spreading.fan_outs[1].tolist()) == {2, 3}
    assert 2.15 < timed.spreading.fan_outs[1].mean() < 2.35


def test_what_was_allowed_and_not_missed_is_kept_for_an_hour_of_cycles(timed: Timed) -> None:
    fan_out = AdaptiveFanOut(0.01)
    for _ in range(100):
        fan_out.learn(np.zeros(4))
    fan_out.learn(np.full(4, 0.6))
    fan_out.set(timed)
    assert (timed.spreading.fan_outs[1] == 2).all()
    fan_out.learn(np.full(4, 0.22))
    fan_out.set(timed)
    assert (timed.spreading.fan_outs[1] == 4).all()


def test_a_target_that_no_copies_hold_is_given_up_until_the_debt_is_paid(timed: Timed) -> None:
    fan_out = AdaptiveFanOut(0.01)
    for _ in range(5):
        fan_out.learn(np.array([0.2, 0.02, 0.2, 0.2]))
    assert fan_out.given_up.tolist() == [True, False, True, True]
    fan_out.set(timed)
    assert timed.spreading.fan_outs[1, [0, 2, 3]].tolist() == [2, 2, 2]
    for _ in range(59):
        fan_out.learn(np.zeros(4))
    assert fan_out.given_up[0]
    fan_out.learn(np.zeros(4))
    assert not fan_out.given_up.any()


def test_a_target_that_cannot_be_held_is_refused() -> None:
    for target, most in ((0.0, 8), (1.0, 8), (0.1, 1)):
        with pytest.raises(ConfigError, match="give 0 to 1, and 2"):
            AdaptiveFanOut(target, most)
