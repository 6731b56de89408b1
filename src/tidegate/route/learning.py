"""Learning a plan from posts and subscriptions: the maps of the plan that is asked for, or the plan that is best.

What to answer where posts are routed, what to share out by words and what by places is one question: `hybrid` asks it
whole, and forecasts by one model of costs compare it with the plans that ask a part of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from tidegate.csr import Int32
from tidegate.errors import ConfigError
from tidegate.index.common_reading import kept
from tidegate.index.strings import strings
from tidegate.route.forecast import Evidence, Forecast, forecast
from tidegate.route.maps import learn
from tidegate.route.place_learning import adjusted_places, can_learn_places, learn_places
from tidegate.route.place_map import PlaceMap
from tidegate.route.placement import place
from tidegate.route.places.transition import is_worth_it
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
    places: PlaceMap | None = None


def learned(plan: Plan, sample: Sample, evidence: Evidence) -> Learned:
    """Learn what a plan needs from a sample: its words, its places if it goes by them, and the size of its head."""
    places = learn_places(plan, sample, evidence) if plan.by_place else None
    if plan.has_head:
        return _with_head(plan, sample, evidence, places)
    kind = _TAIL_MAP if plan.by_place else plan.kind
    words = learn(kind, sample, plan.matchers) if plan.learned else None
    return Learned(plan, words, forecast(plan, words, evidence, places), places)


def readjusted(current: Learned, sample: Sample, evidence: Evidence) -> Learned:
    """Adjust a plan by places locally; learn it anew if that is worth it (PS²Stream, section V)."""
    plan, words, places = current.plan, current.words, current.places
    if places is None:
        raise ConfigError(f"plan {plan} does not go by places: learn it anew")
    adjusted = adjusted_places(plan, places, sample, evidence)
    local = Learned(plan, words, forecast(plan, words, evidence, adjusted), adjusted)
    anew = learned(plan, sample, evidence)
    if local.forecast.fits == anew.forecast.fits:
        return anew if is_worth_it(1 / local.forecast.throughput, 1 / anew.forecast.throughput) else local
    return best([local, anew])


def alternatives(sample: Sample, evidence: Evidence) -> Iterator[Learned]:
    """Learn one plan after the other that may be the best for the cluster; those of the paper for comparison."""
    matchers = evidence.cluster.matchers
    kinds = ["hash", "salb", "refined", "headtail"]
    if can_learn_places(sample, evidence):
        kinds += ["hybrid", "kd_tree"]
    for text in ("replicate", *(f"{kind}:{matchers}" for kind in kinds)):
        yield learned(Plan.parse(text), sample, evidence)


def best(found: list[Learned]) -> Learned:
    """Return the plan with the highest throughput among those that fit the hosts; if none does, the smallest."""
    fitting = [one for one in found if one.forecast.fits]
    if fitting:
        return max(fitting, key=lambda one: one.forecast.throughput)
    return min(found, key=lambda one: one.forecast.host_bytes)


def _with_head(plan: Plan, sample: Sample, evidence: Evidence, places: PlaceMap | None) -> Learned:
    """Choose the head by forecasts with owners by hash; then learn who owns the words that lead to the tail."""
    by_hash = learn("hash", sample, plan.matchers, splitting=False)
    tried = [replace(plan, head=head) for head in _HEADS if head <= len(sample.words)]
    forecasts = [forecast(one, by_hash, evidence, places) for one in tried]
    fitting = [one for one in forecasts if one.fits] or forecasts
    chosen = max(fitting, key=lambda one: one.throughput).plan
    keys = place(evidence.asked.queries, chosen, by_hash, places=places).keys
    of_tail = learn(_TAIL_MAP, _only_words(sample, keys), plan.matchers)
    words = replace(by_hash, owners=of_tail.owners_of(sample.words))
    return Learned(chosen, words, forecast(chosen, words, evidence, places), places)


def _only_words(sample: Sample, words: list[str]) -> Sample:
    """Return the posts with these words alone."""
    wanted = pc.is_in(sample.words, value_set=strings(words)).to_numpy(zero_copy_only=False)
    own: Int32 = np.where(wanted, np.arange(len(sample.words)), -1).astype(np.int32)
    return Sample.from_rows(kept(sample.posts, own), sample.words)
