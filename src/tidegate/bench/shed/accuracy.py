"""Figure 26: the share of the matches that is found, as more of the load is shed, by each way to shed it."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Final, NamedTuple, Self

import numpy as np

from tidegate.bench.report import Report
from tidegate.bench.shed.scene import Scene
from tidegate.csr import Int64
from tidegate.route.router import Router
from tidegate.route.shedding import random_drop, shed
from tidegate.route.visits import Visits

_THRESHOLDS: Final = (inf, 20, 16, 12, 10, 8, 7, 6, 5, 4, 3.5, 3, 2.5, 2, 1.5, 1, 0.5)
_RIVALS: Final = ("subscriptions", "consensus", "random")
_SHARE: Final = 0.25
_PAPER_AT_SHARE: Final = 90


class Shed(NamedTuple):
    """What is left at a threshold, and at the same load where posts are dropped instead."""

    most: float
    """The threshold: visits that a post is allowed."""
    load: float
    """Visits per post."""
    shed: float
    """The share of the load that was shed."""
    subscriptions: float
    """The share of the matches that are found by subscription shedding; then by the others."""
    consensus: float
    random: float


@dataclass(frozen=True)
class Way:
    """A way to route posts, and what every visit is worth."""

    name: str
    scene: Scene
    visits: Visits
    matches: Int64
    """By visit."""

    @classmethod
    def of(cls, name: str, scene: Scene, router: Router) -> Self:
        """Route and match all posts, with nothing shed."""
        visits = scene.routed(router)
        return cls(name, scene, visits, scene.matches(visits))

    @cached_property
    def curve(self) -> list[Shed]:
        """At falling thresholds."""
        return [self.at(most) for most in _THRESHOLDS]

    def at(self, most: float) -> Shed:
        """Shed all but `most` visits of a post, by every way."""
        hashes = self.scene.hashes
        left = shed(self.visits, hashes, most, "subscriptions")
        share = 1 - len(left) / len(self.visits)
        return Shed(
            most,
            len(left) / self.scene.posts.rows,
            share,
            self._found(left),
            self._found(shed(self.visits, hashes, most, "consensus")),
            self._found(random_drop(self.visits, hashes, share)),
        )

    def _found(self, left: Visits) -> float:
        """The share of the matches that some of the visits lead to."""
        numbers = np.searchsorted(self._places(self.visits), self._places(left))
        return float(self.matches[numbers].sum() / self.matches.sum())

    def _places(self, visits: Visits) -> Int64:
        """By visit: post and matcher in one; they rise."""
        return visits.post_of * self.scene.sizes.matchers + visits.matchers.values


def report_accuracy(report: Report, title: str, way: Way) -> None:
    """Report the figure for one way to route."""
    rows = [
        {
            "matchers a post": "all" if at.most == inf else f"{at.most:g}",
            "load shed, %": 100 * at.shed,
            "subscription shedding, % found": 100 * at.subscriptions,
            "consensus shedding, % found": 100 * at.consensus,
            "dropping posts, % found": 100 * at.random,
        }
        for at in way.curve
    ]
    posts = way.scene.posts.rows
    report.section(title, rows, f"{posts:,} posts, each of which matches {way.matches.sum() / posts:.3g} subscriptions")


def report_at_share(report: Report, every_word: Way, keys: Way) -> None:
    """Report what is found where a quarter of the load is shed, by a line between the thresholds around it."""
    found = {way.name: {name: _at_share(way, name) for name in _RIVALS} for way in (every_word, keys)}
    report.section(
        "Figure 26 at a quarter: matches found (%) where 25 % of the load is shed",
        [
            {
                "a post is led by": way.name,
                "visits a post": way.curve[0].load,
                "in vain, %": 100 * float(np.mean(way.visits.subscriptions == 0)),
                **{name: 100 * share for name, share in found[way.name].items()},
                "paper": paper,
            }
            for way, paper in ((every_word, _PAPER_AT_SHARE), (keys, None))
        ],
        note="visits in vain lead to no subscription with the word that led there: they can be shed for nothing",
    )
    report.summary |= {
        "shed_accuracy_at_25pct": found[every_word.name]["subscriptions"],
        "consensus_accuracy_at_25pct": found[every_word.name]["consensus"],
        "random_accuracy_at_25pct": found[every_word.name]["random"],
        "keys_shed_accuracy_at_25pct": found[keys.name]["subscriptions"],
    }


def _at_share(way: Way, rival: str) -> float:
    return float(np.interp(_SHARE, [at.shed for at in way.curve], [getattr(at, rival) for at in way.curve]))
