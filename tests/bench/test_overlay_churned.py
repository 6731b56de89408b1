"""Systems of benchmark `overlay` while peers come and go: who is there, when they have their turns, what they learn."""

from dataclasses import replace

import numpy as np
import pytest

from tidegate.bench.overlay.adaptive import Held, Rule, less_missed, rules, run_rules, targets_held
from tidegate.bench.overlay.churned import PolderCast, Scribe, by_weather, missed_share
from tidegate.bench.overlay.sizes import SIZES
from tidegate.bench.overlay.weather import Weather, gusty
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.fan_out import AdaptiveFanOut
from tidegate.overlay.swarm.latency import no_latency
from tidegate.overlay.swarm.sessions import Sessions
from tidegate.overlay.swarm.timed import Pace
from tidegate.workload.follows import friends
from tidegate.workload.terms import Floats


def test_a_peer_that_missed_several_events_is_one_that_missed_some() -> None:
    assert missed_share(np.array([3, 0, 1, 0]), np.array([True, True, False, True])) == pytest.approx(1 / 3)


def weather(who: list[int], begin: list[float], end: list[float], cycles: int = 3, peers: int = 40) -> Weather:
    """Peers that stay, but for what is said of some."""
    stay = np.setdiff1d(np.arange(peers), who)
    many = len(stay)
    sessions = Sessions(
        peers,
        np.concatenate((stay, np.array(who, np.int64))),
        np.concatenate((np.zeros(many), np.array(begin, np.float64))),
        np.concatenate((np.full(many, 600.0), np.array(end, np.float64))),
    )
    churn = Churn.of(sessions, cycles * 60.0)
    return Weather(churn, cycles, friends(peers, 6, 1).followed, no_latency(peers), settling=6, seed=1)


def test_both_systems_have_those_that_churn_has() -> None:
    # Peer 3 goes late in the first minute, and is back in it; peer 4 is back in the second, and goes again.
    told = weather([3, 3, 4, 4], [0.0, 50.0, 0.0, 65.0], [40.0, 600.0, 40.0, 110.0])
    ours, scribe = PolderCast(told, Pace()), Scribe(told, 0)
    for number in range(told.cycles):
        ours.cycle(number)
        scribe.cycle(number)
        present = told.churn.present((number + 1) * 60.0).tolist()
        assert scribe.forest.up.tolist() == present
        assert ours.timed.swarm.up.tolist() == present


def test_peers_of_scribe_have_one_turn_a_minute_at_phases_of_their_own() -> None:
    told = weather([], [], [])
    scribe, forest = Scribe(told, 1), Scribe(told, 1).forest
    before = scribe.letters()
    assert scribe.cycle(0) == scribe.cycle(1) == 0.0
    assert scribe.forest.nodes.clock.tolist() == 40 * [told.settling + 2]
    assert len(np.unique(scribe.due // 5)) > 6
    # As many messages as if all had their turns at the same time.
    forest.run(2)
    assert (scribe.forest.control == forest.control).all()
    assert scribe.letters() - before > 40 * 32


def test_the_later_in_a_minute_peers_of_scribe_go_the_fewer_have_found_it_out_when_it_ends() -> None:
    gone = list(range(0, 200, 6))

    def missed(second: float) -> float:
        return Scribe(weather(gone, [0.0] * len(gone), [second] * len(gone), peers=200), 0).cycle(0)

    shares = [missed(second) for second in (1.0, 29.0, 31.0, 59.0)]
    # No second has a meaning of its own: neither of two that are near to each other is much worse.
    assert shares[0] < shares[1] <= shares[2] < shares[3]
    assert shares[2] - shares[1] < (shares[3] - shares[0]) / 2


def test_who_comes_to_scribe_has_a_turn_at_once_and_the_next_a_minute_later() -> None:
    scribe = Scribe(weather([3], [45.0], [600.0]), 0)
    clock = scribe.forest.nodes.clock
    assert scribe.cycle(0) == 0.0
    assert (clock[3], scribe.due[3]) == (1, 105.0)
    assert scribe.cycle(1) == 0.0
    assert (clock[3], scribe.due[3]) == (2, 165.0)


def test_weather_without_drops_says_nothing_of_drops_and_crowds_are_not_left_out() -> None:
    late = [float(180 + i) for i in range(12)]
    crowd = weather(list(range(12)), late, [600.0] * 12, cycles=16)
    found = by_weather(crowd, np.array([0.0, 0.1, 0.2, 0.9] + 10 * [0.0] + [0.3, 0.0]))
    assert found == {
        "calm": 0.3,
        "crowds": 0.9,
        "drops": None,
        "not sharp": 0.9,
        "mean": pytest.approx(1.5 / 16),
        "calm, mean": pytest.approx(0.6 / 5),
    }
    drop = weather(list(range(12)), [0.0] * 12, late, cycles=5)
    assert by_weather(drop, np.array([0.0, 0.1, 0.2, 0.9, 0.4])) == {
        "calm": 0.2,
        "crowds": None,
        "drops": 0.9,
        "not sharp": 0.2,
        "mean": pytest.approx(1.6 / 5),
        "calm, mean": pytest.approx(0.1),
    }


def test_what_peers_learn_where_many_go_every_minute_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    told = gusty(replace(SIZES["small"], gusts=20), 1)

    def tried() -> tuple[Rule, Held]:
        unlearned, adaptive = rules((0.0025,), learning=10)[-2:]
        run_rules([unlearned, adaptive], told, Pace())
        (held,) = targets_held("gusts", [unlearned, adaptive])
        return unlearned, held

    unlearned, held = tried()
    assert len(unlearned.missed) == 10
    assert held.unlearned == np.mean(unlearned.missed) > held.target
    assert held.duplication > 1.1 * unlearned.duplication
    assert (less_missed([held]) or 0.0) < 0.6

    def nothing(fan_out: AdaptiveFanOut, shares: Floats) -> None:
        fan_out.given_up = np.zeros(len(shares), np.bool_)

    monkeypatch.setattr(AdaptiveFanOut, "learn", nothing)
    _, held = tried()
    assert held.duplication == unlearned.duplication
    assert less_missed([held]) == 1.0
