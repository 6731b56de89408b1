"""Places on the circle of 64 bits: ids of peers, and keys of topics."""

import numpy as np
from numpy.typing import NDArray


def distinct_ids(n: int, seed: list[int]) -> NDArray[np.uint64]:
    """Draw so many words of 64 bits, no two alike."""
    generator = np.random.default_rng(seed)
    words = np.zeros(0, np.uint64)
    while len(words) < n:
        words = np.unique(np.concatenate((words, generator.integers(0, 1 << 64, size=n, dtype=np.uint64))))
    return generator.permutation(words)[:n]
