"""Benchmark `route` reports what it promises, and does not let a wrong answer pass."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.progress import Progress

from tidegate.bench.report import Report, Row
from tidegate.bench.route import clocked_maps, plot, run
from tidegate.bench.route.audience import Audience
from tidegate.bench.route.claims import Told, report_claims
from tidegate.bench.route.clock_costs import clock_costs
from tidegate.bench.route.clocked_maps import report_clocked_maps
from tidegate.bench.route.clocks import Clocked, clocked, replicated
from tidegate.bench.route.corpus import Corpus, report_corpus
from tidegate.bench.route.look_ups import report_look_ups
from tidegate.bench.route.peak import peak
from tidegate.bench.route.sizes import Sizes
from tidegate.bench.route.trials import CONTENDERS, SALB, Case, Contender, Figure, Routed, Trials
from tidegate.csr import from_rows
from tidegate.errors import ConfigError, TidegateError
from tidegate.index.strings import strings
from tidegate.route.maps import LEARNERS, learn
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.text.analyzer import Analyzer

TINY = Sizes(
    posts=2_000,
    folds=2,
    most_learned={"refined": 500, "hypergraph": 100},
    matchers=(8, 64),
    subscriptions=300,
    topics=4,
    topic_posts=500,
    look_up_posts=100,
    grown=(10, 300),
    learned=(500, 2_000),
    slowly_learned=500,
    clocked_matchers=(8,),
    clocked_posts=300,
    short_posts=1_500,
    short_subscriptions=500,
    short_matchers=(64,),
    short_grown=(100, 500),
)
SUMMARY = {
    "salb_over_hash_64",
    "refined_over_salb_64",
    "split_scaling_256_over_64",
    "learn_s_1m",
    "headtail_over_salb_64",
}
HASH = Contender("hash")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.read(None, 2_000, seed=3)


@pytest.fixture(scope="module")
def report(spark: SparkSession) -> Report:
    return run("small", seed=3, progress=Progress(disable=True), sizes=TINY)


def section(report: Report, title: str) -> list[Row]:
    (found,) = [section.rows for section in report.sections if section.title.startswith(title)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("Table 1:", 4),
        ("Figure 4:", 10),
        ("Figure 3:", 2),
        ("Figures 5 to 8:", 2 * len(CONTENDERS)),
        ("Figures 9 to 12:", 2 * len(CONTENDERS)),
        ("Figures 14 to 17:", 2 * len(CONTENDERS)),
        ("Figures 18 to 21:", 2 * len(CONTENDERS)),
        ("The paper's statements:", 10),
        ("Figures 13 and 28:", len(CONTENDERS)),
        ("Clocked maps, tweet-based:", len(CONTENDERS)),
        ("Clocked maps, topic-based:", len(CONTENDERS)),
        ("Clocked plans, 64 matchers:", 5),
        ("Growth:", 4),
    ],
)
def test_every_figure_is_reported(report: Report, title: str, rows: int) -> None:
    found = section(report, title)
    assert len(found) >= rows
    assert all(row.keys() == found[0].keys() for row in found)


@pytest.mark.slow
def test_the_summary_has_its_keys_and_the_report_is_json(report: Report, tmp_path: Path) -> None:
    assert report.summary.keys() == SUMMARY
    assert report.summary["salb_over_hash_64"] > 1
    assert report.summary["split_scaling_256_over_64"] > 1
    assert report.summary["learn_s_1m"] is None  # a million posts were not learned from
    report.write_json(tmp_path / "route.json")
    assert json.loads((tmp_path / "route.json").read_text())["summary"] == report.summary


@pytest.mark.slow
def test_the_figures_are_drawn(report: Report, tmp_path: Path) -> None:
    plot(report, tmp_path / "route.png")
    assert (tmp_path / "route.png").stat().st_size > 50_000


@pytest.mark.slow
def test_head_and_tail_sends_less_than_the_paper_and_replicate_nothing(report: Report) -> None:
    sent = {row["plan"]: row["bytes sent a post"] for row in section(report, "Clocked plans, 64 matchers:")}
    assert sent["replicate"] == 0 < sent["head and tail"] < sent["SALB, LASP, every word (S³-TM)"]


@pytest.mark.slow
def test_posts_that_are_repeated_tell_no_throughput(report: Report) -> None:
    for row in section(report, "Figures 13 and 28:"):
        assert (row["throughput"] is None) == (row["posts"] > 1_000)
        assert row["seconds"] > 0


def test_every_post_is_seen_in_one_fold_and_learned_from_in_the_others(corpus: Corpus) -> None:
    folds = list(corpus.folds(3))
    assert sorted(np.concatenate([fold.rows for fold in folds]).tolist()) == list(range(2_000))
    for fold in folds:
        assert len(fold.seen) + len(fold.learned) == 2_000
        words = corpus.sample.words.take(pa.array(fold.word_of))
        assert words.equals(fold.seen.words)
        assert [words[int(word)].as_py() for word in fold.seen.posts.row(7)] == sorted(
            (corpus.sample.words[int(word)].as_py() for word in corpus.sample.posts.row(int(fold.rows[7]))),
            key=words.to_pylist().index,
        )


def test_one_post_is_no_corpus() -> None:
    with pytest.raises(ConfigError, match=r"a corpus of 1 posts .* give at least 2"):
        Corpus.read(None, 1, seed=1)


def test_table_1_counts_words_and_pairs() -> None:
    texts = strings(["storm flood", "flood storm tide", "tide", "storm"])
    report = Report("route", "small", {})
    report_corpus(report, Corpus(texts, Sample.of(pa.table({"text": texts}), Analyzer())))
    ours = {row["number of"]: row["ours"] for row in section(report, "Table 1:")}
    assert ours == {"posts": 4, "words": 3, "word occurrences": 7, "word pairs": 3}
    assert [row["posts with the word"] for row in section(report, "Figure 4:")] == [3, 2, 2]


def test_tweet_based_subscriptions_are_posts_with_words() -> None:
    sample = Sample.from_rows(from_rows([[0, 1], [], [2], [1, 2]]), strings(["storm", "flood", "tide"]))
    audience = Audience.tweet_based(Corpus(strings(["", "", "", ""]), sample), 50, seed=1)
    assert set(audience.drawn.tolist()) == {0, 2, 3}
    asked = audience.asked()
    assert {query.canonical for query in asked.queries} == {"flood storm", "tide", "flood tide"}
    assert len(asked.ids) == 50
    drawn = [sorted(sample.words[int(word)].as_py() for word in sample.posts.row(row)) for row in audience.drawn]
    assert [asked.queries[number].canonical.split() for number in asked.query_of] == drawn


def test_the_first_subscriptions_ask_for_their_words_alone(corpus: Corpus) -> None:
    audience = Audience.topic_based(corpus, [["storm", "flood"], ["telescop"]], 400, seed=1)
    words = corpus.sample.words.filter(pa.array(audience.subscribed()))
    assert sorted(words.to_pylist()) == ["flood", "storm", "telescop"]
    assert audience.first(1).subscribed().sum() < 3
    assert len(audience.first(1)) == 1


def test_short_subscriptions_match_as_often_as_was_asked(corpus: Corpus) -> None:
    audience = Audience.short(corpus, 5_000, 10.0, seed=1)
    lengths = np.diff(audience.sets.offsets)
    assert lengths.min() == 1
    assert lengths.max() == 5
    found = replicated(audience.asked(), corpus.posts(np.arange(2_000)))
    assert 5 < len(found.matches) / 2_000 < 20


def test_a_map_is_measured_on_posts_it_has_not_seen(corpus: Corpus) -> None:
    trials, sizes = Trials(), replace(TINY, grown=(300,), matchers=(8,), split_matchers=(), short_matchers=())
    audience = Audience.tweet_based(corpus, 300, seed=1)
    assert list(trials.run(corpus, [audience], sizes)) == [0, 1]
    case = Case(HASH, 8, "tweet-based", 300)
    fold = corpus.fold(1, 2)
    expected = learn("hash", fold.learned, 8, splitting=False).measured(fold.seen, audience.subscribed()[fold.word_of])
    assert trials.found[case][1] == (expected.spread, expected.imbalance, expected.throughput)
    # Those that take long see the first fold alone.
    assert {len(found) for case, found in trials.found.items() if case.contender.is_slow} == {1}
    assert {case.contender for case in trials.found} == {*map(Contender, LEARNERS), *CONTENDERS}


def test_means_come_with_standard_deviations() -> None:
    assert Figure.of([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert Figure.of([4.0]) == (4.0, None)


def made_up() -> Trials:
    """SALB with twice the throughput of all others in one fold, and four times in the next."""
    trials = Trials()
    for contender in CONTENDERS:
        for matchers in TINY.every_matchers(splitting=contender.splitting):
            for kind in ("tweet-based", "topic-based"):
                for count in TINY.grown:
                    case = Case(contender, matchers, kind, count)
                    fast = contender.name == "salb"
                    trials.found[case] += [
                        Routed(2.0, 1.5, 8.0 if fast else 4.0),
                        Routed(2.0, 1.0, 8.0 if fast else 2.0),
                    ]
    return trials


def test_relative_throughput_is_taken_fold_by_fold() -> None:
    case = Case(SALB, 8, "tweet-based", 300)
    assert made_up().relative(case, to=HASH).mean == pytest.approx(3.0)
    behind = made_up().relative(case._replace(contender=HASH))
    assert behind == Figure.of([0.5, 0.25])
    assert Told(made_up(), TINY).gain("tweet-based", HASH, 8) == pytest.approx(3.0)


def test_statements_of_order_hold_or_do_not() -> None:
    report = Report("route", "small", {})
    report_claims(report, made_up(), TINY)
    rows = section(report, "The paper's statements:")
    holds = {row["statement"]: row["holds"] for row in rows if row["subscriptions"] == "tweet-based"}
    assert holds["over gFCL, gNFCL, hash: from 16 matchers on"] == "yes"
    assert holds["throughput over gc, 64 matchers"] == "no"
    assert holds["throughput over hash, at best"] is None


def test_the_trie_of_the_paper_looks_up_more_the_more_words_there_are(corpus: Corpus) -> None:
    report = Report("route", "small", {})
    report_look_ups(report, corpus, Audience.tweet_based(corpus, 500, seed=1), posts=100)
    trie, flat = (
        [row for row in section(report, "Figure 3:") if str(row["index"]).startswith(name)]
        for name in ("hashed", "flat")
    )
    assert trie[-1]["look-ups"] > 2 * trie[0]["look-ups"]
    assert trie[-1]["look-ups"] > flat[-1]["look-ups"]
    assert "R² = " in report.sections[0].note


def test_a_map_that_misses_a_match_ends_the_run(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(*args: object, **options: object) -> Clocked:
        run = clocked(*args, **options)  # type: ignore[arg-type]
        return replace(run, matches=run.matches[1:])

    audience = Audience.short(corpus, 300, 5.0, seed=1)
    trials = Trials(maps={(contender, 8): learn("hash", corpus.sample, 8) for contender in CONTENDERS})
    monkeypatch.setattr(clocked_maps, "clocked", forgetful)
    with pytest.raises(TidegateError, match=r"plan hash:8:lasp found .* and plan replicate"):
        list(report_clocked_maps(Report("route", "small", {}), corpus, [audience], trials, TINY))


def test_costs_are_those_of_clocks(corpus: Corpus) -> None:
    asked = Audience.short(corpus, 500, 5.0, seed=1).asked()
    costs = clock_costs(asked, corpus.posts(np.arange(300)), corpus.sample)
    assert min(costs.read, costs.route, costs.visit, costs.subscription_bytes) > 0
    assert costs.sizes == (100, 500)


def test_head_and_tail_and_hash_find_what_replicate_finds(corpus: Corpus) -> None:
    asked, posts = Audience.short(corpus, 300, 5.0, seed=1).asked(), corpus.posts(np.arange(500))
    whole = replicated(asked, posts)
    assert whole.shared_by(8).throughput == pytest.approx(8 * whole.throughput)
    words = learn("salb", corpus.sample, 8)
    for plan in (Plan("salb", 8, placement="lasp"), Plan("headtail", 8, head=50)):
        for every_word in (False, True):
            clocked(plan, words, asked, posts, every_word=every_word).checked(whole)
    assert len(whole.matches) > 500


def test_the_peak_is_what_was_needed_at_most() -> None:
    with peak() as little:
        pass
    with peak() as much:
        np.ones(25_000_000)
    if little.resident is None:
        pytest.skip("this system does not tell")
    assert much.resident is not None
    assert 150e6 < much.resident - little.resident < 400e6
