"""What the paper says of its figures in words, beside what ours say; and the summary."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tidegate.bench.report import Report, Row
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import SALB, Case, Contender, Trials

_TWEETS, _TOPICS = "tweet-based", "topic-based"
_HASH, _GC, _GFC, _GFCL, _GNFCL = map(Contender, ("hash", "gc", "gfc", "gfcl", "gnfcl"))
_RIVALS: Final = (_HASH, _GFCL, _GNFCL)
_AHEAD_FROM: Final = 16
"""Matchers, from which on SALB is to be the fastest of the paper's maps."""


@dataclass(frozen=True)
class Told:
    """What the trials tell."""

    trials: Trials
    sizes: Sizes

    def gain(self, kind: str, rival: Contender, matchers: int, count: int | None = None) -> float:
        """SALB's throughput over another map's."""
        return self.trials.relative(Case(SALB, matchers, kind, count or self.sizes.subscriptions), to=rival).mean

    def evenness(self, kind: str, rival: Contender, matchers: int, count: int | None = None) -> float:
        """Another map's imbalance over SALB's."""
        case = Case(rival, matchers, kind, count or self.sizes.subscriptions)
        return self.trials.imbalance(case).mean / self.trials.imbalance(case._replace(contender=SALB)).mean

    def scaling(self, contender: Contender, matchers: int, fewer: int) -> float:
        """The throughput with some matchers over that with fewer, for tweet-based subscriptions."""
        many, few = (Case(contender, n, _TWEETS, self.sizes.subscriptions) for n in (matchers, fewer))
        return self.trials.throughput(many).mean / self.trials.throughput(few).mean

    def closest(self, kind: str) -> tuple[float, Contender, int]:
        """By how much SALB is ahead of another of the paper's maps where that is least; that map, and the matchers."""
        many = [matchers for matchers in self.sizes.matchers if matchers >= _AHEAD_FROM]
        return min((self.gain(kind, rival, matchers), rival, matchers) for rival in _RIVALS for matchers in many)


def report_claims(report: Report, trials: Trials, sizes: Sizes) -> None:
    """Report every statement of §6.2 and §6.3 that this run can be held against."""
    told = Told(trials, sizes)
    rows = [*_over_matchers(told), *_over_subscriptions(told)]
    why = " ".join([_why_so_little(told), *_why_behind(told)])
    report.section("The paper's statements: SALB without splitting, against the other maps", rows, why)


def _why_so_little(told: Told) -> str:
    grown, matchers = max(told.sizes.grown), told.sizes.grown_matchers
    imbalance = told.trials.imbalance(Case(_HASH, matchers, _TWEETS, grown)).mean
    return (
        f"With {grown:,} tweet-based subscriptions, hash has an imbalance of {imbalance:.2f} at {matchers} matchers: "
        "by equation 6, better balance alone cannot gain more. And a map that balances has a spread near the number of "
        "a post's subscribed words, as hash has."
    )


def _why_behind(told: Told) -> Iterator[str]:
    for kind in (_TWEETS, _TOPICS):
        gain, rival, matchers = told.closest(kind)
        if gain < 1:
            case = Case(rival, matchers, kind, told.sizes.subscriptions)
            spread = told.trials.spread(case).mean / told.trials.spread(case._replace(contender=SALB)).mean
            yield (
                f"With {kind} subscriptions {rival.label} is ahead of SALB at {matchers} matchers, with {spread:.2f} "
                f"of its spread and {told.evenness(kind, rival, matchers):.2f} of its imbalance: SALB lowers spread by "
                "accident only, and METIS balances these words better than the paper's."
            )


def _over_matchers(told: Told) -> Iterator[Row]:
    sizes = told.sizes
    most = max(sizes.matchers)
    for kind, best in ((_TWEETS, 2.3), (_TOPICS, 2.5)):
        yield _row(kind, "throughput over hash, at best", best, max(told.gain(kind, _HASH, n) for n in sizes.matchers))
        yield _row(kind, f"over gFCL, gNFCL, hash: from {_AHEAD_FROM} matchers on", "> 1", told.closest(kind)[0])
        for rival in (_GC, _GFC):
            yield _row(kind, f"throughput over {rival.label}, {most} matchers", "> 10", told.gain(kind, rival, most))
    if 8 in sizes.matchers:
        for rival, paper in ((_GFCL, 4), (_GNFCL, 6)):
            yield _row(
                _TWEETS, f"imbalance of {rival.label} over its, 8 matchers", paper, told.evenness(_TWEETS, rival, 8)
            )
    if {128, 256} <= {*sizes.matchers}:
        for contender, order in ((SALB, "> 1"), (_HASH, "< 1"), (_GFCL, "< 1")):
            ratio = told.scaling(contender, 256, 128)
            yield _row(_TWEETS, f"throughput of {contender.label}, 256 over 128 matchers", order, ratio)
        for rival, gain in ((_HASH, 2.56), (_GFCL, 2.2), (_GNFCL, 2.2)):
            ratio = told.gain(_TOPICS, rival, 256)
            yield _row(_TOPICS, f"throughput over {rival.label}, 256 matchers", gain, ratio)


def _over_subscriptions(told: Told) -> Iterator[Row]:
    matchers, grown = told.sizes.grown_matchers, told.sizes.grown
    for kind, gain, evenness in ((_TWEETS, 4.2, 3.3), (_TOPICS, 1.42, 1.7)):
        best = max(told.gain(kind, _HASH, matchers, count) for count in grown)
        yield _row(kind, f"throughput over hash, {matchers} matchers, at best", gain, best)
        even = max(told.evenness(kind, _HASH, matchers, count) for count in grown)
        yield _row(kind, f"imbalance of hash over its, {matchers} matchers, at most", evenness, even)
    for rival, gain in ((_GFCL, 1.18), (_GNFCL, 1.22)):
        ratio = told.gain(_TOPICS, rival, matchers, max(grown))
        yield _row(_TOPICS, f"throughput over {rival.label}, {max(grown):,} subscriptions", gain, ratio)


def _row(kind: str, what: str, paper: float | str, ours: float) -> Row:
    """A statement; one that is no figure but an order holds or not."""
    holds = None
    if isinstance(paper, str):
        sign, bound = paper.split()
        holds = "yes" if (ours > float(bound)) == (sign == ">") else "no"
    return {"subscriptions": kind, "statement": what, "paper": paper, "ours": ours, "holds": holds}


def summarise(report: Report, trials: Trials, sizes: Sizes) -> None:
    """Sum up what maps do by equation 6, with tweet-based subscriptions and on posts not learned from."""

    def relative(contender: Contender, to: Contender) -> float:
        return trials.relative(Case(contender, 64, _TWEETS, sizes.subscriptions), to).mean

    report.summary |= {
        "salb_over_hash_64": relative(SALB, _HASH),
        "refined_over_salb_64": relative(Contender("refined"), SALB),
        "split_scaling_256_over_64": Told(trials, sizes).scaling(Contender("salb", splitting=True), 256, 64),
    }
