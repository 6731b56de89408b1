"""The analysis of a workload is what plain Python finds in its pairs, with pairs that are there twice and gaps."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.workload.analysis import Analysis, analysed
from tidegate.workload.fits import fitted
from tidegate.workload.histogram import Histogram
from tidegate.workload.hours import Day
from tidegate.workload.tally import Tally, Topics, apart

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=80)
RATES = st.dictionaries(st.integers(0, 9), st.integers(0, 5_000), min_size=1)


def as_dict(histogram: Histogram) -> dict[int, tuple[int, int]]:
    columns = (histogram.values.tolist(), histogram.counts.tolist(), histogram.sums.tolist())
    return {value: (count, total) for value, count, total in zip(*columns, strict=True)}


def plain(values: list[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for value, other in values:
        counts[value] += 1
        sums[value] += other
    return {value: (counts[value], sums[value]) for value in counts}


def check_analysis(found: Analysis, pairs: list[tuple[int, int]], rates: dict[int, int]) -> None:
    """Compare everything that is counted exactly with plain Python."""
    rated = [pair for pair in pairs if pair[1] in rates]
    followed = defaultdict(set)
    for subscriber, topic in rated:
        followed[subscriber].add(topic)
    sent = {subscriber: sum(rates[topic] for topic in topics) for subscriber, topics in followed.items()}
    followers = Counter(topic for topics in followed.values() for topic in topics)
    assert as_dict(found.sizes) == plain([(len(topics), sent[who]) for who, topics in followed.items()])
    assert as_dict(found.popularity) == plain([(followers[topic], rate) for topic, rate in rates.items()])
    assert found.received.total == len(sent)
    assert found.most_received == max(sent.values())
    assert found.repeated == len(rated) - len(set(rated))
    assert found.unrated == len(pairs) - len(rated)
    assert (found.topics, found.events) == (len(rates), sum(rates.values()))
    assert sorted(zip(*found.topic_sample.tolist(), strict=True)) == sorted((followers[t], r) for t, r in rates.items())


@given(PAIRS, RATES)
def test_pairs_in_any_order_are_counted_as_plain_python_counts(
    pairs: list[tuple[int, int]], rates: dict[int, int]
) -> None:
    topics = Topics.of(list(rates), list(rates.values()))
    subscribers, followed = np.array(pairs).T
    if not any(topic in rates for _, topic in pairs):
        with pytest.raises(ConfigError, match="there are no pairs"):
            analysed(topics, subscribers, followed)
        return
    check_analysis(analysed(topics, subscribers, followed), pairs, rates)


@given(PAIRS, st.integers(1, 7))
def test_batches_do_not_matter_and_stretches_show_who_comes_back(pairs: list[tuple[int, int]], batch: int) -> None:
    topics = Topics.of(range(10), [1] * 10)
    tally = Tally(topics)
    for start in range(0, len(pairs), batch):
        tally.take(*np.array(pairs[start : start + batch]).T)
    counts = tally.ended()
    runs = [who for i, (who, _) in enumerate(pairs) if i == 0 or pairs[i - 1][0] != who]
    assert sum(counts.sizes.counts) == len(runs)
    if len(runs) > len(set(runs)):
        assert not apart(tally.stretches), "somebody came back"
    if pairs == sorted(pairs):
        assert apart(tally.stretches)


def test_topics_are_refused_that_have_two_rates_or_less_than_none() -> None:
    with pytest.raises(ConfigError, match="1 topics have more than one rate, as has 7"):
        Topics.of([7, 3, 7], [1, 2, 3])
    with pytest.raises(ConfigError, match="topic 3 has -2 events"):
        Topics.of([7, 3], [1, -2])
    with pytest.raises(ConfigError, match="there are no topics"):
        Topics.of([], [])


def test_a_power_law_is_found_with_its_exponent_and_others_are_not_taken_for_one() -> None:
    generator = np.random.default_rng(1)
    fit = fitted(Histogram.of(generator.zipf(2.5, 200_000)))
    assert fit is not None
    assert fit.exponent == pytest.approx(2.5, abs=0.05)
    assert fit.verdict != "no power law"
    bent = fitted(Histogram.of(np.exp(generator.normal(6, 1.0, 200_000)).astype(np.int64)))
    assert bent is not None
    assert bent.verdict == "no power law"


@pytest.mark.parametrize("values", [[], [5] * 100, [1, 2, 3]])
def test_too_few_values_have_no_fit(values: list[int]) -> None:
    assert fitted(Histogram.of(np.array(values, np.int64))) is None


def test_a_day_has_its_peak_its_trough_and_its_weekends() -> None:
    hours = np.arange("2026-03-02T00", "2026-03-16T00", dtype="datetime64[h]")  # two weeks from a Monday on
    of_day = hours.astype(int) % 24
    weekend = np.arange(len(hours)) // 24 % 7 >= 5
    counts = np.where(of_day == 21, 300, np.where(of_day == 4, 10, 100)) * np.where(weekend, 2, 1)
    assert Day.of(hours, counts) == (21, 4, 30.0, 2.0)
