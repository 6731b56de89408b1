"""How large a run is."""

from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Scale


@dataclass(frozen=True)
class Sizes:
    """Of all experiments."""

    peers: int
    facebook_follows: int
    twitter_follows: int
    """Topics that a peer follows, in the mean. What the thesis's samples have it does not say; the traces that they are
    of have 19 and 35: like shares of these are 10 and 18."""
    cycles: int
    """For rings to become complete, at most."""
    slow_cycles: int
    """The same without Vicinity."""
    fan_outs: tuple[int, ...]
    rounds: int
    """Events of every topic from which hops and copies are averaged."""
    kept: int
    """Cycles in which the letters that keep the overlay are counted."""
    means: tuple[int, ...]
    """Topics that a peer follows, where it is asked how much depends on that."""
    churned_peers: int
    hours: tuple[float, float]
    """Of churn, from and until when; a minute is a cycle."""
    adaptive: tuple[float, float]
    """The same, where fan-outs are compared."""
    gusty_peers: int
    gusts: int
    """Peers, and minutes in each of which a quarter of them go, where fan-outs are compared; the first half of the
    minutes is for learning."""
    settling: int
    """Cycles before churn begins."""
    most_peers: int = 0
    """So many are run by themselves, until 99 % of their rings are complete; nobody if it is 0."""


SIZES: Final[dict[Scale, Sizes]] = {
    "small": Sizes(
        peers=400,
        facebook_follows=10,
        twitter_follows=18,
        cycles=60,
        slow_cycles=150,
        fan_outs=(2, 3, 5),
        rounds=3,
        kept=5,
        means=(5, 10, 20),
        churned_peers=400,
        hours=(0.0, 1.5),
        adaptive=(0.0, 0.75),
        gusty_peers=200,
        gusts=30,
        settling=25,
    ),
    "paper": Sizes(
        peers=10_000,
        facebook_follows=10,
        twitter_follows=18,
        cycles=100,
        slow_cycles=300,
        fan_outs=(2, 3, 4, 5, 6, 8, 10),
        rounds=10,
        kept=10,
        means=(5, 10, 19, 30),
        churned_peers=4_000,
        hours=(0.0, 20.0),
        adaptive=(17.0, 19.0),
        gusty_peers=1_000,
        gusts=90,
        settling=40,
    ),
    "max": Sizes(
        peers=30_000,
        facebook_follows=10,
        twitter_follows=18,
        cycles=100,
        slow_cycles=300,
        fan_outs=(2, 3, 4, 5, 6, 8, 10),
        rounds=10,
        kept=10,
        means=(5, 10, 19, 30),
        churned_peers=8_000,
        hours=(0.0, 40.0),
        adaptive=(17.0, 19.0),
        gusty_peers=1_000,
        gusts=90,
        settling=40,
        most_peers=100_000,
    ),
}
