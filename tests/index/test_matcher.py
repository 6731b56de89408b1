"""The matcher as a user meets it: ids, refusals, columns, counts."""

import pyarrow as pa
import pytest

from tidegate import ConfigError, Matcher, QueryError
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
        ["a", "b", "taken", "c", "c", "d"], ["storm", "(storm", "snow", "-storm", "flood", None]
    )
    assert [(r.row, r.subscription, type(r.error)) for r in refused] == [
        (1, "b", QueryError),
        (2, "taken", ConfigError),
        (3, "c", QueryError),
        (5, "d", QueryError),
    ]
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
    assert found.truncated == 1
    assert matcher.why(1, PostView(huge)) is None


def test_a_place_off_the_globe_is_counted_and_no_place() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", "storm in:(-180,-90,180,90)")
    found = matcher.match(pa.table({"text": ["storm", "storm"], "lat": [200.0, 20.0], "lon": [0.0, 0.0]}))
    assert found.pairs() == [(1, "ana")]
    assert found.misplaced == 1


def test_a_match_says_why() -> None:
    matcher = Matcher()
    matcher.subscribe("ana", 'sunny OR (storm* "flood warning")')
    post = PostView("Stormy: flood warning for Kiel")
    reason = matcher.why(0, post)
    assert reason is not None
    assert reason.highlight(post.text, "<", ">") == "<Stormy>: <flood warning> for Kiel"
    assert matcher.why(0, PostView("flood warning")) is None


def test_an_empty_batch_and_no_subscriptions_give_no_matches() -> None:
    matcher = Matcher()
    empty = pa.table({"text": pa.array([], pa.string())})
    assert matcher.match(empty).pairs() == []
    assert matcher.match(pa.table({"text": ["storm", None]})).pairs() == []
    matcher.subscribe("ana", "storm")
    assert matcher.match(empty).pairs() == []
