"""Samples: every term that routing knows a word by, numbered by how common it is."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Csr, from_rows, taken
from tidegate.errors import ConfigError
from tidegate.index.strings import strings
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import post_terms
from tidegate.workload.posts import posts as generated_posts

ANALYZER = Analyzer()
WORDS = ["tide", "storm", "ebb", "äther", "zoo", "kiel"]
rows = st.lists(st.lists(st.integers(0, len(WORDS) - 1), max_size=6), max_size=12)


def spelled(sample: Sample) -> list[set[str]]:
    """The words of every post."""
    words = sample.words.to_pylist()
    return [{words[number] for number in sample.posts.row(post)} for post in range(len(sample))]


def listed(rows: Csr) -> list[list[int]]:
    return [rows.row(i).tolist() for i in range(rows.rows)]


def test_all_terms_of_texts_authors_languages_and_places_are_words() -> None:
    table = pa.table(
        {
            "text": ["Storms over #Kiel, storms @esa", None, "the tide"],
            "author": ["@NASA", "esa", None],
            "lang": ["en-GB", None, "en"],
            "lat": [54.3, None, 200.0],
            "lon": [10.1, None, 0.0],
        }
    )
    assert spelled(Sample.of(table, ANALYZER)) == [
        {"storm", "#kiel", "@esa", "from:nasa", "lang:en", "has:place"},
        {"from:esa"},
        {"tide", "lang:en"},
    ]


def test_terms_are_those_of_plain_python_however_many_blocks_there_are() -> None:
    texts = generated_posts(20_000, seed=3)["text"]  # more than one block of bytes
    sample = Sample.of(pa.table({"text": texts}), ANALYZER)
    assert sum(map(len, texts.to_pylist())) > 1 << 20
    for row in range(0, 20_000, 97):
        words = sample.words.take(pa.array(sample.posts.row(row))).to_pylist()
        assert set(words) == post_terms(ANALYZER, texts[row].as_py())


def test_columns_may_have_other_names() -> None:
    table = pa.table({"body": ["storm"], "by": ["nasa"]})
    assert spelled(Sample.of(table, ANALYZER, text="body", author="by")) == [{"storm", "from:nasa"}]
    with pytest.raises(ConfigError, match="posts have no column 'text'"):
        Sample.of(table, ANALYZER)


@given(rows)
def test_words_are_numbered_by_frequency_and_then_by_their_bytes(posts: list[list[int]]) -> None:
    sample = Sample.from_rows(from_rows(posts), strings(WORDS))
    counts = Counter(WORDS[word] for post in posts for word in set(post))
    expected = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    assert sample.words.to_pylist() == expected
    assert sample.frequency.tolist() == [counts[word] for word in expected]
    assert spelled(sample) == [{WORDS[word] for word in post} for post in posts]
    assert all(row == sorted(set(row)) for row in listed(sample.posts))


@given(rows)
def test_a_word_knows_its_posts(posts: list[list[int]]) -> None:
    sample = Sample.from_rows(from_rows(posts), strings(WORDS))
    assert listed(sample.posts_of) == [
        [post for post, words in enumerate(listed(sample.posts)) if word in words] for word in range(len(sample.words))
    ]


@given(rows, st.data())
def test_some_posts_are_a_sample_as_if_there_were_no_others(posts: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(posts))), unique=True)) if posts else []
    part = Sample.from_rows(from_rows(posts), strings(WORDS)).only(chosen)
    alone = Sample.from_rows(from_rows([posts[row] for row in chosen]), strings(WORDS))
    assert part.words == alone.words
    assert part.frequency.tolist() == alone.frequency.tolist()
    assert listed(part.posts) == listed(alone.posts)


@given(rows, st.integers(0, 12), st.integers(0, 12))
def test_joined_parts_are_the_whole(posts: list[list[int]], cut: int, other_cut: int) -> None:
    whole = Sample.from_rows(from_rows(posts), strings(WORDS))
    low, high = sorted((cut, other_cut))
    joined = Sample.joined(
        whole.only(range(len(posts))[part]) for part in (slice(low), slice(low, high), slice(high, None))
    )
    assert joined.words == whole.words
    assert joined.frequency.tolist() == whole.frequency.tolist()
    assert listed(joined.posts) == listed(whole.posts)


def test_a_sample_without_posts_has_no_words() -> None:
    sample = Sample.of(pa.table({"text": pa.array([], pa.string())}), ANALYZER)
    assert (len(sample), len(sample.words), len(sample.frequency), sample.posts_of.rows) == (0, 0, 0, 0)


def test_rows_are_taken_in_the_order_asked_for_and_as_often() -> None:
    assert listed(taken(from_rows([[1, 2], [], [3]]), np.array([2, 0, 1, 2]))) == [[3], [1, 2], [], [3]]
