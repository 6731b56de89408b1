"""How many terms a subscription or an item has: length laws as arrays, index k the probability of k terms."""

from typing import Final

import numpy as np

from tidegate.errors import ConfigError
from tidegate.workload.terms import Floats

# The EDBT paper takes the lengths of a web query log (Beitzel et al. 2004) and prints only their mean, 2.2,
# and their maximum, 12. The shares of one and two words are our choice, round numbers near those of query
# logs; from three words on the share falls by a constant ratio, which the mean then determines.
_ONE_WORD: Final = 0.30
_TWO_WORDS: Final = 0.38
_LONGEST: Final = 12
_RATIO: Final = 0.3601503530708101


def web_queries() -> Floats:
    """The lengths of web queries: 1 to 12 words, 2.2 on average.

    >>> web_queries().round(3).tolist()[:6]
    [0.0, 0.3, 0.38, 0.205, 0.074, 0.027]
    """
    law = np.zeros(_LONGEST + 1)
    law[1], law[2] = _ONE_WORD, _TWO_WORDS
    tail = _RATIO ** np.arange(_LONGEST - 2)
    law[3:] = (1.0 - _ONE_WORD - _TWO_WORDS) * tail / tail.sum()
    return law


def fixed(length: int) -> Floats:
    """Always `length`.

    >>> fixed(2).tolist()
    [0.0, 0.0, 1.0]
    """
    return between(length, length)


def between(shortest: int, longest: int) -> Floats:
    """Every length from `shortest` to `longest` alike."""
    if not 1 <= shortest <= longest:
        raise ConfigError(f"lengths from {shortest} to {longest}: the shortest is at least 1, and the longest no less")
    law = np.zeros(longest + 1)
    law[shortest:] = 1.0 / (longest - shortest + 1)
    return law


def mean_length(law: Floats) -> float:
    """The average length under a length law."""
    return float(law @ np.arange(len(law)))
