"""Ordered tries (ROT and POT of the EDBT paper): sets that begin alike share the path of their beginning.

Nodes are numbered breadth first, so the children of a node are neighbours and sorted; the root's children
have a table of their own. The paper hashes children; a sorted run is smaller and no slower.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.contract import Cursor, Index
from tidegate.index.sets import TermSets, distinct_sets, ranked_items
from tidegate.kernels import njit

_SCAN_PER_TERM = 4  # children that are read in the time of one binary search


class TrieArrays(NamedTuple):
    """What the kernel reads. A term's *code* falls along every path: the first term of the order has the largest."""

    codes: Int32
    """Code of every term rank."""
    roots: Int32
    """Node of depth one for every code, or -1."""
    terms: Int32
    """Code of every node (the first one of its label, where labels are compacted)."""
    children: Int32
    """Node `i` has the children `children[i]` to `children[i + 1] - 1`."""
    numbers: Int32
    """Number of the set that ends in the node, or -1."""
    label_starts: Int32
    """Compacted labels only: where the codes after the first begin in `labels`. Else empty."""
    labels: Int32


class CodedSets(NamedTuple):
    """Sets in the order in which a trie grows."""

    codes: Int32
    """Code of every term rank."""
    sets: TermSets
    """Of codes."""
    numbers: Int32
    """By row: the set's number among those that were coded."""


def coded_sets(sets: TermSets, positions: Int32 | None = None) -> CodedSets:
    """Code the sets for a trie that takes their terms in the order of `positions` (default: that of their ids)."""
    n = sets.n_terms
    codes = np.arange(n - 1, -1, -1, dtype=np.int32) if positions is None else (n - 1 - positions).astype(np.int32)
    coded, rows = distinct_sets(Csr(sets.terms.offsets, codes[sets.terms.values]), n)
    numbers = np.empty(sets.rows, np.int32)
    numbers[rows] = np.arange(sets.rows, dtype=np.int32)
    return CodedSets(codes, coded, numbers)


class OrderedTrie(Index):
    """Regular ordered trie: a node per distinct beginning of a set. Visits just the nodes whose terms the item has."""

    name: ClassVar[str] = "ordered-trie"

    @classmethod
    def build(cls, sets: TermSets, positions: Int32 | None = None) -> Self:
        """Build the trie with the terms of a set taken in the order of `positions` (default: most frequent first)."""
        return cls(cls._arrays(coded_sets(sets, positions))._asdict(), sets.n_terms)

    @classmethod
    def _arrays(cls, coded: CodedSets) -> TrieArrays:
        roots, terms, children, ends = grow(coded.sets.terms, coded.sets.n_terms, coded.numbers)
        return TrieArrays(coded.codes, roots, terms, children, ends, np.empty(0, np.int32), np.empty(0, np.int32))

    @property
    def nodes(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.arrays["terms"])

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        trie = TrieArrays(**self.arrays)
        coded = ranked_items(Csr(items.offsets, trie.codes[items.values]), self.n_terms)
        return int(_match(trie, coded, first, out))


class PatriciaTrie(OrderedTrie):
    """Ordered trie with paths of single children compacted into one node with a label of several terms."""

    name: ClassVar[str] = "patricia-trie"

    @classmethod
    def _arrays(cls, coded: CodedSets) -> TrieArrays:
        return TrieArrays(coded.codes, *_compact(*grow(coded.sets.terms, coded.sets.n_terms, coded.numbers)))


@njit(cache=True, nogil=True)
def _shared_prefix(terms: Csr, row: int) -> int:
    """How many first terms a row shares with the row before it."""
    if row == 0:
        return 0
    i, j = terms.offsets[row - 1], terms.offsets[row]
    stop = min(j, terms.offsets[row + 1] - j + i)
    shared = 0
    while i + shared < stop and terms.values[i + shared] == terms.values[j + shared]:
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def grow(terms: Csr, n_terms: int, set_numbers: Int32) -> Any:
    """Return roots, terms, children and numbers of the trie of sorted rows: each new prefix is a new node."""
    n_sets = len(terms.offsets) - 1
    longest = np.int64(0)
    for row in range(n_sets):
        longest = max(longest, terms.offsets[row + 1] - terms.offsets[row])
    level_ends = np.zeros(longest + 2, np.int64)
    for row in range(n_sets):
        for depth in range(_shared_prefix(terms, row), terms.offsets[row + 1] - terms.offsets[row]):
            level_ends[depth + 1] += 1
    for depth in range(longest + 1):
        level_ends[depth + 1] += level_ends[depth]
    n_nodes = level_ends[longest]
    level_ends[longest + 1] = n_nodes

    next_node = level_ends.copy()  # by depth: where the next node of that level goes
    path = np.zeros(longest + 1, np.int64)
    roots = np.full(n_terms, -1, np.int32)
    node_terms = np.empty(n_nodes, np.int32)
    children = np.empty(n_nodes + 1, np.int32)
    numbers = np.full(n_nodes, -1, np.int32)
    for row in range(n_sets):
        start = terms.offsets[row]
        length = terms.offsets[row + 1] - start
        for depth in range(_shared_prefix(terms, row), length):
            node = next_node[depth]
            next_node[depth] += 1
            path[depth] = node
            node_terms[node] = terms.values[start + depth]
            children[node] = next_node[depth + 1]
            if depth == 0:
                roots[terms.values[start]] = node
        numbers[path[length - 1]] = set_numbers[row]
    children[n_nodes] = n_nodes
    return roots, node_terms, children, numbers


