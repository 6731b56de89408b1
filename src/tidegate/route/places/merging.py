"""Sharing out nodes over matchers (MergeNodesIntoPartitions), and how many of them a node should become."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, offsets_of
from tidegate.kernels import njit
from tidegate.route.places.load import Floats, Price
from tidegate.route.places.nodes import Node


class Merged(NamedTuple):
    """Nodes with their matchers."""

    matcher_of: Int32
    """By node."""
    loads: Floats
    """By matcher; posts and conjunctions that several of its nodes have count once."""

    def is_balanced(self, sigma: float) -> bool:
        """Whether the highest load is at most `sigma` times the lowest, which nothing is if the lowest is 0."""
        return bool(self.loads.min() > 0 and self.loads.max() <= sigma * self.loads.min())


def merged(nodes: Sequence[Node], matchers: int, price: Price) -> Merged:
    """Give nodes, by falling load, each to the matcher whose load grows least, if the balance of loads allows it.

    If that would make the highest load over the lowest grow, or leaves a matcher without load, the node goes to the
    matcher that has the lowest load. Of equals the first is taken.
    """
    order = np.argsort([-node.load for node in nodes], kind="stable")
    posts, stored = (_joined([getattr(nodes[i], name) for i in order]) for name in ("posts", "stored"))
    matcher_of = np.empty(len(nodes), np.int32)
    checks = np.array([nodes[i].checks for i in order], np.float64)
    n_posts, n_stored = (int(rows.values.max(initial=0)) + 1 for rows in (posts, stored))
    matcher_of[order], loads = _merged(posts, stored, checks, n_posts, n_stored, matchers, price)
    return Merged(matcher_of, loads)


def numbers_of_parts(costs: NDArray[np.float64], parts: int) -> list[int]:
    """Return how many parts each node should become, `parts` in all, at the least total (ComputeNumberPartitions).

    `costs[i, k - 1]` is the load of node `i` in `k` parts, infinite if it cannot be divided so. Where there is no
    such division at all, the most parts that there is one for.

    >>> numbers_of_parts(np.array([[9.0, 5.0, 4.0], [8.0, 7.5, 6.9]]), 4)
    [3, 1]
    """
    n = len(costs)
    least = np.full((n + 1, parts + 1), np.inf)
    chosen = np.zeros((n + 1, parts + 1), np.int64)
    least[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(i, parts + 1):
            ways = [least[i - 1, j - k] + costs[i - 1, k - 1] for k in range(1, min(j - i + 1, costs.shape[1]) + 1)]
            chosen[i, j] = 1 + int(np.argmin(ways))
            least[i, j] = min(ways)
    left = max(j for j in range(n, parts + 1) if np.isfinite(least[n, j]))
    numbers = []
    for i in range(n, 0, -1):
        numbers.append(int(chosen[i, left]))
        left -= numbers[-1]
    return numbers[::-1]


def _joined(rows: Sequence[NDArray[np.int64]]) -> Csr:
    return Csr(offsets_of([len(row) for row in rows]), np.concatenate(rows).astype(np.int32))


@njit(cache=True, nogil=True)
def _merged(posts: Csr, stored: Csr, checks: Floats, n_posts: int, n_stored: int, matchers: int, price: Price) -> Any:
    nodes = len(posts.offsets) - 1
    matcher_of = np.empty(nodes, np.int32)
    has_post = np.zeros((matchers, n_posts), np.bool_)
    has_stored = np.zeros((matchers, n_stored), np.bool_)
    n_of = np.zeros((matchers, 2), np.int64)
    checked = np.zeros(matchers, np.float64)
    loads = np.zeros(matchers, np.float64)
    after = np.empty(matchers, np.float64)
    new = np.empty((matchers, 2), np.int64)
    for node in range(nodes):
        its_posts = posts.values[posts.offsets[node] : posts.offsets[node + 1]]
        its_stored = stored.values[stored.offsets[node] : stored.offsets[node + 1]]
        for matcher in range(matchers):
            new[matcher] = n_of[matcher]
            for post in its_posts:
                new[matcher, 0] += not has_post[matcher, post]
            for conjunction in its_stored:
                new[matcher, 1] += not has_stored[matcher, conjunction]
            n, m = new[matcher]
            after[matcher] = price.per_pair * n * m + price.per_post * n + price.per_stored * m
            after[matcher] += price.per_check * (checked[matcher] + checks[node])
        best = np.argmin(after - loads)
        before = loads[best]
        highest, lowest = loads.max(), loads.min()
        loads[best] = after[best]
        if loads.min() == 0.0 or loads.max() * lowest > highest * loads.min():
            loads[best] = before
            best = np.argmin(loads)
            loads[best] = after[best]
        matcher_of[node] = best
        n_of[best] = new[best]
        checked[best] += checks[node]
        has_post[best][its_posts] = True
        has_stored[best][its_stored] = True
    return matcher_of, loads
