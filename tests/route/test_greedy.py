"""The greedy map, word by word as plain Python finds it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.index.strings import strings
from tidegate.route.greedy import greedy_owners
from tidegate.route.measures import measured
from tidegate.route.sample import Sample

WORDS = strings([f"w{number:03}" for number in range(200)])
rows = st.lists(st.lists(st.integers(0, 11), unique=True, max_size=8), max_size=25)


def plain_greedy(sample: Sample, matchers: int) -> list[int]:
    """Algorithm 1 with r and b computed anew for each choice; b is std / avg, and r·b is compared by its square."""
    posts = [set(sample.posts.row(post).tolist()) for post in range(len(sample))]
    visits: list[set[int]] = [set() for _ in posts]
    owners = []
    for word in range(len(sample.words)):
        with_word = [post for post, words in enumerate(posts) if word in words]
        costs = []
        for matcher in range(matchers):
            loads = [sum(i in visited for visited in visits) for i in range(matchers)]
            loads[matcher] += sum(matcher not in visits[post] for post in with_word)
            costs.append(matchers * sum(load**2 for load in loads) - sum(loads) ** 2)
        owners.append(costs.index(min(costs)))
        for post in with_word:
            visits[post].add(owners[-1])
    return owners


@given(rows, st.integers(1, 6))
def test_the_map_is_that_of_the_paper_and_of_equal_matchers_the_first_is_taken(
    posts: list[list[int]], matchers: int
) -> None:
    sample = Sample.from_rows(from_rows(posts), WORDS)
    assert greedy_owners(sample, matchers).tolist() == plain_greedy(sample, matchers)


@pytest.mark.parametrize("matchers", [7, 64, 300])
def test_many_words_and_matchers_make_no_difference(matchers: int) -> None:
    generator = np.random.default_rng(matchers)
    # The plain one takes time in words times matchers.
    rare = np.minimum(generator.zipf(1.3, (min(150, 9_000 // matchers), 7)) - 1, 199)
    sample = Sample.from_rows(from_rows([sorted(set(row)) for row in rare.tolist()]), WORDS)
    assert greedy_owners(sample, matchers).tolist() == plain_greedy(sample, matchers)


def test_loads_are_even_where_words_allow_it() -> None:
    generator = np.random.default_rng(2)
    sample = Sample.from_rows(from_rows([generator.permutation(200)[:6].tolist() for _ in range(2_000)]), WORDS)
    assert measured(sample.posts, greedy_owners(sample, 16), 16).imbalance < 1.02


def test_the_highest_matcher_is_owned_by_as_well() -> None:
    sample = Sample.from_rows(from_rows([[word] for word in range(200)] * 2), WORDS)
    assert sorted(greedy_owners(sample, 200).tolist()) == list(range(200))


def test_a_sample_too_large_for_whole_numbers_is_refused_with_the_limit() -> None:
    posts = Csr(np.zeros(28_000_001, np.int64), np.empty(0, np.int32))
    with pytest.raises(ConfigError, match="28000000 posts for 4096 matchers: at most 2739"):
        greedy_owners(Sample(posts, strings([]), np.empty(0, np.int64)), 4096)
