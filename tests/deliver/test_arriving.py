"""Matches become notifications as plain Python would make them."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deliver.scenes import match
from tidegate.deliver.arriving import arriving
from tidegate.errors import ConfigError

NOW = 77
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=3)
MATCHES = st.lists(
    st.builds(
        match,
        st.sampled_from("ab") | NAMES,
        st.sampled_from("xy") | NAMES,
        st.sampled_from("st") | NAMES | st.none(),
        at=st.none() | st.integers(0, 2**60),
        topic=st.none() | st.sampled_from("pq"),
        rank=st.none() | st.integers(1, 3),
    )
)


def plain(rows: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The reasons of every subscriber and post, one by one."""
    told: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        reason = {"subscription": row["subscription"]} | ({} if row["rank"] is None else {"rank": row["rank"]})
        reasons = told.setdefault((row["subscriber"], row["id"]), [])
        if reason not in reasons:
            reasons.append(reason)
    return told


@given(MATCHES)
def test_several_matches_of_a_subscriber_and_a_post_are_one_notification(rows: list[dict[str, Any]]) -> None:
    brought = arriving(rows, NOW)
    found = brought.notifications.to_pylist()
    assert {(row["subscriber"], row["post"]): json.loads(row["reasons"]) for row in found} == plain(rows)
    assert len(found) == len(plain(rows))
    for row in found:
        first = next(one for one in rows if (one["subscriber"], one["id"]) == (row["subscriber"], row["post"]))
        own = f"subscriber:{row['subscriber']}"
        if first["subscription"] is not None:
            own = f"subscription:{first['subscription']}"
        assert row["topic"] == (own if first["topic"] is None else first["topic"])
        assert row["topic_type"] == ("match" if first["rank"] is None else "ranked")
        assert row["at"] == (NOW if first["at"] is None else first["at"])


@given(MATCHES)
def test_a_subscriber_s_notifications_keep_the_order_in_which_they_came(rows: list[dict[str, Any]]) -> None:
    found = arriving(rows, NOW).notifications.to_pylist()
    for subscriber in {row["subscriber"] for row in rows}:
        came = list(dict.fromkeys(row["id"] for row in rows if row["subscriber"] == subscriber))
        assert [row["post"] for row in found if row["subscriber"] == subscriber] == came


@given(MATCHES)
def test_posts_and_the_histories_of_named_topics_have_everything_once(rows: list[dict[str, Any]]) -> None:
    brought = arriving(rows, NOW)
    assert brought.posts.to_pylist() == [
        {"id": id_, "body": body} for id_, body in {row["id"]: row["post"] for row in rows}.items()
    ]
    named = dict.fromkeys((row["topic"], row["id"]) for row in rows if row["topic"] is not None)
    assert [(row["topic"], row["post"]) for row in brought.history.to_pylist()] == list(named)


def test_a_row_without_a_subscriber_is_for_the_history_alone() -> None:
    brought = arriving([match(None, "1", None, topic="account:nasa")], NOW)
    assert (brought.notifications.num_rows, brought.posts.num_rows, brought.history.num_rows) == (0, 1, 1)


def test_ids_may_be_numbers_and_times_of_any_unit() -> None:
    times = pa.array([1_500], pa.timestamp("ms", "UTC"))
    rows = pa.table({"subscriber": ["a"], "subscription": ["s"], "id": [7], "post": ["{}"], "at": times})
    (found,) = arriving(rows, NOW).notifications.to_pylist()
    assert (found["post"], found["at"]) == ("7", 1_500_000)


def test_characters_that_no_database_takes_are_replaced() -> None:
    (found,) = arriving([match("a\0b", "1", "s\0")], NOW).notifications.to_pylist()
    assert found["subscriber"] == "a\ufffdb"
    assert json.loads(found["reasons"]) == [{"subscription": "s\ufffd"}]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match="no column 'post': they need subscriber, subscription, id, post"):
        arriving(pa.table({"subscriber": ["a"], "subscription": ["s"], "id": ["1"]}), NOW)
    with pytest.raises(ConfigError, match="1 of 2 notifications have no id"):
        arriving([match("a", "1"), {**match("a", "2"), "id": None}], NOW)


def test_a_notification_is_offloaded_if_all_of_its_matches_are() -> None:
    rows = [
        match("ana", "x", "s", offloaded=True),
        match("ana", "x", "t", offloaded=False),
        match("ana", "y", "s", offloaded=True),
        match("ana", "y", "t", offloaded=True),
        match("ben", "x", "s"),
    ]
    told = arriving(rows, NOW).notifications.to_pydict()
    found = dict(zip(zip(told["subscriber"], told["post"], strict=True), told["offloaded"], strict=True))
    assert found == {("ana", "x"): 0, ("ana", "y"): 1, ("ben", "x"): 0}
