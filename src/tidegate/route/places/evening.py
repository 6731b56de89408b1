"""Evening out a plan: cutting from what the most loaded matcher has as much as the least loaded one lacks.

Dividing whole nodes further balances loads as well, but each further node makes more conjunctions and posts go to
several matchers. Here a node is cut once, where it balances two matchers.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tidegate.csr import Int32
from tidegate.route.places.kd_t_tree import COLUMNS, ROWS
from tidegate.route.places.load import Floats
from tidegate.route.places.merging import Merged
from tidegate.route.places.nodes import Division, Halving, Node, halved, joined, shared_out
from tidegate.route.places.sampled import Sampled

_LEAST_GAIN = 1e-3
_SHARPNESS = 16
_MOST_TEXT_PARTS = 16


class Plan(NamedTuple):
    """Nodes, the halvings they come from, and their matchers."""

    nodes: Sequence[Node]
    halvings: Sequence[Halving]
    merged: Merged

    @property
    def price(self) -> float:
        """What is paid for, the mean load, and what is waited for, the highest loads."""
        return _price(self.merged.loads)


class _Move(NamedTuple):
    """A node is replaced by what stays, if anything, and what moves."""

    place: int
    stays: Node | None
    moves: Node
    halvings: Sequence[Halving]


def evened(sampled: Sampled, plan: Plan, theta: int) -> Plan:
    """Return a plan of at most theta nodes that is cheaper, or the same one where no cut makes it so."""
    while len(plan.nodes) < theta:
        better = _after_best_move(sampled, plan)
        if better is None or better.price >= (1.0 - _LEAST_GAIN) * plan.price:
            break
        plan = better
    return plan


def _price(loads: Floats) -> float:
    """Return the mean load and a soft maximum, which falls with each of several highest loads that is lowered."""
    highest = float(loads.max())
    return (
        float(loads.mean() + highest * np.mean((loads / highest) ** _SHARPNESS) ** (1 / _SHARPNESS)) if highest else 0.0
    )


def _after_best_move(sampled: Sampled, plan: Plan) -> Plan | None:
    loads = plan.merged.loads
    most, least = int(np.argmax(loads)), int(np.argmin(loads))
    owned = [np.flatnonzero(plan.merged.matcher_of == matcher).tolist() for matcher in (most, least)]
    of_least = [plan.nodes[place] for place in owned[1]]
    best: tuple[_Move, Floats] | None = None
    for move in _moves(sampled, plan, owned[0], (loads[most] - loads[least]) / 2):
        others = [plan.nodes[place] for place in owned[0] if place != move.place]
        after = loads.copy()
        after[most] = _load(sampled, others if move.stays is None else [*others, move.stays])
        after[least] = _load(sampled, [*of_least, move.moves])
        if best is None or _price(after) < _price(best[1]):
            best = move, after
    return None if best is None else _moved(plan, best[0], most, least, best[1])


def _moves(sampled: Sampled, plan: Plan, places: Sequence[int], load: float) -> Iterator[_Move]:
    """Yield ways to take about so much load from some of the nodes."""
    for place in places:
        node = plan.nodes[place]
        if node.load <= load:
            yield _Move(place, None, node, ())
        share = min(0.5, load / node.load) if node.load else 0.0
        if share == 0.0:
            continue
        for division in () if node.by_text else _cuts(sampled, node, share):
            for moves, stays in (division.nodes, division.nodes[::-1]):
                yield _Move(place, stays, moves, division.halvings)
        parts = shared_out(sampled, node, min(_MOST_TEXT_PARTS, max(2, round(1 / share)))).nodes
        for part in parts if len(parts) > 1 else ():
            yield _Move(place, joined(sampled, [other for other in parts if other is not part]), part, ())


def _cuts(sampled: Sampled, node: Node, share: float) -> Iterator[Division]:
    """Yield halvings with about this share of the load on one side.

    Where pairs of posts and conjunctions make the load, a half of both has but a quarter of it: smaller shares, too.
    """
    for axis in (COLUMNS, ROWS):
        for part in (share, share / 4.0, share * share):
            for lower_share in (part, 1.0 - part):
                division = halved(sampled, node, axis, lower_share)
                if division is not None:
                    yield division


def _load(sampled: Sampled, nodes: Sequence[Node]) -> float:
    has_post, has_stored = np.zeros(len(sampled.cells), np.bool_), np.zeros(len(sampled.filed), np.bool_)
    for node in nodes:
        has_post[node.posts] = True
        has_stored[node.stored] = True
    checks = sum(node.checks for node in nodes)
    return float(sampled.price.load(np.count_nonzero(has_post), np.count_nonzero(has_stored), checks))


def _moved(plan: Plan, move: _Move, most: int, least: int, loads: Floats) -> Plan:
    staying = [] if move.stays is None else [move.stays]
    nodes = [*plan.nodes[: move.place], *plan.nodes[move.place + 1 :], *staying, move.moves]
    kept = np.delete(plan.merged.matcher_of, move.place)
    matcher_of: Int32 = np.concatenate([kept, np.array([most] * len(staying) + [least], np.int32)])
    return Plan(nodes, [*plan.halvings, *move.halvings], Merged(matcher_of, loads))
