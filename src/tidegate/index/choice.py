"""Which index for which workload: the models' prediction for each, and the reasons in plain sentences."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidegate.index.contents import Contents, estimate_contents, sample_items
from tidegate.index.costs import (
    DEFAULT_BUILD_TAUS,
    DEFAULT_TAUS,
    BuildSteps,
    BuildTaus,
    Steps,
    Taus,
    build_steps,
)
from tidegate.index.models import Workload
from tidegate.index.trie_models import TrieModel

_ITEMS = 50


@dataclass(frozen=True)
class Prediction:
    """What an index of the workload's distinct queries is expected to cost."""

    microseconds: float
    """For matching one item."""
    nbytes: float
    build_seconds: float
    """From subscriptions as they come, finding the distinct queries among them included."""
    steps: Steps
    build: BuildSteps


@dataclass(frozen=True)
class Choice:
    """The index to take, why, and what was predicted for each by name."""

    index: str
    reasons: list[str]
    predicted: dict[str, Prediction]


def choose_index(
    workload: Workload,
    taus: Taus = DEFAULT_TAUS,
    memory_limit: int | None = None,
    build_taus: BuildTaus = DEFAULT_BUILD_TAUS,
) -> Choice:
    """Return the index expected to be fastest among those that fit in `memory_limit` bytes.

    If none fits, the smallest. Building is predicted too, but decides nothing: it is done once. Predictions count
    distinct queries and rest on a fixed sample: the same workload gets the same answer.
    """
    contents = estimate_contents(workload)
    steps = _steps(workload, contents)
    nbytes = _nbytes(workload, contents)
    build = _build(workload, contents)
    predicted = {
        name: Prediction(
            microseconds=steps[name].nanoseconds(taus) / 1e3,
            nbytes=nbytes[name],
            build_seconds=build[name].nanoseconds(build_taus) / 1e9,
            steps=steps[name],
            build=build[name],
        )
        for name in steps
    }
    fitting = [name for name in predicted if memory_limit is None or nbytes[name] <= memory_limit]
    if fitting:
        index = min(fitting, key=lambda name: predicted[name].microseconds)
    else:
        index = min(predicted, key=lambda name: nbytes[name])
    return Choice(index, _reasons(index, predicted, contents, memory_limit), predicted)


def _steps(workload: Workload, contents: Contents) -> dict[str, Steps]:
    items = sample_items(workload, _ITEMS, np.random.default_rng(0))
    length = items.shape[1]
    sorting = length * float(np.log2(max(length, 2)))
    return {
        "counting": Steps(copy=contents.sets, decrement=contents.postings_read),
        "ranked-key": Steps(sort=sorting, check=contents.keyed_terms_read),
        "ordered-trie": Steps(sort=sorting, node=float(_mean_visits(TrieModel(workload), items).sum())),
        # Every pair is asked for. A pair that is filed is read, and so is each longer set below it, of which
        # the second level and deeper ones of the rarest-first trie are the measure.
        "flat": Steps(
            sort=sorting,
            probe=length * (length - 1) / 2,
            hit=float(_mean_visits(TrieModel(workload, "reverse"), items)[1:].sum()),
        ),
    }


def _mean_visits(model: TrieModel, items: NDArray[np.int64]) -> NDArray[np.float64]:
    visits: NDArray[np.float64] = np.mean([model.visits_by_depth(item) for item in items], axis=0)
    return visits


def _nbytes(workload: Workload, contents: Contents) -> dict[str, float]:
    """Entries of the arrays of each index, tables over the whole vocabulary included."""
    terms = len(workload.terms)
    return {
        "counting": 8 * terms + contents.sets + 4 * contents.occurrences,
        "ranked-key": 12 * terms + 4 * (contents.occurrences - contents.sets),
        "ordered-trie": 8 * terms + 12 * contents.trie_nodes,
        "flat": 8 * terms + 12 * contents.pairs + 4 * contents.tail_terms,
    }


def _build(workload: Workload, contents: Contents) -> dict[str, BuildSteps]:
    """All subscriptions are ordered, for equal ones to meet; what is then filed are the distinct queries."""
    ordered = BuildSteps(sort=workload.subscriptions * build_steps(workload)["ranked-key"].sort)
    return {
        "counting": ordered._replace(post=contents.occurrences),
        "ranked-key": ordered,
        "ordered-trie": ordered._replace(node=contents.occurrences),
        "flat": ordered,
    }


def _reasons(index: str, predicted: dict[str, Prediction], contents: Contents, memory_limit: int | None) -> list[str]:
    chosen = predicted[index]
    reasons = [
        f"The subscriptions ask for about {contents.sets:,.0f} distinct queries of "
        f"{contents.occurrences / contents.sets:.1f} terms."
    ]
    if memory_limit is not None:
        too_large = [name for name, other in predicted.items() if other.nbytes > memory_limit]
        if len(too_large) == len(predicted):
            reasons.append(f"No index fits in {_megabytes(memory_limit)}; {index} comes nearest.")
        elif too_large:
            reasons.append(f"Too large for {_megabytes(memory_limit)}: {', '.join(too_large)}.")
    reasons.append(
        f"{index} is expected to take {chosen.microseconds:,.1f} µs an item and {_megabytes(chosen.nbytes)}: "
        f"{_described(chosen.steps)}. It is built in about {chosen.build_seconds:,.1f} s."
    )
    for name, other in sorted(predicted.items(), key=lambda entry: entry[1].microseconds):
        if name != index:
            reasons.append(
                f"{name} would take {other.microseconds:,.1f} µs and {_megabytes(other.nbytes)}: "
                f"{_described(other.steps)}."
            )
    return reasons


_STEP_NAMES = {
    "copy": "counters copied",
    "decrement": "postings read",
    "check": "terms checked",
    "node": "nodes visited",
    "probe": "pairs asked for",
    "hit": "pairs and sets read",
}


def _described(steps: Steps) -> str:
    counted = steps._asdict()
    return ", ".join(f"{counted[kind]:,.0f} {name}" for kind, name in _STEP_NAMES.items() if counted[kind])


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f} MB"
