"""Workloads like Spotify's and Twitter's have what the thesis reports of the traces, at a hundredth of their size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.workload.saturation import drawing_weights
from tidegate.workload.social import BLOCK, KINDS, SPOTIFY, TWITTER, Kind, Numbers, Social

SCALE = 0.01


@pytest.fixture(scope="module", params=[SPOTIFY, TWITTER], ids=lambda kind: kind.name)
def social(request: pytest.FixtureRequest) -> Social:
    kind: Kind = request.param
    return Social.draw(kind, kind.numbers.scaled(SCALE), seed=7)


@pytest.fixture(scope="module")
def pairs(social: Social) -> Csr:
    return social.all_pairs()


@pytest.fixture(scope="module")
def twitter() -> tuple[Social, Int64]:
    """A larger one, and its followers by topic."""
    social = Social.draw(TWITTER, TWITTER.numbers.scaled(0.05), seed=7)
    return social, followers_of(social, social.all_pairs())


def followers_of(social: Social, pairs: Csr) -> Int64:
    return np.bincount(pairs.values, minlength=social.numbers.topics)


def test_it_is_as_large_as_it_was_asked_to_be(social: Social, pairs: Csr) -> None:
    asked = social.kind.numbers.scaled(SCALE)
    assert social.numbers[:2] == asked[:2]
    assert social.numbers.pairs == len(pairs.values) == pytest.approx(asked.pairs, rel=1e-3)
    assert social.events.sum() == pytest.approx(social.kind.mean_events * asked.topics, rel=0.02)


def test_pairs_are_distinct_and_everybody_is_in_some(social: Social, pairs: Csr) -> None:
    rows = np.repeat(np.arange(pairs.rows), np.diff(pairs.offsets))
    same_row = rows[1:] == rows[:-1]
    assert (np.diff(pairs.values)[same_row] > 0).all(), "rising within a subscriber, so none twice"
    assert (np.diff(pairs.offsets) > 0).all()
    assert followers_of(social, pairs).min() >= 1
    assert social.events.min() >= 1


def test_a_seed_determines_the_pairs_and_blocks_do_not_depend_on_each_other(social: Social, pairs: Csr) -> None:
    again = Social.draw(social.kind, social.kind.numbers.scaled(SCALE), seed=7)
    last = len(again.blocks) - 2
    block = again.block(last)
    assert np.array_equal(block.values, pairs.values[len(pairs.values) - len(block.values) :])
    other = Social.draw(social.kind, social.kind.numbers.scaled(SCALE), seed=8)
    assert not np.array_equal(other.block(last).values[:1000], block.values[:1000])


def test_blocks_are_bounded() -> None:
    social = Social.draw(TWITTER, TWITTER.numbers.scaled(0.02), seed=1)
    sizes = np.diff(social.offsets[social.blocks])
    assert len(sizes) == 4
    assert sizes.max() <= BLOCK + social.sizes.max()


def test_of_spotify_rates_have_nothing_to_do_with_popularity() -> None:
    social = Social.draw(SPOTIFY, SPOTIFY.numbers.scaled(0.05), seed=7)
    followers = followers_of(social, social.all_pairs())
    assert abs(np.corrcoef(followers, social.events)[0, 1]) < 0.02
    many = followers > 100
    assert social.events[many].mean() == pytest.approx(social.events.mean(), rel=0.25)


def test_of_twitter_rates_rise_with_followers_and_then_less(twitter: tuple[Social, Int64]) -> None:
    social, followers = twitter
    fame = followers * 300 / social.numbers.subscribers
    few, half, most = (
        social.events[(low < fame) & (fame <= high)].mean() for low, high in ((0, 0.05), (0.4, 0.6), (0.8, 1.0))
    )
    beyond = social.events[fame > 1.2].mean()
    assert 1.3 < (most - few) / (half - few) < 2.4, "in proportion"
    assert beyond < most


def test_of_twitter_the_counts_are_those_of_the_trace(twitter: tuple[Social, Int64]) -> None:
    social, followers = twitter
    assert np.count_nonzero(followers > 1e4) == pytest.approx(4_000 * 0.05, rel=0.15)
    assert np.count_nonzero(social.sizes > 1e4) == pytest.approx(550 * 0.05, abs=1)
    assert np.count_nonzero(social.events > 1_000) == pytest.approx(46_000 * 0.05, rel=0.2)
    assert np.mean(social.events < 10) == pytest.approx(0.5, abs=0.03)
    for glitch in (20, 2_000):
        there = np.count_nonzero(social.sizes == glitch)
        assert there > 5 * np.count_nonzero(social.sizes == glitch + 1)


@settings(max_examples=30)
@given(data=st.data())
def test_any_numbers_are_met(data: st.DataObject) -> None:
    kind = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    numbers = Numbers(data.draw(st.integers(200, 2_000)), data.draw(st.integers(200, 2_000)), 0)
    numbers = numbers._replace(pairs=round(max(numbers) * data.draw(st.floats(2.5, 6.0))))
    social = Social.draw(kind, numbers, seed=1)
    assert social.numbers.pairs == pytest.approx(numbers.pairs, rel=0.02)
    pairs = social.all_pairs()
    assert pairs.rows == numbers.subscribers
    assert all(len(set(pairs.row(row).tolist())) == len(pairs.row(row)) for row in range(pairs.rows))
    assert set(pairs.values.tolist()) == set(range(numbers.topics))


def test_fewer_pairs_than_topics_are_refused() -> None:
    with pytest.raises(ConfigError, match="10 pairs are too few"):
        Social.draw(SPOTIFY, Numbers(20, 5, 10), seed=1)


@pytest.mark.parametrize(
    ("numbers", "reach"),
    [
        (Numbers(1_000, 1_000, 400_000), "1,055 to 44,604"),
        (Numbers(1_000, 10, 1_000), "10 to 440"),
        (Numbers(1, 5, 12), "5 to 5"),
    ],
)
def test_pairs_that_cannot_be_had_are_refused_with_those_that_can(numbers: Numbers, reach: str) -> None:
    with pytest.raises(ConfigError, match=f"{numbers.pairs:,} pairs of .*: {reach} can be had"):
        Social.draw(SPOTIFY, numbers, seed=1)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [(SPOTIFY, SPOTIFY.numbers.scaled(1e-5)), (TWITTER, Numbers(1, 100, 100)), (SPOTIFY, Numbers(10, 10, 10))],
)
def test_a_handful_is_a_workload(kind: Kind, numbers: Numbers) -> None:
    social = Social.draw(kind, numbers, seed=1)
    pairs = social.all_pairs()
    assert social.numbers.pairs == pytest.approx(numbers.pairs, rel=0.1)
    assert set(pairs.values.tolist()) == set(range(numbers.topics))
    assert all(len(set(pairs.row(row).tolist())) == len(pairs.row(row)) > 0 for row in range(pairs.rows))


def test_the_popular_are_drawn_by_as_many_as_are_wanted_though_by_none_twice() -> None:
    wanted = np.array([900.0, 500.0] + [40.0] * 90)
    draws = np.full(1_000, wanted.sum() / 1_000)
    weights = drawing_weights(wanted, draws)
    generator = np.random.default_rng(1)
    counts = np.zeros(len(wanted))
    for size in draws:
        drawn = generator.choice(
            len(wanted), int(size) + int(generator.random() < size % 1), replace=False, p=weights / weights.sum()
        )
        counts[drawn] += 1
    assert counts[:2] == pytest.approx(wanted[:2], rel=0.08)
