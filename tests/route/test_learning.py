"""Forecasts and the choice between plans, on generated posts and searches."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tidegate.csr import from_rows
from tidegate.errors import ConfigError
from tidegate.index.asked import Asked
from tidegate.index.strings import strings
from tidegate.route.costs import Cluster, Costs, in_terms_of, measured_matching
from tidegate.route.forecast import Evidence, forecast
from tidegate.route.learning import alternatives, best, learned
from tidegate.route.maps import learn
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

ANALYZER = Analyzer()
SAMPLE = Sample.of(generated_posts(4_000, 1), ANALYZER)
SEARCHES = saved_searches(3_000, 2).column("query").to_pylist()
ASKED, _ = Asked.read([str(i) for i in range(len(SEARCHES))], SEARCHES, ANALYZER)
COSTS = Costs(0.5, 0.2, 2.0, (1_000.0, 1_000_000.0), (0.5, 3.0), 60.0)


def evidence(matchers: int = 8, host_bytes: float = float("inf"), costs: Costs = COSTS) -> Evidence:
    posts = Sample.of(generated_posts(2_000, 3), ANALYZER)
    return Evidence(posts, ASKED, 1_000_000, costs, Cluster(matchers, 4, host_bytes))


def test_replicate_is_as_fast_as_all_cores_together_and_takes_all_the_memory() -> None:
    told = forecast(Plan.replicate(), None, evidence())
    assert told.throughput == pytest.approx(8 * 1e6 / (0.5 + 3.0))
    assert told.host_bytes == 60e6
    assert (told.spread, told.head) == (0.0, 1.0)


def test_a_partitioned_plan_is_as_fast_as_its_busiest_matcher() -> None:
    given = evidence()
    told = forecast(Plan.hash(8), None, given)
    assert told.head == 0
    assert 60e6 / 8 < told.host_bytes < 60e6, "half of the matchers, and they are not all alike"
    # Each visit costs at least sending and reading the post; the busiest matcher has its share times the imbalance.
    share = told.spread * told.imbalance / 8
    assert share * 2.5 < told.matcher_us < share * (2.5 + COSTS.match(1_000_000))
    assert told.throughput == pytest.approx(1e6 / (told.router_us / 8 + told.matcher_us))


def test_a_larger_head_spares_visits_and_takes_memory() -> None:
    words = learn("hash", SAMPLE, 8, splitting=False)
    told = [forecast(Plan("headtail", 8, head=head), words, evidence()) for head in (0, 50, 1_000)]
    assert told[0].spread > told[1].spread > told[2].spread
    assert told[0].head < told[1].head < told[2].head
    assert told[0].host_bytes < told[1].host_bytes < told[2].host_bytes


def test_replicate_is_chosen_while_it_fits_and_head_and_tail_where_it_does_not() -> None:
    everything = list(alternatives(SAMPLE, evidence()))
    assert [one.plan.kind for one in everything] == [
        "replicate",
        "hash",
        "salb",
        "refined",
        "headtail",
        "hybrid",
        "kd_tree",
    ]
    assert best(everything).plan.kind == "replicate"
    tight = list(alternatives(SAMPLE, evidence(host_bytes=50e6)))
    chosen = best(tight)
    assert chosen.plan.kind == "headtail"
    assert chosen.forecast.host_bytes <= 50e6
    assert best(list(alternatives(SAMPLE, evidence(host_bytes=1.0)))).forecast.fits is False


def test_head_and_tail_knows_who_owns_the_words_that_lead_to_its_tail() -> None:
    found = learned(Plan("headtail", 8), SAMPLE, evidence(host_bytes=50e6))
    assert found.words is not None
    assert found.words.matchers == 8
    by_hash = learn("hash", SAMPLE, 8, splitting=False)
    told = forecast(found.plan, by_hash, evidence(host_bytes=50e6))
    assert found.forecast.imbalance < told.imbalance, "what is learned is more even than chance"


def test_costs_between_measured_sizes_are_even_in_the_logarithm() -> None:
    costs = replace(COSTS, sizes=(10.0, 1000.0), match_times=(1.0, 3.0))
    assert [costs.match(n) for n in (0, 1, 10, 100, 1000, 100_000)] == pytest.approx([0.0, 1.0, 1.0, 2.0, 3.0, 5.0])


def test_measured_costs_do_not_fall_with_the_size() -> None:
    sizes, times, each = measured_matching(ASKED, SAMPLE, ANALYZER)
    assert list(sizes) == [100, 1_000, 3_000]
    assert list(times) == sorted(times)
    assert times[0] > 0
    assert 10 < each < 1_000


def test_posts_are_read_in_other_terms() -> None:
    sample = Sample.from_rows(from_rows([[0, 1], [1], [2]]), strings(["storm", "kiel", "calm"]))
    posts = in_terms_of(sample, strings(["x", "storm", "kiel"]))
    assert [sorted(posts.row(i).tolist()) for i in range(3)] == [[1, 2], [2], []]


@pytest.mark.parametrize("cluster", [(0, 8, 1.0), (8, 0, 1.0), (8, 8, 0.0), (8, 8, float("nan"))])
def test_what_is_no_cluster_is_refused(cluster: tuple[int, int, float]) -> None:
    with pytest.raises(ConfigError, match="a cluster has matchers"):
        Cluster(*cluster)


def test_samples_are_joined_word_by_word() -> None:
    parts = [
        Sample.of(pa.table({"text": pa.array(texts, pa.string())}), ANALYZER)
        for texts in (["storm kiel", "storm"], [], ["calm storm"])
    ]
    one = Sample.of(pa.table({"text": ["storm kiel", "storm", "calm storm"]}), ANALYZER)
    joined = Sample.joined(parts)
    assert joined.words.equals(one.words)
    assert np.array_equal(joined.posts.values, one.posts.values)
    assert len(Sample.joined([])) == 0
