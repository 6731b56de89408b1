"""A word map by Mt-KaHyPar: words are vertices, posts hyperedges, and what is minimised is exactly the spread.

(The connectivity metric of a partition counts for every hyperedge the blocks it touches, less one.) Balance is that of
word frequencies, which count a post twice where two of its words live together.
"""

from functools import lru_cache

import mtkahypar
import numpy as np

from tidegate.csr import Int32
from tidegate.route.sample import Sample

_IMBALANCE = 0.03
_THREADS = 2


@lru_cache(maxsize=1)
def _initialized() -> "mtkahypar.Initializer":
    """The library may be initialised once in a process."""
    return mtkahypar.initialize(_THREADS)


def hypergraph_owners(sample: Sample, matchers: int) -> Int32:
    """Return the owner of every word. Deterministic; minutes for a million posts."""
    if matchers == 1 or len(sample.words) <= matchers:
        return np.arange(len(sample.words), dtype=np.int32) % matchers
    library = _initialized()
    context = library.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(matchers, _IMBALANCE, mtkahypar.Objective.KM1)
    context.logging = False
    mtkahypar.set_seed(1)
    # A post of one word is cut by no partition.
    posts = [sample.posts.row(post).tolist() for post in np.flatnonzero(np.diff(sample.posts.offsets) > 1).tolist()]
    graph = library.create_hypergraph(
        context, len(sample.words), len(posts), posts, sample.frequency.tolist(), [1] * len(posts)
    )
    return np.array(graph.partition(context).get_partition(), np.int32)
