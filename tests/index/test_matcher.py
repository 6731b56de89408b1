"""The matcher as a user meets it: ids, refusals, columns, counts."""

import pyarrow as pa
import pytest

from tidegate import ConfigError, Matcher, QueryError
from tidegate.index.compiled import Compiled
from tidegate.query.normal import Limits
from tidegate.query.semantics import PostView
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import profile_named


def test_equal_queries_are_matched_once_and_fanned_out() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm coast")
    matcher.subscribe("ben", "Coasts STORMS storm")
    matcher.subscribe("eva", "storm")
    assert (len(matcher), matcher.n_queries) == (3, 2)
    found = matcher.match(pa.table({"text": ["A storm off the coast"]}))
    assert len(found.queries.values) == 2
    assert sorted(found.pairs()) == [(0, "ana"), (0, "ben"), (0, "eva")]
    matcher.unsubscribe("ana")
    assert sorted(matcher.match(pa.table({"text": ["A storm off the coast"]})).pairs()) == [(0, "ben"), (0, "eva")]


def test_one_bad_subscription_does_not_stop_the_batch() -> None:
    matcher = Matcher()
    matcher.subscribe("taken", "rain")
    refused = matcher.subscribe_many(
        ["a", "b", "taken", "c", "c", "d", ""], ["storm", "(storm", "snow", "-storm", "flood", None, "rain"]
    )
    assert [(r.row, r.subscription, type(r.error)) for r in refused] == [
        (1, "b", QueryError),
        (2, "taken", ConfigError),
        (3, "c", QueryError),
        (5, "d", QueryError),
        (6, "", ConfigError),
    ]
    assert "a subscription has no id" in str(refused[-1].error)
    assert "there is a subscription 'taken' already" in str(refused[1].error)
    assert sorted(matcher.match(pa.table({"text": ["storm flood rain snow"]})).pairs()) == [
        (0, "a"),
        (0, "c"),
        (0, "taken"),
    ]


def test_an_id_can_be_used_again_after_unsubscribing() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm")
    matcher.unsubscribe("ana")
    with pytest.raises(ConfigError, match="there is no subscription 'ana'"):
        matcher.unsubscribe("ana")
    matcher.subscribe("ana", "storm")
    with pytest.raises(ConfigError, match="there is a subscription 'ana' already"):
        matcher.subscribe("ana", "flood")
    assert matcher.match(pa.table({"text": ["storm", "flood"]})).pairs() == [(0, "ana")]


def test_columns_can_be_called_otherwise() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "from:nasa eclipse lang:en in:(0,0,10,10)")
    posts = pa.table({"body": ["Eclipse!"], "who": ["@NASA"], "tongue": ["en-US"], "y": [5.0], "x": [5.0]})
    assert matcher.match(posts, text="body", author="who", lang="tongue", lat="y", lon="x").pairs() == [(0, "ana")]
    with pytest.raises(ConfigError, match="posts have no column 'text': the columns are body"):
        matcher.match(posts)


def test_a_huge_post_is_cut_and_counted() -> None:
    matcher = Matcher(Analyzer(profile_named("social", max_bytes=1000)))
    matcher.subscribe("ana", "storm")
    matcher.subscribe("ben", "flood")
    huge = "storm " + "x " * 1000 + "flood"
    found = matcher.match(pa.table({"text": [huge, "flood"]}))
    assert sorted(found.pairs()) == [(0, "ana"), (1, "ben")]
    assert found.read.truncated == 1
    assert matcher.why(1, PostView(huge)) is None


def test_a_place_off_the_globe_is_counted_and_no_place() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm in:(-180,-90,180,90)")
    found = matcher.match(pa.table({"text": ["storm", "storm"], "lat": [200.0, 20.0], "lon": [0.0, 0.0]}))
    assert found.pairs() == [(1, "ana")]
    assert found.read.misplaced == 1


def test_a_match_says_why() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", 'sunny OR (storm* "flood warning")')
    post = PostView("Stormy: flood warning for Kiel")
    reason = matcher.why(0, post)
    assert reason is not None
    assert reason.highlight(post.text, "<", ">") == "<Stormy>: <flood warning> for Kiel"
    assert matcher.why(0, PostView("flood warning")) is None


