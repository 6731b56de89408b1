"""Every index keeps the contract: exactly the sets of brute force, by whatever route, before and after a save."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError, StoreError
from tidegate.index.contract import Index, Matches
from tidegate.index.ordered_trie import OrderedTrie, PatriciaTrie
from tidegate.index.registry import INDEXES
from tidegate.index.sets import distinct_sets
from tidegate.index.term_order import order_positions

N_TERMS = 90  # more than one word of bits in the flat index's rows
# Squaring makes low ranks frequent, so that sets share beginnings and items contain them.
ranks = st.floats(0, 1, exclude_max=True).map(lambda x: int(x * x * N_TERMS))
term_sets = st.lists(st.lists(ranks, min_size=1, max_size=6), max_size=40)
items = st.lists(st.lists(st.one_of(ranks, st.integers(-2, N_TERMS + 5)), max_size=25), max_size=8)
every_index = pytest.mark.parametrize("index_class", INDEXES.values(), ids=INDEXES.keys())


def contained(sets: list[list[int]], item: list[int]) -> set[frozenset[int]]:
    return {frozenset(terms) for terms in sets if set(terms) <= set(item)}


def found(sets: Csr, matches: Matches, item: int) -> list[frozenset[int]]:
    return [frozenset(sets.row(number).tolist()) for number in matches.sets.row(item)]


def assert_exact(index: Index, sets: list[list[int]], posts: list[list[int]]) -> None:
    distinct, _ = distinct_sets(from_rows(sets), N_TERMS)
    matches = index.match(from_rows(posts))
    for i, item in enumerate(posts):
        answer = found(distinct.terms, matches, i)
        assert len(answer) == len(set(answer)), "a set is reported twice"
        assert set(answer) == contained(sets, item)


@every_index
@given(sets=term_sets, posts=items)
@settings(max_examples=60, deadline=None)
def test_an_index_finds_exactly_the_contained_sets(
    index_class: type[Index], sets: list[list[int]], posts: list[list[int]]
) -> None:
    assert_exact(index_class.build(distinct_sets(from_rows(sets), N_TERMS)[0]), sets, posts)


@every_index
def test_long_sets_are_found(index_class: type[Index]) -> None:
    rng = np.random.default_rng(36)
    sets = [rng.choice(N_TERMS, size, replace=False).tolist() for size in (3, 6, 9, 12, 24, 36) for _ in range(20)]
    posts = [rng.choice(N_TERMS, 85, replace=False).tolist() for _ in range(20)] + sets[-3:]
    assert_exact(index_class.build(distinct_sets(from_rows(sets), N_TERMS)[0]), sets, posts)


@every_index
def test_more_matches_than_the_first_buffer_holds(index_class: type[Index]) -> None:
    sets = [[a, b] for a in range(80) for b in range(a)]
    posts = [list(range(80)), [1, 2], list(range(60))]
    assert_exact(index_class.build(distinct_sets(from_rows(sets), N_TERMS)[0]), sets, posts)


@every_index
def test_an_index_of_nothing_matches_nothing(index_class: type[Index]) -> None:
    index = index_class.build(distinct_sets(from_rows([]), N_TERMS)[0])
    assert index.match(from_rows([[1, 2], []])).sets.offsets.tolist() == [0, 0, 0]


@every_index
@given(sets=term_sets, posts=items)
@settings(max_examples=10, deadline=None)
def test_a_saved_index_answers_as_before(
    index_class: type[Index], sets: list[list[int]], posts: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("segments") / "index.arrow"
    built = index_class.build(distinct_sets(from_rows(sets), N_TERMS)[0])
    built.save(path)
    opened = index_class.open(path)
    assert opened.nbytes == built.nbytes
    assert_exact(opened, sets, posts)


@every_index
def test_a_torn_or_foreign_file_is_refused_by_name(index_class: type[Index], tmp_path: Path) -> None:
    path = tmp_path / "index.arrow"
    index_class.build(distinct_sets(from_rows([[1, 2], [3]]), N_TERMS)[0]).save(path)
    whole = path.read_bytes()
    for length in (0, 7, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"index\.arrow: not a whole Arrow IPC file"):
            index_class.open(path)
    table = pa.table({"a": [1]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError, match=r"index\.arrow: an Arrow file, but not a segment of Tidegate"):
        index_class.open(path)
    with pytest.raises(StoreError, match=r"absent\.arrow: there is no such segment"):
        index_class.open(tmp_path / "absent.arrow")


def test_a_segment_of_another_index_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.arrow"
    INDEXES["flat"].build(distinct_sets(from_rows([[1, 2]]), N_TERMS)[0]).save(path)
    with pytest.raises(StoreError, match="a segment of kind 'flat', not 'counting'"):
        INDEXES["counting"].open(path)


@every_index
def test_an_empty_set_is_refused(index_class: type[Index]) -> None:
    with pytest.raises(ConfigError, match="a term set is empty"):
        index_class.build(distinct_sets(from_rows([[1], []]), N_TERMS)[0])


@pytest.mark.parametrize("index_class", [OrderedTrie, PatriciaTrie])
@pytest.mark.parametrize("order", ["frequency", "reverse", "arrival", "random"])
@given(sets=term_sets, posts=items)
@settings(max_examples=20, deadline=None)
def test_a_trie_is_exact_in_every_term_order(
    index_class: type[OrderedTrie], order: str, sets: list[list[int]], posts: list[list[int]]
) -> None:
    positions = order_positions(order, from_rows(sets), N_TERMS, seed=7)  # type: ignore[arg-type]
    assert sorted(positions.tolist()) == list(range(N_TERMS))
    assert_exact(index_class.build(distinct_sets(from_rows(sets), N_TERMS)[0], positions), sets, posts)


def test_a_changed_byte_is_refused_before_a_kernel_trusts_it(tmp_path: Path) -> None:
    path = tmp_path / "index.arrow"
    sets = from_rows([[a, b, c] for a in range(20) for b in range(a) for c in range(b)])
    INDEXES["flat"].build(distinct_sets(sets, N_TERMS)[0]).save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"index\.arrow: its bytes are not those that were written"):
        INDEXES["flat"].open(path)


def beginnings(sets: list[list[int]]) -> set[tuple[int, ...]]:
    """The nodes of an ordered trie, most frequent term first."""
    paths = {tuple(sorted(set(terms))) for terms in sets}
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


@given(sets=term_sets, posts=items)
@settings(max_examples=60)
def test_counters_tell_how_much_was_pruned(sets: list[list[int]], posts: list[list[int]]) -> None:
    distinct, _ = distinct_sets(from_rows(sets), N_TERMS)
    unique = {frozenset(terms) for terms in sets}
    held = [{term for term in post if 0 <= term < N_TERMS} for post in posts]
    rarest = [(sorted(terms, reverse=True)[:2], terms) for terms in unique]
    pairs = {tuple(pair) for pair, _ in rarest if len(pair) == 2}
    expected = {
        "brute-force": (len(unique) * len(posts),) * 2,
        "counting": (sum(len(terms & item) for terms in unique for item in held),) * 2,
        "ranked-key": (
            sum(pair[0] in item for pair, _ in rarest for item in held),
            sum(pair[0] in item and len(terms) > 1 for pair, terms in rarest for item in held),
        ),
        "ordered-trie": (sum(set(path) <= item for path in beginnings(sets) for item in held),) * 2,
        "flat": (
            sum(map(len, held)) + sum(set(pair) <= item for pair in pairs for item in held),
            sum(set(pair) <= item and len(terms) > 2 for pair, terms in rarest for item in held),
        ),
    }
    for name, counters in expected.items():
        matches = INDEXES[name].build(distinct).match(from_rows(posts))
        assert (matches.visited, matches.candidates) == counters, name


def test_the_order_of_terms_decides_which_beginnings_are_shared() -> None:
    # Ten sets that share their most frequent term, 0, and end in ten rare ones.
    sets = from_rows([[0, 50 + i] for i in range(10)])
    distinct, _ = distinct_sets(sets, N_TERMS)
    nodes = {
        order: OrderedTrie.build(distinct, order_positions(order, sets, N_TERMS)).nodes
        for order in ("frequency", "reverse", "arrival")
    }
    assert nodes == {"frequency": 11, "reverse": 20, "arrival": 11}
    assert PatriciaTrie.build(distinct, order_positions("reverse", sets, N_TERMS)).nodes == 10


@pytest.mark.parametrize("name", ["flat", "ordered-trie", "patricia-trie"])
def test_an_item_of_very_many_terms_needs_no_more_room_than_the_index_has(name: str) -> None:
    sets, _ = distinct_sets(from_rows([[0, 150_000], [7], [1, 2, 199_999]]), 200_000)
    huge = Csr(np.array([0, 200_000]), np.arange(200_000, dtype=np.int32)[::-1].copy())
    assert sorted(INDEXES[name].build(sets).match(huge).sets.values.tolist()) == [0, 1, 2]
