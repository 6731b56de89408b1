"""Who may hold a set of words, and that chance is fair, repeatable, and blind to the order of the sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows
from tidegate.errors import ConfigError
from tidegate.route.anycast import eligible_matchers, random_anycast

MATCHERS = 6
WORDS = 12
owner_rows = st.lists(
    st.lists(st.integers(0, MATCHERS - 1), max_size=3), min_size=WORDS, max_size=WORDS
)  # one is regular, more are versions of a hot word, none leads nowhere
word_sets = st.lists(st.lists(st.integers(0, WORDS - 1), max_size=5), max_size=20)


def eligible(words: list[int], owners: list[list[int]]) -> list[int]:
    return sorted({owners[word][0] for word in words if len(owners[word]) == 1})


@given(sets=word_sets, owners=owner_rows)
def test_eligible_are_the_owners_of_regular_words(sets: list[list[int]], owners: list[list[int]]) -> None:
    found = eligible_matchers(from_rows(sets), from_rows(owners), MATCHERS)
    assert [found.row(i).tolist() for i in range(len(sets))] == [eligible(words, owners) for words in sets]


@given(sets=word_sets, owners=owner_rows, seed=st.integers(0, 2**40))
def test_chance_chooses_among_the_eligible_whatever_the_order(
    sets: list[list[int]], owners: list[list[int]], seed: int
) -> None:
    homes = random_anycast(from_rows(sets), from_rows(owners), MATCHERS, seed).tolist()
    for words, home in zip(sets, homes, strict=True):
        assert home in (eligible(words, owners) or [-1])
    assert random_anycast(from_rows(sets[::-1]), from_rows(owners), MATCHERS, seed).tolist() == homes[::-1]


def pairs_of_words(n: int) -> tuple[Csr, Csr]:
    """Sets of an even and an odd word; matchers 0 and 1 own the even words, 2 and 3 the odd ones."""
    sets = np.stack([np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2)], axis=1).astype(np.int32)
    owners = [[2 * (word % 2) + word // 2 % 2] for word in range(2 * n)]
    return from_rows(sets.tolist()), from_rows(owners)


def test_every_eligible_matcher_has_the_same_chance() -> None:
    n = 20_000
    homes = random_anycast(*pairs_of_words(n), 4, seed=3)
    # Five standard deviations of a fair draw.
    assert np.abs(np.bincount(homes, minlength=4) - n / 4).max() < 5 * np.sqrt(n * 3 / 16)


def test_another_seed_is_another_draw() -> None:
    n = 20_000
    one, other = (random_anycast(*pairs_of_words(n), 4, seed) for seed in (3, 4))
    assert abs(np.count_nonzero(one == other) - n / 2) < 5 * np.sqrt(n / 4)


def test_a_word_without_owners_and_an_owner_that_is_no_matcher_are_refused() -> None:
    with pytest.raises(ConfigError, match="words from 0 to 2, of 2: give the owners of every word"):
        eligible_matchers(from_rows([[0, 2]]), from_rows([[0], [1]]), 2)
    with pytest.raises(ConfigError, match="words from -1 to 1"):
        eligible_matchers(from_rows([[-1, 1]]), from_rows([[0], [1]]), 2)
    with pytest.raises(ConfigError, match="matchers from 0 to 7, of 4: learn who owns words"):
        random_anycast(from_rows([[0]]), from_rows([[0], [7]]), 4, seed=0)
