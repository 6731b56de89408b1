import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.workload import words
from tidegate.workload.microblog import BLOCK, ERA, SCHEMA, Microblog, flare_of

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
BLOG = Microblog(seed=5, start=START, per_second=1000.0)


def posts(first: int, stop: int, blog: Microblog = BLOG) -> pa.Table:
    return pa.Table.from_batches(blog.posts(first, stop), schema=SCHEMA)


def share(topic: int, first: int, stop: int) -> float:
    """The share of posts with one of the topic's two commonest words, near enough to the topic's own."""
    commonest = list(words.TOPICS.values())[topic].split()[:2]
    return float(pc.mean(pc.match_substring_regex(posts(first, stop)["text"], rf"\b({'|'.join(commonest)})\b")).as_py())


WHOLE = posts(0, 4 * BLOCK)


@given(st.lists(st.integers(0, 4 * BLOCK), max_size=4))
@settings(max_examples=20)
def test_any_pieces_of_a_range_give_the_same_posts(cuts: list[int]) -> None:
    pieces = [posts(*ends) for ends in pairwise([0, *sorted(cuts), 4 * BLOCK])]
    assert pa.concat_tables(pieces).equals(WHOLE)


def test_a_seed_determines_the_posts() -> None:
    assert posts(100, 200).equals(posts(100, 200))
    assert not posts(100, 200)["text"].equals(posts(100, 200, BLOG._replace(seed=6))["text"])


def test_blocks_differ_from_each_other() -> None:
    assert not WHOLE["text"][:BLOCK].equals(WHOLE["text"][BLOCK : 2 * BLOCK])


def test_posts_are_numbered_and_spaced_by_the_rate() -> None:
    late = posts(10**12 + 7, 10**12 + 10)
    assert late["id"].to_pylist() == ["1000000000007", "1000000000008", "1000000000009"]
    assert WHOLE["ts"][2500].as_py() == START + timedelta(seconds=2.5)
    assert posts(3, 4, BLOG._replace(per_second=0.5))["ts"][0].as_py() == START + timedelta(seconds=6)


def test_no_column_but_language_and_place_is_ever_missing() -> None:
    assert {name for name in SCHEMA.names if WHOLE[name].null_count} == {"lang", "lat", "lon"}
    assert WHOLE.schema == SCHEMA


def test_posts_have_tags_mentions_and_places() -> None:
    texts = WHOLE["text"].to_pylist()
    for pattern in (r"#\w+", r"@\w+", r"\bLondon\b"):
        assert 0.01 < sum(bool(re.search(pattern, text)) for text in texts) / len(texts) < 0.8
    assert 0.2 < WHOLE["lat"].null_count / len(texts) < 0.8


def test_a_few_accounts_write_much_and_many_little() -> None:
    counts = np.sort(pc.value_counts(WHOLE["author"]).field("counts").to_numpy())[::-1]
    assert counts[0] > 20 * np.median(counts)
    assert len(counts) > 1000


@pytest.mark.parametrize("era", [0, 3])
def test_a_topic_flares_up_and_dies_down_once_in_an_era(era: int) -> None:
    flare = flare_of(BLOG.seed, era)
    middle = flare.first + flare.length // 2
    at_peak = share(flare.topic, middle - BLOCK, middle + BLOCK)
    rising = share(flare.topic, flare.first + flare.length // 4 - BLOCK, flare.first + flare.length // 4 + BLOCK)
    usual = share(flare.topic, (era + 1) * ERA - BLOCK, (era + 1) * ERA)
    assert at_peak > 1.3 * rising > 1.3 * 1.3 * usual


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_flare_stays_within_its_era(seed: int, era: int) -> None:
    flare = flare_of(seed, era)
    edges = np.array([era * ERA, (era + 1) * ERA - 1, flare.first + flare.length // 2])
    assert flare.shares(edges) == pytest.approx([0.0, 0.0, flare.peak], abs=1e-6)
