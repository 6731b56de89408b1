"""The word maps by name: how each shares out the words of a sample over matchers."""

from collections.abc import Callable

import numpy as np

from tidegate.csr import Int32
from tidegate.errors import ConfigError
from tidegate.route.greedy import greedy_owners
from tidegate.route.hot_words import split
from tidegate.route.hypergraph import hypergraph_owners
from tidegate.route.ownership import owner
from tidegate.route.refinement import refined_owners
from tidegate.route.sample import Sample
from tidegate.route.word_graph import WordGraph
from tidegate.route.word_map import WordMap

Learner = Callable[[Sample, int], Int32]


def hash_owners(sample: Sample, matchers: int) -> Int32:
    """Return the owner of every word by hash: nothing is learned but how common words are."""
    return np.array([owner(word, matchers) for word in sample.words.to_pylist()], np.int32)


GRAPH_LEARNERS: dict[str, Callable[[WordGraph, int], Int32]] = {
    "gc": WordGraph.unweighted,
    "gfc": WordGraph.by_company,
    "gfcl": WordGraph.by_frequency,
    "gnfcl": WordGraph.by_normal_frequency,
}
"""Those that need to know of a sample only which words are together, and how often."""


def _by_graph(owners: Callable[[WordGraph, int], Int32]) -> Learner:
    return lambda sample, matchers: owners(WordGraph.of(sample), matchers)


LEARNERS: dict[str, Learner] = {
    "hash": hash_owners,
    **{name: _by_graph(owners) for name, owners in GRAPH_LEARNERS.items()},
    "salb": greedy_owners,
    "refined": refined_owners,
    "hypergraph": hypergraph_owners,
}


def learn(name: str, sample: Sample, matchers: int, *, splitting: bool = True) -> WordMap:
    """Learn the map called `name` from a sample, with hot words split into versions."""
    if name not in LEARNERS:
        raise ConfigError(f"no word map is called {name!r}: choose one of {', '.join(LEARNERS)}")
    source = split(sample, matchers) if splitting else sample
    return WordMap.of(
        source, LEARNERS[name](source if isinstance(source, Sample) else source.sample, matchers), matchers
    )
