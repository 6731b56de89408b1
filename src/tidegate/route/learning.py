"""Learning a plan from posts and subscriptions: a word map for the plan that is asked for, or the plan that is best."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from tidegate.csr import Int32
from tidegate.index.common_reading import kept
from tidegate.index.strings import strings
from tidegate.route.forecast import Evidence, Forecast, forecast
from tidegate.route.maps import learn
from tidegate.route.placement import place
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.route.word_map import WordMap

# Sizes of the head that are tried, in words.
_HEADS = (0, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
# The map that shares out the words of the tail.
_TAIL_MAP = "refined"


@dataclass(frozen=True)
class Learned:
    """A plan, what it has learned, and what is to be expected of it."""

    plan: Plan
    words: WordMap | None
    forecast: Forecast


def learned(plan: Plan, sample: Sample, evidence: Evidence) -> Learned:
    """Learn the words of a plan from a sample, and with `headtail` the size of its head."""
    if plan.kind == "headtail":
        return _head_and_tail(plan, sample, evidence)
    words = learn(plan.kind, sample, plan.matchers) if plan.learned else None
    return Learned(plan, words, forecast(plan, words, evidence))


def alternatives(sample: Sample, evidence: Evidence) -> Iterator[Learned]:
    """Learn one plan after the other that may be the best for the cluster; those of the paper for comparison."""
    matchers = evidence.cluster.matchers
    for text in ("replicate", f"hash:{matchers}", f"salb:{matchers}", f"refined:{matchers}", f"headtail:{matchers}"):
        yield learned(Plan.parse(text), sample, evidence)


def best(found: list[Learned]) -> Learned:
    """Return the plan with the highest throughput among those that fit the hosts; if none does, the smallest."""
    fitting = [one for one in found if one.forecast.fits]
    if fitting:
        return max(fitting, key=lambda one: one.forecast.throughput)
    return min(found, key=lambda one: one.forecast.host_bytes)


def _head_and_tail(plan: Plan, sample: Sample, evidence: Evidence) -> Learned:
    """Choose the head by forecasts with owners by hash; then learn who owns the words that lead to the tail."""
    by_hash = learn("hash", sample, plan.matchers, splitting=False)
    tried = [replace(plan, head=head) for head in _HEADS if head <= len(sample.words)]
    forecasts = [forecast(one, by_hash, evidence) for one in tried]
    fitting = [one for one in forecasts if one.fits] or forecasts
    chosen = max(fitting, key=lambda one: one.throughput).plan
    keys = place(evidence.asked.queries, chosen, by_hash).keys
    of_tail = learn(_TAIL_MAP, _only_words(sample, keys), plan.matchers)
    words = replace(by_hash, owners=of_tail.owners_of(sample.words))
    return Learned(chosen, words, forecast(chosen, words, evidence))


def _only_words(sample: Sample, words: list[str]) -> Sample:
    """Return the posts with these words alone."""
    wanted = pc.is_in(sample.words, value_set=strings(words)).to_numpy(zero_copy_only=False)
    own: Int32 = np.where(wanted, np.arange(len(sample.words)), -1).astype(np.int32)
    return Sample.from_rows(kept(sample.posts, own), sample.words)