@njit(cache=True, nogil=True)
def _compact(roots: Int32, terms: Int32, children: Int32, numbers: Int32) -> Any:
    """Merge every node that ends no set and has one child with that child; return the arrays of the rest."""
    n_nodes = len(terms)
    kept = 0
    for node in range(n_nodes):
        kept += numbers[node] >= 0 or children[node + 1] - children[node] != 1
    new_roots = np.full(len(roots), -1, np.int32)
    new_terms = np.empty(kept, np.int32)
    new_children = np.empty(kept + 1, np.int32)
    new_numbers = np.empty(kept, np.int32)
    label_starts = np.empty(kept + 1, np.int32)
    labels = np.empty(n_nodes - kept, np.int32)
    bottoms = np.empty(kept, np.int32)  # the node of the old trie at the end of the label
    made = 0
    labelled = 0

    n_roots = np.int64(0)
    while n_roots < n_nodes and roots[terms[n_roots]] == n_roots:
        n_roots += 1
    parent = -1
    first, last = np.int64(0), n_roots
    while True:
        for top in range(first, last):
            new_terms[made] = terms[top]
            label_starts[made] = labelled
            node = top
            while numbers[node] < 0 and children[node + 1] - children[node] == 1:
                node = children[node]
                labels[labelled] = terms[node]
                labelled += 1
            bottoms[made] = node
            new_numbers[made] = numbers[node]
            if parent < 0:
                new_roots[terms[top]] = made
            made += 1
        parent += 1
        if parent == kept:
            break
        new_children[parent] = made
        first, last = np.int64(children[bottoms[parent]]), np.int64(children[bottoms[parent] + 1])
    new_children[kept] = kept
    label_starts[kept] = labelled
    return new_roots, new_terms, new_children, new_numbers, label_starts, labels


@njit(cache=True, nogil=True)
def _enter(trie: TrieArrays, node: int, below: int, places: Int32, stack: Int64, top: int) -> int:
    """Put `node` on the stack if the item holds the rest of its label; return the new top of the stack."""
    if len(trie.label_starts) > 0:
        for i in range(trie.label_starts[node], trie.label_starts[node + 1]):
            if places[trie.labels[i]] == 0:
                return top
            below = places[trie.labels[i]] - 1
    stack[2 * top], stack[2 * top + 1] = node, below
    return top + 1


@njit(cache=True, nogil=True)
def _match(trie: TrieArrays, items: Csr, first: int, out: Cursor) -> int:
    terms, children = trie.terms, trie.children
    n_items = len(items.offsets) - 1
    longest = np.int64(0)
    for item in range(first, n_items):
        longest = max(longest, items.offsets[item + 1] - items.offsets[item])
    places = np.zeros(len(trie.roots), np.int32)  # 1 + position in the item, by code
    # Depth first: at most one waiting node per term of the item and level, and no more than there are.
    stack = np.empty(2 * (min(int(longest * longest), len(terms)) + 1), np.int64)
    for item in range(first, n_items):
        codes = items.values[items.offsets[item] : items.offsets[item + 1]]
        written = out.offsets[item]
        visited = 0
        top = 0
        for i in range(len(codes)):
            places[codes[i]] = i + 1
        for i in range(len(codes)):
            if trie.roots[codes[i]] >= 0:
                visited += 1
                top = _enter(trie, trie.roots[codes[i]], i, places, stack, top)
        fits = True
        while top > 0:
            top -= 1
            node, below = stack[2 * top], stack[2 * top + 1]
            if trie.numbers[node] >= 0:
                if written == len(out.numbers):
                    fits = False
                    break
                out.numbers[written] = trie.numbers[node]
                written += 1
            low, high = np.int64(children[node]), np.int64(children[node + 1])
            if high - low <= _SCAN_PER_TERM * below:
                for child in range(low, high):
                    if places[terms[child]] > 0:
                        visited += 1
                        top = _enter(trie, child, places[terms[child]] - 1, places, stack, top)
            else:
                for i in range(below):
                    low += np.searchsorted(terms[low:high], codes[i])
                    if low < high and terms[low] == codes[i]:
                        visited += 1
                        top = _enter(trie, low, i, places, stack, top)
        for i in range(len(codes)):
            places[codes[i]] = 0
        if not fits:
            return item
        out.offsets[item + 1] = written
        out.counters[0] += visited
        out.counters[1] += visited
    return n_items
