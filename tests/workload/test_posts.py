import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from tidegate.workload import words
from tidegate.workload.posts import posts

POSTS = posts(20_000, seed=1)
TEXTS: list[str] = POSTS["text"].to_pylist()


def test_a_seed_determines_the_posts() -> None:
    assert posts(300, seed=7).equals(posts(300, seed=7))
    assert not posts(300, seed=7).equals(posts(300, seed=8))


def test_no_posts_can_be_asked_for() -> None:
    assert posts(0, seed=1).schema == POSTS.schema


def test_posts_come_one_after_the_other_at_the_asked_rate() -> None:
    seconds = POSTS["ts"].to_numpy().astype("datetime64[us]").astype(np.int64) / 1e6
    assert (np.diff(seconds) >= 0).all()
    assert len(seconds) / (seconds[-1] - seconds[0]) == pytest.approx(100, rel=0.03)
    assert POSTS["id"].to_pylist() == list(range(20_000))


def test_every_slot_is_filled_and_no_space_is_left_over() -> None:
    assert not [text for text in TEXTS if re.search(r"[{}]|  |\s$", text)]


def test_posts_have_tags_mentions_links_and_letters_beyond_ascii() -> None:
    for pattern in (r"#\w+", r"@\w+", r"https://example\.org/\w+", r"Zürich", r"🎉"):
        assert 0.01 < sum(bool(re.search(pattern, text)) for text in TEXTS) / len(TEXTS) < 0.8


def test_the_words_of_a_post_share_a_topic() -> None:
    topic_of = {word: name for name, listed in words.TOPICS.items() for word in listed.split()}
    for text in TEXTS[:2000]:
        assert len({topic_of[word] for word in re.findall(r"\w+", text) if word in topic_of}) <= 1


def test_words_follow_a_long_tailed_law() -> None:
    counts = Counter(chain.from_iterable(re.findall(r"\w+", text.lower()) for text in TEXTS))
    assert counts["kufuwal"] > 1000  # the commonest invented word
    assert sum(count == 1 for count in counts.values()) > 2000


def test_some_posts_have_a_place_and_it_is_near_a_known_one() -> None:
    placed = POSTS.filter(pc.is_valid(POSTS["lat"]))
    assert 0.27 < placed.num_rows / POSTS.num_rows < 0.33
    assert placed["lon"].null_count == 0
    here = np.stack([placed["lat"].to_numpy(), placed["lon"].to_numpy()], axis=1)
    known = np.array([[place.lat, place.lon] for place in words.PLACES])
    assert np.abs(here[:, None] - known[None]).max(axis=2).min(axis=1).max() < 1.0


def test_some_posts_have_no_language() -> None:
    assert 0 < POSTS["lang"].null_count < 0.05 * POSTS.num_rows
    assert pc.unique(POSTS["lang"].drop_null()).to_pylist() == ["en"]


def test_topics_tile_one_table_and_no_word_is_listed_twice() -> None:
    assert {len(listed.split()) for listed in words.TOPICS.values()} == {words.TOPIC_SIZE}
    listed = [*words.topic_words(), *words.QUALITIES.split(), *words.ACTIONS.split()]
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("make", [words.invented_words, words.account_names])
def test_made_names_are_distinct(make: Callable[[int], Any]) -> None:
    assert len(set(make(100_000).to_pylist())) == 100_000
