"""One workload of the paper, drawn, built and matched with every index: what headline and scaling report."""

import resource
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidegate.bench.index.measure import Matching, require_same, time_matching, timed
from tidegate.bench.index.sizes import Sizes
from tidegate.csr import Int32
from tidegate.index.brute_force import BruteForce
from tidegate.index.contract import Index
from tidegate.index.models import Workload
from tidegate.index.registry import INDEXES
from tidegate.index.sets import TermSets, distinct_sets
from tidegate.workload.lengths import web_queries
from tidegate.workload.subscriptions import items, term_sets
from tidegate.workload.terms import real

# The trie first: its building takes the most memory, and then no other index is there yet.
COMPARED: Final = ("patricia-trie", "counting", "ranked-key", "flat")
LABELS: Final = {
    "counting": "counting (CIL)",
    "ranked-key": "ranked-key (RIL)",
    "ordered-trie": "ordered trie (ROT)",
    "patricia-trie": "Patricia (POT)",
    "flat": "flat",
}


@dataclass(frozen=True)
class Trial:
    """What was measured; by index name where there is a figure for each."""

    workload: Workload
    subscribed_terms: int
    distinct: int
    """Distinct queries: what the indexes hold."""
    distinct_seconds: float
    """What finding them took, which every index needs first."""
    build_seconds: dict[str, float]
    nbytes: dict[str, int]
    matching: dict[str, Matching]
    numbers: Int32
    """The distinct query of every subscription."""
    peak_bytes: int
    """Of the whole process, so far."""

    @property
    def subscriptions(self) -> int:
        """How many subscriptions were drawn."""
        return self.workload.subscriptions

    @property
    def vocabulary(self) -> int:
        """From how many terms they were drawn."""
        return len(self.workload.terms)


def paper_workload(subscriptions: int, vocabulary: int) -> Workload:
    """The paper's usual workload: as long as web queries, and in the words of the items."""
    law = real(vocabulary)
    return Workload(subscriptions, law, web_queries(), law)


def run_trial(workload: Workload, sizes: Sizes, seed: int, *, with_trie: bool = True) -> Trial:
    """Draw subscriptions and items, build every index, and time it; the regular trie only `with_trie`."""
    distinct_seconds, (sets, numbers) = _timed_distinct(workload, seed)
    names = (*(("ordered-trie",) if with_trie else ()), *COMPARED)
    built = {name: _timed_build(name, sets) for name in names}
    indexes = {name: index for name, (_, index) in built.items()}

    posts = items(sizes.items, workload.item_terms, seed + 1)
    checked = posts.slice(0, sizes.checked_items)
    expected = BruteForce.build(sets).match(checked).sets
    for name, index in indexes.items():
        require_same(name, index.match(checked).sets, "brute force", expected)
    distinct, subscribed = sets.rows, int(np.count_nonzero(np.bincount(sets.terms.values)))
    del sets
    matching = time_matching(indexes, posts, sizes.rounds, few={"counting": sizes.counting_items})
    return Trial(
        workload,
        subscribed,
        distinct,
        distinct_seconds,
        {name: seconds for name, (seconds, _) in built.items()},
        {name: index.nbytes for name, index in indexes.items()},
        matching,
        numbers,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def _timed_distinct(workload: Workload, seed: int) -> tuple[float, tuple[TermSets, Int32]]:
    # A function of its own, so that the subscriptions as drawn are gone when the indexes are built.
    raw = term_sets(workload.subscriptions, workload.terms, workload.lengths, seed)
    return timed(lambda: distinct_sets(raw, len(workload.terms)))


def _timed_build(name: str, sets: TermSets) -> tuple[float, Index]:
    return timed(lambda: INDEXES[name].build(sets))


def warm_up(seed: int) -> None:
    """Compile every kernel of a trial on a workload too small to take time."""
    run_trial(paper_workload(100, 1_000), Sizes(100, items=2, rounds=1), seed)
