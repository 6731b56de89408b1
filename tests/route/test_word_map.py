"""Word maps: who owns a word that was learned, split or never seen; and the file they are kept in."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Int32, from_rows
from tidegate.errors import StoreError
from tidegate.index.compiled import Compiled
from tidegate.index.strings import strings
from tidegate.route.hot_words import Split, split
from tidegate.route.measures import measured
from tidegate.route.ownership import owner
from tidegate.route.sample import Sample
from tidegate.route.word_map import WordMap

MATCHERS = 16
WORDS = [f"w{number}" for number in range(6)]
rows = st.lists(st.lists(st.integers(0, 5), unique=True), min_size=1, max_size=15)


def sample_of(*posts: list[int]) -> Sample:
    return Sample.from_rows(from_rows(posts), strings(WORDS))


def drawn_owners(learned_from: Sample | Split, matchers: int = MATCHERS) -> Int32:
    """Any owners, for the words that are to have one."""
    sample = learned_from if isinstance(learned_from, Sample) else learned_from.sample
    return np.random.default_rng(5).integers(0, matchers, len(sample.words)).astype(np.int32)


def owners(words: WordMap, *terms: str) -> list[list[int]]:
    found = words.owners_of(terms)
    return [found.row(i).tolist() for i in range(found.rows)]


def test_a_learned_word_has_the_owner_that_was_learned_and_any_other_that_of_its_hash() -> None:
    words = WordMap.of(sample_of([0, 1], [1]), np.array([3, 11], np.int32), MATCHERS)
    assert owners(words, "w0", "storm", "w1", "w0") == [[11], [owner("storm", MATCHERS)], [3], [11]]
    assert words.frequency_of(["w0", "storm", "w1"]).tolist() == [1, 0, 2]
    assert words.posts == 2


@pytest.mark.parametrize("terms", [[], ["w1"], ["storm"]])
def test_terms_may_be_few_and_of_any_arrow_type(terms: list[str]) -> None:
    words = WordMap.of(sample_of([0, 1], [1]), np.array([3, 11], np.int32), MATCHERS)
    for given_terms in (terms, pa.array(terms, pa.string()), pa.chunked_array([terms], pa.large_string())):
        found = words.owners_of(given_terms)
        assert found.rows == len(terms)
        assert words.frequency_of(given_terms).tolist() == [2 if term == "w1" else 0 for term in terms]


@given(rows, st.integers(1, 8))
def test_a_hot_word_has_the_owner_of_each_of_its_versions(posts: list[list[int]], matchers: int) -> None:
    parts = split(sample_of(*posts), matchers)
    owner_of = drawn_owners(parts, matchers)
    words = WordMap.of(parts, owner_of, matchers)
    learned = {
        (int(parts.base[number]), int(parts.version[number])): int(owner_of[number]) for number in range(len(owner_of))
    }
    for word, text in enumerate(parts.whole.words.to_pylist()):
        expected = [
            learned.get((word, version), owner(f"{text}\t{version}", matchers))
            for version in range(parts.versions[word])
        ]
        assert owners(words, text) == [expected]
    assert words.frequency.tolist() == parts.whole.frequency.tolist()


@given(rows, st.integers(1, 8))
def test_a_map_measures_its_own_sample_as_the_split_one_is_measured(posts: list[list[int]], matchers: int) -> None:
    parts = split(sample_of(*posts), matchers)
    owner_of = drawn_owners(parts, matchers)
    found = WordMap.of(parts, owner_of, matchers).measured(parts.whole)
    assert found.posts == len(posts)
    assert found.loads.tolist() == measured(parts.sample.posts, owner_of, matchers).loads.tolist()


def test_words_that_nobody_subscribed_to_lead_nowhere() -> None:
    sample = sample_of([0, 1], [1], [2])
    words = WordMap.of(sample, np.array([3, 11, 7], np.int32), MATCHERS)
    assert np.flatnonzero(words.measured(sample).loads).tolist() == [3, 7, 11]
    found = words.measured(sample, np.array([False, True, False]))
    assert found.posts == 3
    assert np.flatnonzero(found.loads).tolist() == [11]


def test_an_opened_map_is_mapped_and_the_same(tmp_path: Path) -> None:
    parts = split(sample_of(*[[0, 1]] * 9, [2, 3], [4]), MATCHERS)
    words = WordMap.of(parts, drawn_owners(parts), MATCHERS)
    assert max(map(len, owners(words, *WORDS))) > 1, "some word is hot"
    words.save(tmp_path / "words.arrow")
    opened = WordMap.open(tmp_path / "words.arrow")
    assert (opened.matchers, opened.posts, opened.words) == (MATCHERS, 11, words.words)
    assert not any(array.flags.owndata or array.flags.writeable for array in (*opened.owners, opened.frequency))
    assert owners(opened, *WORDS, "storm") == owners(words, *WORDS, "storm")
    assert opened.measured(parts.whole).loads.tolist() == words.measured(parts.whole).loads.tolist()


def test_a_map_of_nothing_knows_nothing_and_can_be_kept(tmp_path: Path) -> None:
    WordMap.of(sample_of([]), np.empty(0, np.int32), MATCHERS).save(tmp_path / "x")
    assert owners(WordMap.open(tmp_path / "x"), "storm") == [[owner("storm", MATCHERS)]]


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    Compiled.build(["a"], ["storm"])[0].save(tmp_path / "x")
    with pytest.raises(StoreError, match="a segment of kind 'compiled', not 'words'"):
        WordMap.open(tmp_path / "x")