def test_a_found_match_says_why_by_its_subscription() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm from:nasa")
    found = matcher.match(pa.table({"body": ["calm", "A storm"], "author": ["nasa", "NASA"]}), text="body")
    assert found.pairs() == [(1, "ana")]
    reason = found.why(1, "ana")
    assert reason is not None
    assert (reason.highlight(found.post(1).text, "<", ">"), reason.others) == ("A <storm>", ("from:nasa",))
    assert found.why(0, "ana") is None
    with pytest.raises(ConfigError, match="there is no subscription 'ben'"):
        found.why(1, "ben")


def test_a_post_of_odd_types_can_say_why_too() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm from:7 in:(0,0,10,10)")
    posts = pa.table({"text": ["storm", "storm"], "author": [7, 7], "lat": ["5", "north"], "lon": [5, 5]})
    found = matcher.match(posts)
    assert (found.pairs(), found.read.misplaced) == ([(0, "ana")], 1)
    reason = found.why(0, "ana")
    assert reason is not None
    assert reason.others == ("from:7", "in:(0,0,10,10)")
    assert found.why(1, "ana") is None


@pytest.mark.parametrize(
    ("columns", "query"),
    [
        ({"text": [b"storm surge"]}, "storm"),
        ({"text": ["storm"], "author": [0]}, "from:0 storm"),
        ({"text": [0]}, "0"),
        ({"text": [1.0]}, "1"),
        ({"text": pa.array(["storm"]).dictionary_encode()}, "storm"),
    ],
)
def test_whatever_type_a_column_has_its_match_says_why(columns: dict[str, object], query: str) -> None:
    matcher = Matcher()
    matcher.subscribe("ana", query)
    found = matcher.match(pa.table(columns))
    assert found.pairs() == [(0, "ana")]
    assert found.why(0, "ana") is not None


@pytest.mark.parametrize("joint", [" ", " OR "])
def test_a_query_beyond_the_usual_limits_says_why_too(joint: str) -> None:
    words = [f"word{i}" for i in range(100)]
    limits = Limits(max_conjunctions=500, max_terms=200, max_length=100_000)
    matcher = Matcher(limits=limits)
    matcher.subscribe("ana", joint.join(words))
    compiled, _ = Compiled.build(["ana"], [joint.join(words)], limits=limits)
    for engine in (matcher, compiled):
        found = engine.match(pa.table({"text": [" ".join(words)]}))
        assert found.why(0, "ana") is not None


def test_what_was_found_stays_readable_after_unsubscribing() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm")
    found = matcher.match(pa.table({"text": ["storm"]}))
    assert found.pairs() == [(0, "ana")]
    matcher.unsubscribe("ana")
    assert found.pairs() == [(0, "ana")]
    with pytest.raises(ConfigError, match="query 0 is gone"):
        matcher.why(0, found.post(0))


def test_ids_and_queries_must_be_as_many() -> None:
    with pytest.raises(ConfigError, match="1 subscription ids for 2 queries"):
        Matcher().subscribe_many(["a"], ["storm", "flood"])


def test_a_subscription_that_failed_half_way_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Matcher()

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr("tidegate.index.live.Live.add", fail)
        with pytest.raises(MemoryError):
            matcher.subscribe("ana", "storm")
    assert (len(matcher), matcher.n_queries) == (0, 0)
    matcher.subscribe("ana", "storm")
    assert matcher.match(pa.table({"text": ["storm"]})).pairs() == [(0, "ana")]


def test_candidates_are_what_the_index_proposed() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm -coast")
    matcher.subscribe("ben", "storm coast")
    found = matcher.match(pa.table({"text": ["storm coast", "flood"]}))
    assert (found.candidates, len(found.queries.values)) == (2, 1)


def test_an_empty_batch_and_no_subscriptions_give_no_matches() -> None:
    matcher = Matcher()
    empty = pa.table({"text": pa.array([], pa.string())})
    assert matcher.match(empty).pairs() == []
    assert matcher.match(pa.table({"text": ["storm", None]})).pairs() == []
    matcher.subscribe("ana", "storm")
    assert matcher.match(empty).pairs() == []
