"""What term order and term distribution do to the indexes: Figures 4 to 7."""

from collections.abc import Callable
from typing import Final, get_args

import numpy as np

from tidegate.bench.index.measure import require_same
from tidegate.bench.index.sizes import Sizes
from tidegate.bench.index.trial import LABELS
from tidegate.bench.report import Report, Row
from tidegate.csr import Csr
from tidegate.index.contract import Index
from tidegate.index.counting import Counting
from tidegate.index.ordered_trie import OrderedTrie, PatriciaTrie
from tidegate.index.ranked_key import RankedKey
from tidegate.index.sets import TermSets, distinct_sets
from tidegate.index.term_order import TermOrder, order_positions
from tidegate.workload.lengths import web_queries
from tidegate.workload.subscriptions import items, term_sets
from tidegate.workload.terms import Floats, inverse, real, uniform

# Percent more than with the frequency order (§4.3.2); "36.1 % more than reverse" is 26.5 % less in reverse.
_PAPER_ROT_NODES: Final[dict[TermOrder, float]] = {"reverse": 23.9, "random": 12.1, "arrival": 1.6}
_PAPER_ROT_VISITS: Final[dict[TermOrder, float]] = {"reverse": 100 * (1 / 1.361 - 1)}
_SUBSCRIBED_TERMS: Final = 471_324
_LAWS: Final[dict[str, Callable[[int], Floats]]] = {"real": real, "uniform": uniform, "inverse": inverse}
_PAPER_VISITS: Final = {
    "CIL": {"real": 300_000, "uniform": 1_400, "inverse": 8},
    "ROT and POT": {"real": 400, "uniform": 26, "inverse": 1},
}


def report_orders(report: Report, sizes: Sizes, seed: int) -> None:
    """Add Figures 4 and 5: nodes and visits of both tries in the four term orders."""
    law = real(sizes.vocabulary)
    raw = term_sets(sizes.subscriptions, law, web_queries(), seed)
    sets, _ = distinct_sets(raw, sizes.vocabulary)
    posts = items(sizes.items, law, seed + 1)
    nodes: dict[tuple[type[OrderedTrie], TermOrder], int] = {}
    visits: dict[tuple[type[OrderedTrie], TermOrder], float] = {}
    expected = RankedKey.build(sets).match(posts).sets
    for order in get_args(TermOrder):
        positions = order_positions(order, raw, sizes.vocabulary, seed)
        for trie_class in (OrderedTrie, PatriciaTrie):
            trie = trie_class.build(sets, positions)
            found = trie.match(posts)
            nodes[trie_class, order] = trie.nodes
            visits[trie_class, order] = found.visited / posts.rows
            require_same(f"{trie.name} in {order} order", found.sets, "ranked-key", expected)
    for title, rows, paper in (
        ("Figure 4: nodes", _order_rows(nodes, _PAPER_ROT_NODES), "less than 1 %"),
        ("Figure 5: visited nodes", _order_rows(visits, _PAPER_ROT_VISITS), "at most 8 %"),
    ):
        most = max(abs(row["POT, % more"]) for row in rows)
        report.section(
            f"{title} by term order, {sizes.subscriptions:,} subscriptions",
            rows,
            note=f"POT differs by up to {most:.1f} %; in the paper by {paper}",
        )


def _order_rows(
    counts: dict[tuple[type[OrderedTrie], TermOrder], int] | dict[tuple[type[OrderedTrie], TermOrder], float],
    paper: dict[TermOrder, float],
) -> list[Row]:
    def more(trie_class: type[OrderedTrie], order: TermOrder) -> float:
        return 100 * (counts[trie_class, order] / counts[trie_class, "frequency"] - 1)

    return [
        {
            "order": order,
            "ROT": counts[OrderedTrie, order],
            "ROT, % more": more(OrderedTrie, order),
            "paper, % more": paper.get(order),
            "POT": counts[PatriciaTrie, order],
            "POT, % more": more(PatriciaTrie, order),
        }
        for order in get_args(TermOrder)
    ]


def report_distributions(report: Report, sizes: Sizes, seed: int) -> None:
    """Add Figures 6 and 7: nodes and visits where subscribers ask for what items say, for anything, for the rare."""
    vocabulary = min(_SUBSCRIBED_TERMS, sizes.vocabulary)
    posts = items(sizes.items, real(vocabulary), seed + 1)
    node_rows: list[Row] = []
    visit_rows: list[Row] = []
    for law_name, law in _LAWS.items():
        raw = term_sets(sizes.subscriptions, law(vocabulary), web_queries(), seed)
        sets, _ = distinct_sets(raw, vocabulary)
        indexes: list[Index] = [kind.build(sets) for kind in (RankedKey, OrderedTrie, PatriciaTrie)]
        found = {index.name: index.match(posts) for index in indexes}
        some = posts.slice(0, min(sizes.counting_items, posts.rows))
        found["counting"] = Counting.build(sets).match(some)
        for name, matches in found.items():
            expected = found["ranked-key"].sets.slice(0, some.rows if name == "counting" else posts.rows)
            require_same(name, matches.sets, "ranked-key", expected)
        node_rows.append({"distribution": law_name} | _nodes(sets, indexes))
        visit_rows.append(
            {"distribution": law_name}
            | {LABELS[name]: found[name].visited / found[name].sets.rows for name in LABELS if name in found}
            | {"CIL, equal ones too": _postings_read(raw, posts)}
            | {f"paper {name}": visited[law_name] for name, visited in _PAPER_VISITS.items()}
        )
    title = f"{sizes.subscriptions:,} subscriptions over {vocabulary:,} terms"
    report.section(
        f"Figure 6: nodes by distribution, {title}",
        node_rows,
        note="the paper: no influence on CIL and RIL, a larger ROT for uniform, less so for POT",
    )
    report.section(
        f"Figure 7: visited nodes by distribution, {title}",
        visit_rows,
        note="the paper's are 10 M subscriptions, and its lists hold equal ones too",
    )


def _nodes(sets: TermSets, indexes: list[Index]) -> Row:
    """A node of the lists is a term of a set, wherever it is stored."""
    tries = {LABELS[index.name]: index.nodes for index in indexes if isinstance(index, OrderedTrie)}
    return {LABELS[name]: len(sets.terms.values) for name in ("counting", "ranked-key")} | tries


def _postings_read(raw: Csr, posts: Csr) -> float:
    """What an item reads in counting lists that hold every subscription, equal ones too."""
    postings = np.bincount(raw.values, minlength=int(posts.values.max()) + 1)
    return float(postings[posts.values].sum() / posts.rows)
