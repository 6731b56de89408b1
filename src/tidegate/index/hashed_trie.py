"""The matcher trie of S³-TM (§4.1): words in alphabetical order, the children of large nodes in hash tables.

Kept for what it costs: its look-ups against the number of unique words are the paper's Figure 3, on which the
placement of subscriptions is fitted.
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Csr, Int32, Int64
from tidegate.index.contract import Cursor, Index
from tidegate.index.ordered_trie import coded_sets, grow
from tidegate.index.sets import TermSets, ranked_items
from tidegate.kernels import njit

_FEW = 8  # children that are kept without a table
_GOLDEN = 0x9E3779B1  # 2^32 over the golden ratio: neighbours among the codes end up far apart


class HashedTrieArrays(NamedTuple):
    """What the kernel reads. Node 0 is the root; a term's *code* falls along every path, as in the ordered tries."""

    codes: Int32
    """Code of every term rank."""
    terms: Int32
    """Code of every node; -1 for the root."""
    children: Int32
    """Node `i` has the children `children[i]` to `children[i + 1] - 1`."""
    numbers: Int32
    """Number of the set that ends in the node, or -1."""
    tables: Int64
    """Node `i` has the slots `tables[i]` to `tables[i + 1] - 1`: a power of two, or none where children are few."""
    slots: Int32
    """Open addressing: a child, or 0."""


class HashedTrie(Index):
    """Regular trie with hashed children. `visited` counts look-ups, `candidates` the nodes they led to.

    A large node is asked for every word of the item that may follow it. A small one is read: each of its children is
    looked up among the words of the item.
    """

    name: ClassVar[str] = "hashed-trie"

    @classmethod
    def build(cls, sets: TermSets, positions: Int32 | None = None) -> Self:
        """Build the trie with the terms of a set taken in the order of `positions` (default: that of their ids)."""
        coded = coded_sets(sets, positions)
        _, terms, children, numbers = grow(coded.sets.terms, sets.n_terms, coded.numbers)
        nothing, first = np.array([-1], np.int32), np.array([1], np.int32)
        terms, numbers = np.concatenate([nothing, terms]), np.concatenate([nothing, numbers])
        children = np.concatenate([first, children + 1])  # all nodes move up by one: the root comes before them
        return cls(
            HashedTrieArrays(coded.codes, terms, children, numbers, *_tables(terms, children))._asdict(), sets.n_terms
        )

    @property
    def nodes(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.arrays["terms"]) - 1

    def _match_from(self, items: Csr, first: int, out: Cursor) -> int:
        trie = HashedTrieArrays(**self.arrays)
        coded = ranked_items(Csr(items.offsets, trie.codes[items.values]), self.n_terms)
        return int(_match(trie, coded, first, out))


def alphabetical_positions(terms: pa.Array) -> Int32:
    """Return for every term, by id, its position in the order of their UTF-8 bytes.

    >>> alphabetical_positions(pa.array(["storm", "flood", "tide"]))
    array([1, 0, 2], dtype=int32)
    """
    positions = np.empty(len(terms), np.int32)
    positions[pc.sort_indices(terms).to_numpy()] = np.arange(len(terms), dtype=np.int32)
    return positions


@njit(cache=True, nogil=True)
def _slot(code: int, size: int) -> Any:
    """Where the search for a code begins in a table of `size` slots."""
    return ((np.int64(code) * _GOLDEN) >> 16) & (size - 1)


@njit(cache=True, nogil=True)
def _tables(terms: Int32, children: Int32) -> Any:
    """Return where the table of every node begins, and the slots of all of them, at most half of them in use."""
    n_nodes = len(terms)
    tables = np.zeros(n_nodes + 1, np.int64)
    for node in range(n_nodes):
        n_children = children[node + 1] - children[node]
        size = 0
        if n_children > _FEW:
            size = 2 * _FEW
            while size < 2 * n_children:
                size *= 2
        tables[node + 1] = tables[node] + size
    slots = np.zeros(tables[n_nodes], np.int32)
    for node in range(n_nodes):
        table = slots[tables[node] : tables[node + 1]]
        if len(table) > 0:
            for child in range(children[node], children[node + 1]):
                slot = _slot(terms[child], len(table))
                while table[slot] != 0:
                    slot = (slot + 1) & (len(table) - 1)
                table[slot] = child
    return tables, slots


@njit(cache=True, nogil=True)
def _child(table: Int32, terms: Int32, code: int) -> Any:
    """Return the child with this code, or 0."""
    slot = _slot(code, len(table))
    while table[slot] != 0 and terms[table[slot]] != code:
        slot = (slot + 1) & (len(table) - 1)
    return table[slot]


@njit(cache=True, nogil=True)
def _match(trie: HashedTrieArrays, items: Csr, first: int, out: Cursor) -> int:
    terms = trie.terms
    n_items = len(items.offsets) - 1
    longest = np.int64(0)
    for item in range(first, n_items):
        longest = max(longest, items.offsets[item + 1] - items.offsets[item])
    places = np.zeros(len(trie.codes), np.int32)  # 1 + position in the item, by code
    # Depth first: at most one waiting node per term of the item and level, and no more than there are.
    stack = np.empty(2 * (min(int(longest * longest), len(terms)) + 1), np.int64)
    for item in range(first, n_items):
        codes = items.values[items.offsets[item] : items.offsets[item + 1]]
        for i in range(len(codes)):
            places[codes[i]] = i + 1
        written = out.offsets[item]
        look_ups, reached = 0, 0
        fits = True
        stack[0], stack[1] = 0, len(codes)
        top = 1
        while top > 0:
            top -= 1
            node, below = stack[2 * top], stack[2 * top + 1]  # what may follow are the item's first `below` codes
            if trie.numbers[node] >= 0:
                if written == len(out.numbers):
                    fits = False
                    break
                out.numbers[written] = trie.numbers[node]
                written += 1
            waiting = top
            table = trie.slots[trie.tables[node] : trie.tables[node + 1]]
            if len(table) > 0:
                look_ups += below
                for i in range(below):
                    child = _child(table, terms, codes[i])
                    if child != 0:
                        stack[2 * top], stack[2 * top + 1] = child, i
                        top += 1
            else:
                look_ups += trie.children[node + 1] - trie.children[node]
                for child in range(trie.children[node], trie.children[node + 1]):
                    place = places[terms[child]]
                    if place > 0:
                        stack[2 * top], stack[2 * top + 1] = child, place - 1
                        top += 1
            reached += top - waiting
        for i in range(len(codes)):
            places[codes[i]] = 0
        if not fits:
            return item
        out.offsets[item + 1] = written
        out.counters[0] += look_ups
        out.counters[1] += reached
    return n_items
