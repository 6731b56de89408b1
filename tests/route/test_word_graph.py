"""The graph of words that occur together, and what METIS makes of it."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.strings import strings
from tidegate.route.sample import Sample
from tidegate.route.word_graph import WordGraph

WORDS = strings([f"w{number}" for number in range(9)])
rows = st.lists(st.lists(st.integers(0, 8), unique=True, max_size=5), max_size=12)


def plain(sample: Sample) -> dict[tuple[int, int], int]:
    """The edges, counted post by post."""
    posts = [sample.posts.row(post).tolist() for post in range(len(sample))]
    return Counter(pair for post in posts for pair in combinations(sorted(post), 2))


def edges(graph: WordGraph) -> dict[tuple[int, int], int]:
    source = np.repeat(np.arange(graph.neighbours.rows), np.diff(graph.neighbours.offsets))
    return {
        (int(a), int(b)): int(count)
        for a, b, count in zip(source, graph.neighbours.values, graph.together, strict=True)
    }


@given(rows)
def test_edges_are_counted_as_plain_python_counts_them(posts: list[list[int]]) -> None:
    sample = Sample.from_rows(from_rows(posts), WORDS)
    graph = WordGraph.of(sample)
    both_ways = {**plain(sample), **{(b, a): n for (a, b), n in plain(sample).items()}}
    assert edges(graph) == both_ways
    assert graph.company.tolist() == [
        sum(count for (a, _), count in both_ways.items() if a == word) for word in range(len(sample.words))
    ]


@given(rows, st.integers(1, 4))
def test_a_graph_of_counted_parts_is_the_graph_of_the_whole(posts: list[list[int]], cut: int) -> None:
    sample = Sample.from_rows(from_rows(posts), WORDS)
    pairs = list(plain(sample).items())
    first, second, counts = (
        np.array([values[i] for values in ((a, b, n) for (a, b), n in pairs)], np.int64) for i in range(3)
    )
    # As Spark may deliver them: some pairs in two parts.
    firsts, seconds = (np.concatenate([column, column[:cut]]) for column in (first, second))
    parts = np.concatenate([counts, np.zeros(min(cut, len(counts)), np.int64)])
    assert edges(WordGraph.of_pairs(firsts, seconds, parts, sample.frequency)) == edges(WordGraph.of(sample))


def two_worlds() -> Sample:
    """Words 0 to 3 always together, and 4 to 7; nothing else."""
    return Sample.from_rows(from_rows([[0, 1, 2, 3], [4, 5, 6, 7]] * 10), WORDS)


@pytest.mark.parametrize("name", ["unweighted", "by_company", "by_frequency", "by_normal_frequency"])
def test_words_that_are_always_together_stay_so(name: str) -> None:
    sample = two_worlds()
    owners = getattr(WordGraph.of(sample), name)(2)
    by_word = dict(zip(sample.words.to_pylist(), owners.tolist(), strict=True))
    assert len({by_word[f"w{n}"] for n in range(4)}) == len({by_word[f"w{n}"] for n in range(4, 8)}) == 1
    assert by_word["w0"] != by_word["w4"]
    assert getattr(WordGraph.of(sample), name)(1).tolist() == [0] * 8


def test_the_normal_load_of_words_that_share_all_posts_adds_up_to_these_posts() -> None:
    graph = WordGraph.of(two_worlds())
    load = graph.frequency**2 / (graph.frequency + graph.company)
    assert load[:4].sum() == pytest.approx(10)
