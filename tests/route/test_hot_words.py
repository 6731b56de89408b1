"""Hot words: how many versions, which one a post draws, and samples split by them."""

from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.strings import strings
from tidegate.route.hot_words import drawn, post_hashes, split, version_counts, word_hashes
from tidegate.route.sample import Sample

WORDS = [f"w{number}" for number in range(6)]
rows = st.lists(st.lists(st.integers(0, 5), unique=True), min_size=1, max_size=15)
MASK = 2**64 - 1


def plain_hash(data: bytes) -> int:
    """FNV-1a, by its definition."""
    code = 0xCBF29CE484222325
    for byte in data:
        code = (code ^ byte) * 0x100000001B3 & MASK
    return code


def plain_draw(post: int, word: int, versions: int) -> int:
    """The finaliser of splitmix64, by its definition."""
    mixed = post ^ word
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
    return (mixed ^ mixed >> 31) % versions


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=8), st.integers(1, 4096))
def test_no_version_has_more_than_half_of_a_matchers_share(frequency: list[int], matchers: int) -> None:
    limit = Fraction(sum(frequency), 2 * matchers)
    versions = version_counts(np.array(frequency), matchers).tolist()
    assert versions == [min(ceil(f / limit), matchers) for f in frequency]
    for f, count in zip(frequency, versions, strict=True):
        assert Fraction(f, count) <= limit or count == matchers
        assert count == 1 or Fraction(f, count - 1) > limit, "not one version too many"


def test_a_word_just_at_the_limit_is_not_hot() -> None:
    assert version_counts(np.array([5, 5, 10]), 2).tolist() == [1, 1, 2]
    assert version_counts(np.array([6, 4, 10]), 2).tolist() == [2, 1, 2]


def test_more_matchers_make_more_words_hot() -> None:
    frequency = np.array([40, 30, 20, 10])
    counts = [version_counts(frequency, matchers).tolist() for matchers in (1, 2, 4, 16)]
    assert counts == [[1, 1, 1, 1], [2, 2, 1, 1], [4, 3, 2, 1], [13, 10, 7, 4]]


@given(st.lists(st.text(max_size=6), max_size=6))
def test_hashes_are_of_the_utf8_bytes_whatever_the_arrow_type(words: list[str]) -> None:
    expected = [plain_hash(word.encode()) for word in words]
    for kind in (pa.string(), pa.large_string()):
        assert word_hashes(pa.array(words, kind)).tolist() == expected
        assert post_hashes(pa.chunked_array([words[:2], words[2:]], kind)).tolist() == expected
    assert word_hashes(pa.array(["x", *words]).slice(1)).tolist() == expected


def test_hashes_and_draws_are_the_same_for_ever() -> None:
    # Published values of FNV-1a; routes of a replay depend on them, so they must not change.
    assert word_hashes(pa.array(["", "a", "foobar"])).tolist() == [
        0xCBF29CE484222325,
        0xAF63DC4C8601EC8C,
        0x85944171F73967E8,
    ]
    post, word = post_hashes(pa.array(["t3_abc"]))[0], word_hashes(pa.array(["storm"]))[0]
    assert [drawn(post, word, versions) for versions in (1, 2, 3, 7, 100)] == [0, 0, 0, 5, 20]


def test_a_number_counts_as_its_digits() -> None:
    for kind in (pa.int64(), pa.int32(), pa.uint8()):
        assert post_hashes(pa.array([7, 42], kind)).tolist() == word_hashes(pa.array(["7", "42"])).tolist()


@given(st.integers(0, MASK), st.integers(0, MASK), st.integers(1, 5000))
def test_a_draw_is_that_of_plain_python(post: int, word: int, versions: int) -> None:
    assert drawn(np.uint64(post), np.uint64(word), versions) == plain_draw(post, word, versions)


@pytest.mark.parametrize("versions", [2, 3, 8, 60])
def test_draws_are_even_and_those_of_two_words_have_nothing_to_do_with_each_other(versions: int) -> None:
    posts = post_hashes(pa.array(np.arange(60_000)))
    first, second = (
        np.array([drawn(post, word, versions) for post in posts]) for word in word_hashes(pa.array(["storm", "storms"]))
    )
    expected = len(posts) / versions
    # Five standard deviations of a fair draw.
    assert np.abs(np.bincount(first, minlength=versions) - expected).max() < 5 * np.sqrt(expected)
    agreeing = np.count_nonzero(first == second)
    assert abs(agreeing - expected) < 5 * np.sqrt(expected)


@given(rows, st.integers(1, 8))
def test_every_post_has_one_version_of_each_of_its_words(posts: list[list[int]], matchers: int) -> None:
    sample = Sample.from_rows(from_rows(posts), strings(WORDS))
    parts = split(sample, matchers)
    assert parts.versions.tolist() == version_counts(sample.frequency, matchers).tolist()
    assert (parts.version < parts.versions[parts.base]).all()
    words = word_hashes(sample.words)
    for post in range(len(sample)):
        versions = parts.sample.posts.row(post)
        assert sorted(parts.base[versions].tolist()) == sample.posts.row(post).tolist()
        for number in versions.tolist():
            word = parts.base[number]
            draw = plain_draw(plain_hash(str(post).encode()), int(words[word]), int(parts.versions[word]))
            assert parts.version[number] == draw


@given(rows, st.integers(1, 8))
def test_a_split_sample_is_a_sample_whose_versions_add_up(posts: list[list[int]], matchers: int) -> None:
    sample = Sample.from_rows(from_rows(posts), strings(WORDS))
    parts = split(sample, matchers)
    again = Sample.from_rows(parts.sample.posts, parts.sample.words)
    assert again.words == parts.sample.words, "words are in order of falling frequency, and none is there twice"
    sums = np.bincount(parts.base, parts.sample.frequency, len(sample.words))
    assert sums.tolist() == sample.frequency.tolist()


def test_without_hot_words_a_sample_stays_as_it_is() -> None:
    sample = Sample.from_rows(from_rows([[0], [1], [2], [3]]), strings(WORDS))
    parts = split(sample, 2)
    assert parts.sample.words == sample.words
    assert parts.base.tolist() == [0, 1, 2, 3]
    assert not parts.version.any()


def test_nothing_is_split_into_nothing() -> None:
    parts = split(Sample.from_rows(from_rows([[], []]), strings([])), 4)
    assert (len(parts.sample), len(parts.sample.words), len(parts.base)) == (2, 0, 0)
