"""Every word map, learned from all folds of a corpus but one and measured on that one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from tidegate.bench.route.audience import Audience
from tidegate.bench.route.corpus import Corpus, Lesson
from tidegate.bench.route.sizes import Sizes
from tidegate.route.maps import GRAPH_LEARNERS, LEARNERS, learn
from tidegate.route.word_map import WordMap

_FAST: Final = ("hash", "salb")
_SPLIT: Final = ("salb", "refined")
"""The maps that are measured with hot words split as well."""


class Contender(NamedTuple):
    """A word map, by which of the learners, and whether its hot words are split."""

    name: str
    splitting: bool = False

    @property
    def label(self) -> str:
        """As reports call it."""
        return f"{self.name}, split" if self.splitting else self.name

    def learn(self, lesson: Lesson, matchers: int) -> WordMap:
        """Learn the map."""
        if self.name in GRAPH_LEARNERS:
            return WordMap.of(lesson.sample, GRAPH_LEARNERS[self.name](lesson.graph, matchers), matchers)
        return learn(self.name, lesson.sample, matchers, splitting=self.splitting)

    @property
    def is_slow(self) -> bool:
        """Whether it takes too long for all folds."""
        return self.name not in _FAST

    def folds(self, sizes: Sizes, matchers: int) -> int:
        """Return how many folds there is time for."""
        return sizes.slow_folds if self.is_slow and not self.is_whole(sizes, matchers) else sizes.folds

    def most_learned(self, sizes: Sizes, matchers: int) -> int:
        """Return how many posts it is to be learned from at most."""
        return sizes.posts if self.is_whole(sizes, matchers) else sizes.most_learned.get(self.name, sizes.posts)

    def is_whole(self, sizes: Sizes, matchers: int) -> bool:
        """Whether it is the refined map of which a claim is made, and so must be measured at any cost."""
        return self == REFINED and matchers == sizes.refined_whole


CONTENDERS: Final = (*map(Contender, LEARNERS), *(Contender(name, splitting=True) for name in _SPLIT))
SALB, REFINED = Contender("salb"), Contender("refined")


class Case(NamedTuple):
    """What is measured: a map over so many matchers, with so many subscriptions of a kind."""

    contender: Contender
    matchers: int
    kind: str
    subscriptions: int


class Figure(NamedTuple):
    """A mean over folds and its standard deviation, which one fold alone does not have."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figure":
        """Sum up what the folds gave."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


class Routed(NamedTuple):
    """What came of a fold's posts."""

    spread: float
    imbalance: float
    throughput: float


@dataclass
class Trials:
    """All that was measured, by case and fold; and the maps of the first fold, for others to use."""

    found: defaultdict[Case, list[Routed]] = field(default_factory=lambda: defaultdict(list))
    maps: dict[tuple[Contender, int], WordMap] = field(default_factory=dict)

    def run(self, corpus: Corpus, audiences: Sequence[Audience], sizes: Sizes) -> Iterator[int]:
        """Do one fold after the other; yield the number of the next before it begins."""
        heard = {
            (audience.kind, count): audience.first(count).subscribed()
            for audience in audiences
            for count in {sizes.subscriptions, *sizes.grown}
        }
        for fold in corpus.folds(sizes.folds):
            yield fold.number
            for contender in CONTENDERS:
                for matchers in sizes.every_matchers(splitting=contender.splitting):
                    if fold.number >= contender.folds(sizes, matchers):
                        continue
                    lesson = fold.lesson(contender.most_learned(sizes, matchers))
                    words = contender.learn(lesson, matchers)
                    for (kind, count), subscribed in heard.items():
                        if matchers == sizes.grown_matchers or count == sizes.subscriptions:
                            measured = words.measured(fold.seen, subscribed[fold.word_of])
                            self.found[Case(contender, matchers, kind, count)].append(
                                Routed(measured.spread, measured.imbalance, measured.throughput)
                            )
                    if fold.number == 0:
                        self.maps[contender, matchers] = replace(words)  # without what it has looked up

    def spread(self, case: Case) -> Figure:
        """The mean number of matchers a post visits."""
        return Figure.of([one.spread for one in self.found[case]])

    def imbalance(self, case: Case) -> Figure:
        """The highest load over the mean."""
        return Figure.of([one.imbalance for one in self.found[case]])

    def throughput(self, case: Case) -> Figure:
        """As equation 6 predicts it: posts in the time that one matcher takes for one."""
        return Figure.of([one.throughput for one in self.found[case]])

    def relative(self, case: Case, to: Contender = SALB) -> Figure:
        """The throughput over that of another map, on the same folds."""
        rival = self.found[case._replace(contender=to)]
        # One of the two may have seen fewer folds.
        pairs = zip(self.found[case], rival, strict=False)
        return Figure.of([one.throughput / other.throughput for one, other in pairs])
