"""The roster: the subscriptions behind queries. Those of one query lie side by side, and their names with them.

Who finds a thousand matches a post reads a thousand names, each from another place in memory: this keeps it at one.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import TidegateError
from tidegate.index.strings import flat_strings, strings
from tidegate.intrinsics import prefetch
from tidegate.kernels import njit
from tidegate.text.characters import Bytes

_AHEAD = 16
_MOST_BYTES = 2**31 - 1


class Roster(NamedTuple):
    """Subscriptions are numbered in the order of their queries."""

    bounds: Int64
    """By query: the number of its first subscription, and behind the last query, the number of all."""
    names: pa.LargeStringArray
    """Twice as many: the id of every subscription, and behind it who holds it."""
    by_id: Int32
    """The numbers, by rising id."""
    rankings: pa.LargeStringArray
    """The distinct ways in which matches are ranked."""
    ranking_of: Int32
    """By number: which of them is a subscription's, -1 if it has none; empty if nobody has one."""

    @classmethod
    def of(
        cls,
        ids: pa.LargeStringArray,
        holders: pa.LargeStringArray,
        query_of: Int32,
        n_queries: int,
        rankings: pa.LargeStringArray | None = None,
    ) -> "Roster":
        """Order subscriptions, given with the number of the query that each asks for."""
        order = np.argsort(query_of, kind="stable")
        both = pa.concat_arrays([ids, holders])
        names = both.take(pa.array(np.stack([order, order + len(ids)], axis=1).reshape(-1)))
        bounds = offsets_of(np.bincount(query_of, minlength=n_queries))
        by_id = pc.sort_indices(ids.take(pa.array(order)).cast(pa.large_binary())).to_numpy().astype(np.int32)
        return cls(bounds, names, by_id, *_distinct(rankings, order))

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        return len(self.by_id)

    def subscriptions(self, queries: Csr) -> Csr:
        """Replace the queries of every row by the subscriptions that ask for them."""
        return Csr(*_subscriptions(self.bounds, queries))

    def ids(self, numbers: Int32) -> pa.StringArray:
        """The ids of subscriptions."""
        return gathered(self.names, numbers, 2, 0)

    def holders(self, numbers: Int32) -> pa.StringArray:
        """Who holds subscriptions."""
        return gathered(self.names, numbers, 2, 1)

    def are_ranked(self, numbers: Int32) -> NDArray[np.bool_]:
        """Whether the matches of subscriptions are ranked."""
        if not len(self.ranking_of):
            return np.zeros(len(numbers), np.bool_)
        return np.asarray(self.ranking_of[numbers] >= 0)

    def rankings_of(self, numbers: Int32) -> pa.StringArray:
        """How the matches of subscriptions are ranked, which all of these have to be."""
        return gathered(self.rankings, self.ranking_of[numbers])

    def query_of(self, number: int) -> int:
        """The query that a subscription asks for."""
        return int(np.searchsorted(self.bounds, number, side="right")) - 1

    def numbers(self, ids: pa.LargeStringArray) -> Int32:
        """The numbers of the subscriptions with these ids, -1 for an id that is not there."""
        found: Int32 = _found(*flat_strings(self.names), self.by_id, *flat_strings(ids))
        return found


def _distinct(rankings: pa.LargeStringArray | None, order: Int64) -> tuple[pa.LargeStringArray, Int32]:
    """The distinct ones, and which is whose, in an order."""
    if rankings is None or rankings.null_count == len(rankings):
        return strings([]), np.empty(0, np.int32)
    found = rankings.take(pa.array(order)).dictionary_encode()
    return found.dictionary, found.indices.fill_null(-1).to_numpy()


def gathered(texts: pa.LargeStringArray, rows: Int32, stride: int = 1, shift: int = 0) -> pa.StringArray:
    """Return the texts at `rows * stride + shift`."""
    offsets, data = _gathered(*flat_strings(texts), rows, stride, shift)
    if len(data) > _MOST_BYTES:
        raise TidegateError(f"the names of {len(rows):,} matches are {len(data):,} bytes: Arrow takes {_MOST_BYTES:,}")
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data))


@njit(cache=True, nogil=True)
def _subscriptions(bounds: Int64, queries: Csr) -> Any:
    offsets = np.zeros(len(queries.offsets), np.int64)
    found = queries.values
    size = np.int64(0)
    for i in range(len(found)):
        if i + _AHEAD < len(found):
            prefetch(bounds, found[i + _AHEAD])
        size += bounds[found[i] + 1] - bounds[found[i]]
    values = np.empty(size, np.int32)
    end = 0
    for row in range(len(queries.offsets) - 1):
        for i in range(queries.offsets[row], queries.offsets[row + 1]):
            for number in range(bounds[found[i]], bounds[found[i] + 1]):
                values[end] = number
                end += 1
        offsets[row + 1] = end
    return offsets, values


@njit(cache=True, nogil=True)
def _gathered(offsets: Int64, data: Bytes, rows: Int32, stride: int, shift: int) -> Any:
    ends = np.zeros(len(rows) + 1, np.int64)
    begins = np.empty(len(rows), np.int64)
    end = 0
    for i in range(len(rows)):
        if i + _AHEAD < len(rows):
            prefetch(offsets, rows[i + _AHEAD] * stride + shift)
        place = rows[i] * stride + shift
        begins[i] = offsets[place]
        end += offsets[place + 1] - begins[i]
        ends[i + 1] = end
    copied = np.empty(end, np.uint8)
    for i in range(len(rows)):
        if i + _AHEAD < len(rows):
            prefetch(data, begins[i + _AHEAD])
        begin = begins[i]
        for k in range(ends[i], ends[i + 1]):
            copied[k] = data[begin + k - ends[i]]
    return ends, copied


@njit(cache=True, nogil=True)
def _found(offsets: Int64, data: Bytes, by_id: Int32, wanted_offsets: Int64, wanted_data: Bytes) -> NDArray[np.int32]:
    """By bisection."""
    found = np.full(len(wanted_offsets) - 1, -1, np.int32)
    for i in range(len(found)):
        wanted = wanted_data[wanted_offsets[i] : wanted_offsets[i + 1]]
        low, high = 0, len(by_id)
        while low < high:
            middle = (low + high) // 2
            place = 2 * by_id[middle]
            text = data[offsets[place] : offsets[place + 1]]
            order = 0
            for k in range(min(len(text), len(wanted))):
                if text[k] != wanted[k]:
                    order = -1 if text[k] < wanted[k] else 1
                    break
            if order == 0:
                order = len(text) - len(wanted)
            if order == 0:
                found[i] = by_id[middle]
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return found
