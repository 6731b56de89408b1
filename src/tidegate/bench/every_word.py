"""The router of S³-TM as printed: every subscribed word leads to its owner, be it the key of a query or not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int64, offsets_of
from tidegate.route.hot_words import word_hashes
from tidegate.route.router import Router


def over_every_word(
    router: Router, words: pa.LargeStringArray, owners: Csr, is_asked: NDArray[np.bool_], subscriptions: Int64
) -> Router:
    """Return the router by which words that somebody asks for lead to their owners, each version to its own.

    `subscriptions` says by version how many are reached.
    """
    leads = np.repeat(is_asked, np.diff(owners.offsets))
    routes = Csr(offsets_of(leads), owners.values[leads])
    slots, weights = owners.offsets, subscriptions[leads]
    return replace(router, keys=words, hashes=word_hashes(words), slots=slots, routes=routes, weights=weights)
