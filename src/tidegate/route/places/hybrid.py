"""Hybrid partitioning (PS²Stream, Algorithm 1): regions by place, and by text where posts and conjunctions differ."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tidegate.route.places.evening import Plan, evened
from tidegate.route.places.grid_t import GridT
from tidegate.route.places.kd_t_tree import COLUMNS, ROWS, KdTTree, Leaf, Region, Split
from tidegate.route.places.merging import merged, numbers_of_parts
from tidegate.route.places.nodes import Division, Halving, Node, divided, halved, root, similarity
from tidegate.route.places.sampled import Sampled, Settings

_PROMISING = 3  # plans that are evened out, besides the first


def hybrid(sampled: Sampled, matchers: int, settings: Settings) -> GridT:
    """Return the plan of `hybrid_tree` for routers."""
    return hybrid_tree(sampled, matchers, settings).grid()


def hybrid_tree(sampled: Sampled, matchers: int, settings: Settings) -> KdTTree:
    """Divide the workload so that its total load is low and its highest load at most sigma times its lowest.

    Two plans are made: one from regions that are uniform in the similarity of posts and conjunctions, and one in which
    similarity decides nothing and load everything. The cheaper one is taken. Deterministic.
    """
    starts = [uniform_regions(sampled, settings), Division([root(sampled)])]
    plans = [_balanced(sampled, start, matchers, settings) for start in starts]
    return _tree(sampled, matchers, min(plans, key=lambda plan: plan.price))


def _balanced(sampled: Sampled, start: Division, matchers: int, settings: Settings) -> Plan:
    """Divide nodes until they make balanced loads, or there are theta of them (lines 13 to 28).

    Return the cheapest of the plans met, evened out: to be balanced by more load for everyone is no gain.
    """
    nodes, halvings = list(start.nodes), list(start.halvings)
    if len(nodes) < matchers:
        divisions = _at_least_total(sampled, nodes, matchers)
        nodes = [node for division in divisions for node in division.nodes]
        halvings += [halving for division in divisions for halving in division.halvings]
    plans = [Plan(nodes, halvings, merged(nodes, matchers, sampled.price))]
    while not plans[-1].merged.is_balanced(settings.sigma) and len(nodes) < settings.theta:
        divisible = _largest_divided(sampled, nodes)
        if divisible is None:
            break
        place, division = divisible
        nodes = [*nodes[:place], *division.nodes, *nodes[place + 1 :]]
        halvings = [*halvings, *division.halvings]
        plans.append(Plan(nodes, halvings, merged(nodes, matchers, sampled.price)))
    promising = [plans[0], *sorted(plans, key=lambda plan: plan.price)[:_PROMISING]]
    return min((evened(sampled, plan, settings.theta) for plan in promising), key=lambda plan: plan.price)


def uniform_regions(sampled: Sampled, settings: Settings) -> Division:
    """Divide the space into regions alike in how similar posts and conjunctions are (lines 1 to 12).

    Those that stay below delta may only be divided by text from here on: N_t. The others are N_s.
    """
    undecided = [root(sampled)]
    done: list[Node] = []
    halvings: list[Halving] = []
    while undecided:
        node = undecided.pop()
        likeness = similarity(sampled, node)
        if likeness >= settings.delta:
            done.append(node)
            continue
        best, alpha = None, np.inf
        if len(node.posts) + len(node.stored) >= settings.population and len(undecided) + len(done) < settings.theta:
            for axis in (COLUMNS, ROWS):
                halving = halved(sampled, node, axis)
                if halving is not None:
                    lowest = min(similarity(sampled, half) for half in halving.nodes)
                    if lowest < alpha:
                        best, alpha = halving, lowest
        if best is None or abs(alpha - likeness) <= settings.epsilon:
            done.append(replace(node, by_text=True))
        else:
            undecided += best.nodes
            halvings += best.halvings
    return Division(done, halvings)


def _at_least_total(sampled: Sampled, nodes: Sequence[Node], parts: int) -> list[Division]:
    """Divide the nodes into `parts` in all, at the least total load (lines 13 to 16)."""
    most = parts - len(nodes) + 1
    ways = [[divided(sampled, node, k) for k in range(1, most + 1)] for node in nodes]
    costs = np.full((len(nodes), parts), np.inf)
    for i, divisions in enumerate(ways):
        for k, division in enumerate(divisions):
            if len(division.nodes) == k + 1:
                costs[i, k] = division.load
    return [ways[i][k - 1] for i, k in enumerate(numbers_of_parts(costs, parts))]


def _largest_divided(sampled: Sampled, nodes: Sequence[Node]) -> tuple[int, Division] | None:
    """Divide the node of the largest load that can be divided in two; return its place and the division."""
    for place in np.argsort([-node.load for node in nodes], kind="stable").tolist():
        division = divided(sampled, nodes[place], 2)
        if len(division.nodes) == 2:
            return place, division
    return None


def _tree(sampled: Sampled, matchers: int, plan: Plan) -> KdTTree:
    line_of = {region: (axis, line) for region, axis, line in plan.halvings}
    nodes_in: dict[Region, list[tuple[Node, int]]] = {}
    for node, matcher in zip(plan.nodes, plan.merged.matcher_of.tolist(), strict=True):
        nodes_in.setdefault(node.region, []).append((node, matcher))

    def below(region: Region) -> Split | Leaf:
        if region in line_of:
            axis, line = line_of[region]
            lower, upper = region.halves(axis, line)
            return Split(axis, line, below(lower), below(upper))
        owners = [matcher for _, matcher in nodes_in[region]]
        if len(set(owners)) == 1:
            return Leaf(region, owners[0])
        # A term that the sample has not goes to one of the region's matchers like any other.
        terms = np.array(owners, np.int16)[np.arange(sampled.n_terms) % len(owners)]
        for node, matcher in nodes_in[region]:
            terms[node.terms] = matcher
        return Leaf(region, terms)

    whole = Region(0, 0, sampled.lattice.columns, sampled.lattice.rows)
    return KdTTree(sampled.lattice, matchers, sampled.n_terms, below(whole))
