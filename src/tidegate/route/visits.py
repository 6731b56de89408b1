"""Visits: which matchers posts go to, and what may be gained there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.csr import Csr, Int32, Int64, offsets_of


@dataclass(frozen=True)
class Visits:
    """Of a batch of posts."""

    matchers: Csr
    """By post: the matchers to visit, rising."""
    keys: Int64
    """By visit: how many of the post's words lead there (what consensus shedding goes by)."""
    subscriptions: Int64
    """By visit: how many subscriptions they lead to (what subscription shedding goes by)."""

    @property
    def post_of(self) -> Int64:
        """By visit: the row of its post."""
        return np.repeat(np.arange(self.matchers.rows), np.diff(self.matchers.offsets))

    def __len__(self) -> int:
        """Return the number of visits."""
        return len(self.matchers.values)

    def histogram(self) -> Counter[int]:
        """Return by number of visits how many posts make so many."""
        numbers, posts = np.unique(np.diff(self.matchers.offsets), return_counts=True)
        return Counter(dict(zip(numbers.tolist(), posts.tolist(), strict=True)))

    def lists(self) -> pa.ListArray:
        """By post: its matchers, as they travel with it; null if they are one at most, as nobody else is to know."""
        lengths = np.diff(self.matchers.offsets)
        several = lengths > 1
        offsets = offsets_of(np.where(several, lengths, 0))
        values = self.matchers.values[np.repeat(several, lengths)]
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.array(values, pa.int16()), mask=pa.array(~several)
        )

    def only(self, wanted: Int64) -> "Visits":
        """Return the visits of these numbers, rising."""
        lengths = np.bincount(self.post_of[wanted], minlength=self.matchers.rows)
        kept = Csr(offsets_of(lengths), self.matchers.values[wanted])
        return Visits(kept, self.keys[wanted], self.subscriptions[wanted])


def unpacked(lists: pa.ListArray) -> Csr:
    """Return the matchers of posts that have travelled with `Visits.lists`; a row for each, empty where it is null."""
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    return Csr(offsets_of(lengths), lists.flatten().to_numpy().astype(np.int32))


def joined(visits: Sequence[Visits], posts: int) -> Visits:
    """Return the visits of so many posts that several routers ask for, each once."""
    if len(visits) == 1:
        return visits[0]
    nothing = np.empty(0, np.int64)
    packed = np.concatenate([nothing, *((one.post_of << 16) | one.matchers.values for one in visits)])
    distinct, visit_of = np.unique(packed, return_inverse=True)
    keys, subscriptions = (
        np.bincount(visit_of, weights=np.concatenate([nothing, *values]), minlength=len(distinct)).astype(np.int64)
        for values in ([one.keys for one in visits], [one.subscriptions for one in visits])
    )
    lengths = np.bincount(distinct >> 16, minlength=posts)
    matchers: Int32 = (distinct & 0xFFFF).astype(np.int32)
    return Visits(Csr(offsets_of(lengths), matchers), keys, subscriptions)
