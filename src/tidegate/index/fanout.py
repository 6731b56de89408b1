"""From distinct queries to the subscriptions that ask for them.

Popular queries have many subscriptions. Those known at the last `settle` lie side by side; later ones are
chained, and removed ones are marked.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32
from tidegate.growth import with_room
from tidegate.kernels import njit

_SETTLE_AT = 1 << 16


class _Chains(NamedTuple):
    newest: Int32
    """By query: its subscription added last since the last settling, or -1."""
    older: Int32
    """By subscription: the one before it of the same query, or -1."""


class FanOut:
    """Both queries and subscriptions are numbered by the caller, subscriptions in the order of adding.

    >>> fanout = FanOut()
    >>> fanout.add(np.array([4, 9, 4], np.int32))
    >>> fanout.remove(0)
    >>> fanout.subscriptions(Csr(np.array([0, 2]), np.array([4, 9], np.int32))).values
    array([2, 1], dtype=int32)
    """

    def __init__(self) -> None:
        """Start empty."""
        self.rows = 0
        self.settled_rows = 0
        """How many of the subscriptions lie side by side; the others are chained."""
        self._settled = Csr(np.zeros(1, np.int64), np.empty(0, np.int32))
        self._query_of: Int32 = np.empty(64, np.int32)
        self._alive: NDArray[np.int8] = np.empty(64, np.int8)
        self._removed = False  # since the last settling
        self._chains = _Chains(np.full(64, -1, np.int32), np.empty(64, np.int32))

    def add(self, queries: Int32) -> None:
        """Append one subscription to each of these queries."""
        stop = self.rows + len(queries)
        self._query_of = with_room(self._query_of, stop)
        self._query_of[self.rows : stop] = queries
        self._alive = with_room(self._alive, stop)
        self._alive[self.rows : stop] = 1
        self._chains = _Chains(
            with_room(self._chains.newest, int(queries.max(initial=-1)) + 1), with_room(self._chains.older, stop)
        )
        _chain(self._chains, self._query_of, self.rows, stop)
        self.rows = stop
        if self.rows - self.settled_rows > max(_SETTLE_AT, self.settled_rows):
            self.settle()

    def remove(self, subscription: int) -> None:
        """Mark a subscription as gone."""
        self._alive[subscription] = 0
        self._removed = True

    def query_of(self, subscription: int) -> int:
        """The query a subscription asks for."""
        return int(self._query_of[subscription])

    def settle(self) -> None:
        """Lay the living subscriptions of every query side by side. Linear in all that were ever added."""
        living = np.flatnonzero(self._alive[: self.rows]).astype(np.int32)
        queries = self._query_of[living]
        offsets = np.zeros(int(queries.max(initial=-1)) + 2, np.int64)
        np.cumsum(np.bincount(queries, minlength=len(offsets) - 1), out=offsets[1:])
        self._settled = Csr(offsets, living[np.argsort(queries, kind="stable")])
        self.settled_rows = self.rows
        self._removed = False
        self._chains = _Chains(np.full(len(self._chains.newest), -1, np.int32), self._chains.older)

    def subscriptions(self, queries: Csr) -> Csr:
        """Replace the queries of every row by their living subscriptions."""
        return Csr(*_fan_out(self._settled, self._chains, self._alive, not self._removed, queries))


@njit(cache=True, nogil=True)
def _chain(chains: _Chains, query_of: Int32, start: int, stop: int) -> None:
    for subscription in range(start, stop):
        chains.older[subscription] = chains.newest[query_of[subscription]]
        chains.newest[query_of[subscription]] = subscription


@njit(cache=True, nogil=True)
def _fan_out(settled: Csr, chains: _Chains, alive: NDArray[np.int8], all_alive: bool, queries: Csr) -> Any:
    n_settled = len(settled.offsets) - 1
    offsets = np.zeros(len(queries.offsets), np.int64)
    values = np.empty(max(1024, len(queries.values)), np.int32)
    end = 0
    for row in range(len(queries.offsets) - 1):
        for i in range(queries.offsets[row], queries.offsets[row + 1]):
            query = queries.values[i]
            if query < n_settled:
                start, stop = settled.offsets[query], settled.offsets[query + 1]
                while end + stop - start > len(values):
                    values = np.concatenate((values, np.empty(len(values), np.int32)))
                if all_alive:
                    values[end : end + stop - start] = settled.values[start:stop]
                    end += stop - start
                else:
                    for j in range(start, stop):
                        values[end] = settled.values[j]
                        end += alive[settled.values[j]]
            subscription = chains.newest[query] if query < len(chains.newest) else np.int32(-1)
            while subscription >= 0:
                if end == len(values):
                    values = np.concatenate((values, np.empty(len(values), np.int32)))
                values[end] = subscription
                end += alive[subscription]
                subscription = chains.older[subscription]
        offsets[row + 1] = end
    return offsets, values[:end]
