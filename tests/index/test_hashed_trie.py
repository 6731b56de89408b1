"""The trie of S³-TM: alphabetical order, tables of children, and what a look-up is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Int32, from_rows
from tidegate.index.brute_force import BruteForce
from tidegate.index.hashed_trie import HashedTrie, alphabetical_positions
from tidegate.index.ordered_trie import OrderedTrie
from tidegate.index.sets import distinct_sets

N_TERMS = 40
FEW = 8  # children a node keeps without a table
Path = tuple[int, ...]

# Squaring makes low ids frequent, so that some nodes get many children and items contain whole paths.
terms = st.floats(0, 1, exclude_max=True).map(lambda x: int(x * x * N_TERMS))
term_sets = st.lists(st.sets(terms, min_size=1, max_size=5), max_size=150)
items = st.lists(st.sets(terms, max_size=15), max_size=6)
orders = st.permutations(range(N_TERMS)).map(lambda order: np.array(order, np.int32))


def children_by_path(sets: list[set[int]], positions: list[int]) -> dict[Path, set[int]]:
    """A trie as a dictionary: the terms that follow each beginning."""
    trie: dict[Path, set[int]] = {(): set()}
    for one in sets:
        path = tuple(sorted(one, key=positions.__getitem__))
        for depth, term in enumerate(path):
            trie[path[:depth]].add(term)
            trie.setdefault(path[: depth + 1], set())
    return trie


def counted(trie: dict[Path, set[int]], item: set[int], positions: list[int]) -> tuple[int, int]:
    """Look-ups, and nodes reached, of a traversal in plain Python."""
    look_ups, reached = 0, 0
    waiting: list[Path] = [()]
    while waiting:
        path = waiting.pop()
        following = {term for term in item if not path or positions[term] > positions[path[-1]]}
        look_ups += len(following) if len(trie[path]) > FEW else len(trie[path])
        found = trie[path] & item
        reached += len(found)
        waiting += [(*path, term) for term in found]
    return look_ups, reached


@given(sets=term_sets, posts=items, positions=orders)
def test_look_ups_and_nodes_are_those_of_a_traversal_in_any_order(
    sets: list[set[int]], posts: list[set[int]], positions: Int32
) -> None:
    distinct, _ = distinct_sets(from_rows(list(sets)), N_TERMS)
    index = HashedTrie.build(distinct, positions)
    matches = index.match(from_rows(list(posts)))
    exact = BruteForce.build(distinct).match(from_rows(list(posts)))
    found = [sorted(matches.sets.row(i)) for i in range(len(posts))]
    assert found == [sorted(exact.sets.row(i)) for i in range(len(posts))]
    trie = children_by_path(sets, positions.tolist())
    counts = [counted(trie, post, positions.tolist()) for post in posts]
    assert (matches.visited, matches.candidates) == (sum(c[0] for c in counts), sum(c[1] for c in counts))
    assert index.nodes == len(trie) - 1 == OrderedTrie.build(distinct, positions).nodes


@pytest.mark.parametrize(("fanned_out", "look_ups"), [(FEW, FEW), (FEW + 1, 3), (5_000, 3)])
def test_a_large_root_is_asked_for_the_words_of_the_post_and_a_small_one_is_read(
    fanned_out: int, look_ups: int
) -> None:
    sets, _ = distinct_sets(from_rows([[i] for i in range(fanned_out)]), 10_000)
    matches = HashedTrie.build(sets).match(from_rows([[0, 3, 9_999]]))
    assert (matches.visited, matches.candidates) == (look_ups, 2)


def test_only_words_that_come_later_in_the_alphabet_are_looked_up_below_a_node() -> None:
    words = pa.array(["tide", "flood", "storm", "alarm", *(f"zone{i}" for i in range(20))])
    sets, _ = distinct_sets(from_rows([[2, 4 + i] for i in range(20)]), len(words))  # storm, and one zone each
    index = HashedTrie.build(sets, alphabetical_positions(words))
    # The root has one child, which is read; below `storm` it is asked for `tide` and `zone0`, not for the two before.
    matches = index.match(from_rows([[0, 1, 2, 3, 4]]))
    assert (matches.visited, matches.candidates) == (1 + 2, 2)


def test_alphabetical_order_is_that_of_the_bytes() -> None:
    words = ["émeute", "zone", "#tag", "z", "Zone", "сто*"]
    positions = alphabetical_positions(pa.array(words, pa.large_string()))
    by_position = sorted(range(len(words)), key=lambda term: int(positions[term]))
    assert [words[term] for term in by_position] == sorted(words, key=str.encode)


def test_the_alphabet_takes_as_many_nodes_as_it_shares_beginnings() -> None:
    words = pa.array(["storm", *(f"coast{i}" for i in range(10))])
    sets, _ = distinct_sets(from_rows([[0, 1 + i] for i in range(10)]), len(words))
    assert HashedTrie.build(sets).nodes == 11  # the frequent `storm` first, shared by all
    assert HashedTrie.build(sets, alphabetical_positions(words)).nodes == 20  # `coast…` first, shared by none
