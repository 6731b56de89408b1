"""Recent posts as estimates use them: which they are, and how many each stands for."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sample:
    """Recent posts, the oldest first, and what they stand for."""

    posts: pa.Table
    came: NDArray[np.int64]
    """When each came (microseconds)."""
    each_per_day: NDArray[np.float64]
    """For how many posts of a day each stands."""
    stands_for: int
    """How many came in the time that they are from."""

    @property
    def per_day(self) -> float:
        """How many posts come in a day."""
        return float(self.each_per_day.sum())

    @property
    def since(self) -> int | None:
        """When the first came (microseconds)."""
        return int(self.came[0]) if len(self.came) else None

    @property
    def _ids(self) -> set[str]:
        return set(self.posts.column("id").drop_null().to_pylist())

    @classmethod
    def joined(cls, samples: Iterable["Sample"]) -> "Sample":
        """All samples of different posts; of two that share some, the one that stands for more."""
        chosen: list[Sample] = []
        known: set[str] = set()
        for sample in sorted(samples, key=lambda one: one.stands_for, reverse=True):
            if known.isdisjoint(sample._ids):
                chosen.append(sample)
                known |= sample._ids
        came = np.concatenate([one.came for one in chosen])
        order = np.argsort(came, kind="stable")
        posts = pa.concat_tables([one.posts for one in chosen])
        each = np.concatenate([one.each_per_day for one in chosen])
        return cls(posts.take(pa.array(order)), came[order], each[order], sum(one.stands_for for one in chosen))
