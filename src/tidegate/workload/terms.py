"""How often each term is used: laws as probability arrays over ranks, index 0 the commonest term of items.

A law says nothing about words; `posts` puts words to ranks.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import ConfigError

Floats = NDArray[np.float64]

VOCABULARY: Final = 1_500_000
"""Distinct terms in the crawl of news items behind the EDBT paper (§4.2)."""

# Occurrences by rank among 22 million (10 M subscriptions of 2.2 terms). The first four are Table 4 of the
# paper. The last is solved: with it 471,324 distinct terms are expected in those subscriptions (§4.4.1), and
# the counts sum to 1.011 of the 22 million, so that normalising moves Table 4 by 1.1 % and no more.
_KNOT_RANKS: Final = (1, 10, 1_000, 10_000, VOCABULARY)
_KNOT_OCCURRENCES: Final = (138_090, 60_469, 4_967, 251, 0.0578028)


def real(vocabulary: int = VOCABULARY) -> Floats:
    """The law of the paper's news items, straight in log-log between known counts.

    A smaller vocabulary keeps the most frequent terms and renormalises.

    >>> law = real(100_000)
    >>> len(law), round(float(law[0] / law[9]), 3)
    (100000, 2.284)
    """
    _check_vocabulary(vocabulary, VOCABULARY)
    ranks = np.arange(1, vocabulary + 1)
    counts = np.exp(np.interp(np.log(ranks), np.log(_KNOT_RANKS), np.log(_KNOT_OCCURRENCES)))
    return _normalised(counts)


def inverse(vocabulary: int = VOCABULARY) -> Floats:
    """`real` turned round: what items use most is what subscriptions use least."""
    return np.ascontiguousarray(real(vocabulary)[::-1])


def uniform(vocabulary: int = VOCABULARY) -> Floats:
    """Every term alike."""
    _check_vocabulary(vocabulary)
    return np.full(vocabulary, 1.0 / vocabulary)


def zipf(vocabulary: int, exponent: float = 1.0) -> Floats:
    """The term of rank r in proportion to r to the power of minus `exponent`.

    >>> zipf(3).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    _check_vocabulary(vocabulary)
    return _normalised(np.arange(1, vocabulary + 1, dtype=np.float64) ** -exponent)


def _normalised(weights: Floats) -> Floats:
    law: Floats = weights / weights.sum()
    return law


def _check_vocabulary(vocabulary: int, most: int = np.iinfo(np.int32).max) -> None:
    if not 1 <= vocabulary <= most:
        raise ConfigError(f"a vocabulary of {vocabulary:,} terms: allowed are 1 to {most:,}")
