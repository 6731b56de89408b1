"""All word maps by name: owners that exist, the same each time, and what each is for."""

import numpy as np
import pyarrow as pa
import pytest

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.strings import strings
from tidegate.route.maps import LEARNERS, learn
from tidegate.route.places.partitionings import PARTITIONINGS
from tidegate.route.plan import BY_PLACE, LEARNED
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts

ANALYZER = Analyzer()


def text_of(n: int, seed: int) -> Sample:
    return Sample.of(pa.table({"text": posts(n, seed)["text"]}), ANALYZER)


def test_every_learned_kind_of_plan_has_a_map() -> None:
    assert {*LEARNED} - {"headtail", *BY_PLACE} == {*LEARNERS} - {"hash"}
    assert {*BY_PLACE} == {*PARTITIONINGS} - {"hypergraph"}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("matchers", [1, 5])
def test_every_word_has_an_owner_and_learning_again_finds_the_same(name: str, matchers: int) -> None:
    sample = text_of(300, 1)
    words = learn(name, sample, matchers)
    assert words.owners.rows == len(sample.words)
    assert np.diff(words.owners.offsets).min() >= 1
    assert 0 <= words.owners.values.min() <= words.owners.values.max() < matchers
    again = learn(name, sample, matchers)
    assert np.array_equal(again.owners.values, words.owners.values)
    assert words.measured(sample).loads.sum() >= len(sample) - np.count_nonzero(np.diff(sample.posts.offsets) == 0)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_sample_of_nothing_teaches_nothing_and_does_no_harm(name: str) -> None:
    words = learn(name, Sample.from_rows(from_rows([[]]), strings([])), 4)
    assert words.owners.rows == 0
    assert len(words.owners_of(["storm"]).values) == 1


def test_salb_balances_better_than_hash_out_of_sample() -> None:
    sample, other = text_of(8_000, 1), text_of(4_000, 2)
    told = {name: learn(name, sample, 16).measured(other) for name in ("hash", "salb")}
    assert told["salb"].imbalance < told["hash"].imbalance
    assert told["salb"].throughput > told["hash"].throughput


def test_versions_of_hot_words_relieve_the_busiest_matcher() -> None:
    sample, other = text_of(8_000, 1), text_of(4_000, 2)
    whole, parts = (learn("salb", sample, 64, splitting=splitting).measured(other) for splitting in (False, True))
    assert parts.imbalance < whole.imbalance


def test_a_map_that_does_not_exist_is_named_beside_those_that_do() -> None:
    with pytest.raises(ConfigError, match="no word map is called 'magic': choose one of hash, gc"):
        learn("magic", text_of(10, 1), 4)
