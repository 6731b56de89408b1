"""How many parts nodes become, and which matcher each goes to."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.route.places.kd_t_tree import Region
from tidegate.route.places.load import Price
from tidegate.route.places.merging import Merged, merged, numbers_of_parts
from tidegate.route.places.nodes import Node

PRICE = Price(1.0, 2.0, 3.0)
numbers = st.lists(st.integers(0, 12), unique=True, max_size=8).map(sorted)


def node(posts: list[int], stored: list[int]) -> Node:
    load = float(PRICE.load(len(posts), len(stored)))
    return Node(Region(0, 0, 1, 1), np.array(posts, np.int64), np.array(stored, np.int64), load)


def plain_merge(nodes: list[Node], matchers: int) -> list[int]:
    """The rule of §IV-B with sets."""
    parts: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in range(matchers)]
    owners = [-1] * len(nodes)

    def load(part: tuple[set[int], set[int]]) -> float:
        return float(PRICE.load(len(part[0]), len(part[1])))

    def factor(loads: list[float]) -> float:
        return max(loads) / min(loads) if min(loads) else np.inf

    for i in sorted(range(len(nodes)), key=lambda i: -nodes[i].load):
        loads = [load(part) for part in parts]
        grown = [
            (posts | set(nodes[i].posts.tolist()), stored | set(nodes[i].stored.tolist())) for posts, stored in parts
        ]
        best = min(range(matchers), key=lambda k: load(grown[k]) - loads[k])
        after = [load(grown[k]) if k == best else loads[k] for k in range(matchers)]
        if min(after) == 0 or factor(after) > factor(loads):
            best = loads.index(min(loads))
        parts[best] = grown[best]
        owners[i] = best
    return owners


@given(st.lists(st.builds(node, numbers, numbers), min_size=1, max_size=9), st.integers(1, 4))
def test_nodes_go_where_load_grows_least_unless_balance_suffers(nodes: list[Node], matchers: int) -> None:
    assert merged(nodes, matchers, PRICE).matcher_of.tolist() == plain_merge(nodes, matchers)


def test_nodes_that_share_posts_and_conjunctions_share_a_matcher_where_balance_allows() -> None:
    shared = list(range(10))
    found = merged([node(shared, shared), node([20, 21], list(range(20, 70))), node(shared, [3])], 2, PRICE)
    assert found.matcher_of.tolist() == [1, 0, 1]
    assert found.loads.tolist() == [PRICE.load(2, 50), PRICE.load(10, 10)]


@pytest.mark.parametrize(("loads", "expected"), [([1.2, 1.0], True), ([1.3, 1.0], False), ([1.0, 0.0], False)])
def test_a_matcher_without_load_is_no_balance(loads: list[float], expected: bool) -> None:
    assert Merged(np.zeros(0, np.int32), np.array(loads)).is_balanced(1.2) is expected


costs = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 5.0, 9.0, np.inf]), min_size=6, max_size=6), min_size=n, max_size=n
    )
)


@given(costs, st.integers(0, 2))
def test_the_numbers_of_parts_are_those_of_the_least_total(rows: list[list[float]], more: int) -> None:
    table = np.array(rows)
    table[:, 0] = np.minimum(table[:, 0], 9.0)  # one part is always possible
    parts = len(rows) + more
    found = numbers_of_parts(table, parts)
    ways = {
        sum(way): min(
            sum(table[i, k - 1] for i, k in enumerate(other))
            for other in product(range(1, more + 2), repeat=len(rows))
            if sum(other) == sum(way)
        )
        for way in product(range(1, more + 2), repeat=len(rows))
        if sum(way) <= parts
    }
    most = max(total for total, load in ways.items() if np.isfinite(load))
    assert sum(found) == most
    assert sum(table[i, k - 1] for i, k in enumerate(found)) == ways[most]
