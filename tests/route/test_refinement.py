"""Refined word maps: each move as plain Python makes it, and less spread than the greedy map leaves."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import Int32, from_rows, offsets_of
from tidegate.index.strings import strings
from tidegate.route.greedy import greedy_owners
from tidegate.route.measures import measured
from tidegate.route.refinement import _sweep, _visits, refined_owners
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts

WORDS = strings([f"w{number}" for number in range(9)])
rows = st.lists(st.lists(st.integers(0, 8), unique=True, min_size=1, max_size=5), min_size=1, max_size=15)


def total(sample: Sample, owner_of: Int32, matchers: int, power: int) -> int:
    return sum(int(load) ** power for load in measured(sample.posts, owner_of, matchers).loads)


def plain_sweep(sample: Sample, owner_of: Int32, matchers: int, power: int) -> Int32:
    """Try every move by counting all loads anew: to the matchers a word's posts visit, and to the least loaded."""
    owners = owner_of.copy()
    for word in range(len(owners)):
        home = int(owners[word])
        before = measured(sample.posts, owners, matchers).loads
        limit = max(1.5 * before.sum() / matchers, before[home])
        posts = [sample.posts.row(post) for post in sample.posts_of.row(word)]
        candidates = {int(owners[other]) for post in posts for other in post if other != word} | {int(before.argmin())}
        totals = {home: total(sample, owners, matchers, power)}
        for matcher in candidates - {home}:
            owners[word] = matcher
            if measured(sample.posts, owners, matchers).loads[matcher] <= limit:
                totals[matcher] = total(sample, owners, matchers, power)
        owners[word] = min(totals, key=lambda m: (totals[m], m != home, (m - word) % matchers))
    return owners


@given(rows, st.integers(2, 4), st.sampled_from([2, 4]), st.integers(0, 1000))
def test_a_sweep_moves_words_as_plain_python_does(posts: list[list[int]], matchers: int, power: int, seed: int) -> None:
    sample = Sample.from_rows(from_rows(posts), WORDS)
    owner_of = np.random.default_rng(seed).integers(0, matchers, len(sample.words)).astype(np.int32)
    expected = plain_sweep(sample, owner_of, matchers, power)
    before, loads = owner_of.copy(), measured(sample.posts, owner_of, matchers).loads
    visits = _visits(sample.posts, owner_of, offsets_of(sample.frequency))
    moved = _sweep(visits, owner_of, loads, power)
    assert np.array_equal(owner_of, expected)
    assert moved == np.count_nonzero(owner_of != before)
    assert np.array_equal(loads, measured(sample.posts, owner_of, matchers).loads), "loads are kept up to date"
    for post in range(len(sample)):
        start = sample.posts.offsets[post] + post
        stop = start + len(sample.posts.row(post))
        entries = [e for e in visits.entries[start:stop].tolist() if e]
        counts = {e >> 32: e & 0xFFFFFFFF for e in entries}
        expected_counts = dict(zip(*np.unique(owner_of[sample.posts.row(post)], return_counts=True), strict=True))
        assert counts == expected_counts, "so are the visits"
        assert visits.entries[stop] == 0


def test_words_that_occur_together_end_up_together() -> None:
    generator = np.random.default_rng(1)
    rows = [6 * generator.integers(0, 40) + generator.permutation(6)[:3] for _ in range(3_000)]
    sample = Sample.from_rows(from_rows([row.tolist() for row in rows]), strings([f"w{n:03}" for n in range(240)]))
    greedy, refined = (measured(sample.posts, owners(sample, 8), 8) for owners in (greedy_owners, refined_owners))
    assert greedy.spread > 1.8
    assert refined.spread < 1.4
    assert refined.throughput > 1.2 * greedy.throughput


def test_out_of_sample_refined_maps_spread_less_and_are_no_less_even() -> None:
    def of(n: int, seed: int) -> Sample:
        return Sample.of(pa.table({"text": posts(n, seed)["text"]}), Analyzer())

    sample, other = of(6_000, 1), of(3_000, 2)
    numbers = {word: number for number, word in enumerate(sample.words.to_pylist())}
    known = np.array([numbers.get(word, -1) for word in other.words.to_pylist()])
    told = {}
    for owners in (greedy_owners, refined_owners):
        owner_of = owners(sample, 16)
        told[owners] = measured(other.posts, np.where(known >= 0, owner_of[known], -1).astype(np.int32), 16)
    assert told[refined_owners].spread < told[greedy_owners].spread
    assert told[refined_owners].throughput > told[greedy_owners].throughput


def test_one_matcher_or_no_posts_leave_nothing_to_refine() -> None:
    assert refined_owners(Sample.from_rows(from_rows([[0, 1]]), WORDS), 1).tolist() == [0, 0]
    assert len(refined_owners(Sample.from_rows(from_rows([[]]), WORDS), 4)) == 0
    assert len(refined_owners(Sample.from_rows(from_rows([[0, 1]]), WORDS), 4)) == 2
