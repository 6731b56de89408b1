"""The inbox through the API: everything since a cursor or a time, and read on one device is read on all."""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from tests.serve.scene import Scene, matches


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


def test_who_goes_on_from_the_last_cursor_misses_nothing(scene: Scene) -> None:
    for batch in range(4):
        scene.notify("ana", [f"p{batch}{number}" for number in range(3)], batch)
    found, cursor, more = [], 0, True
    while more:
        page = scene.ask("ana", "GET", f"/inbox?since={cursor}&limit=5").json()
        found += [each["id"] for each in page["items"]]
        cursor, more = page["cursor"], page["more"]
    assert found == [f"p{batch}{number}" for batch in range(4) for number in range(3)]
    assert scene.ask("ana", "GET", f"/inbox?since={cursor}").json() == {"items": [], "cursor": cursor, "more": False}
    scene.notify("ana", ["late"], 4)
    assert [each["id"] for each in scene.ask("ana", "GET", f"/inbox?since={cursor}").json()["items"]] == ["late"]


def test_a_post_that_satisfies_several_subscriptions_is_one_notification(scene: Scene) -> None:
    scene.notify("ana", ["p1"], 0, "s1")
    scene.notify("ana", ["p1"], 1, "s2")
    (told,) = scene.ask("ana", "GET", "/inbox").json()["items"]
    assert told["reasons"] == [{"subscription": "s1"}, {"subscription": "s2"}]
    assert told["post"] == {"text": "of p1"}


def test_what_came_after_a_time_is_found_by_it(scene: Scene) -> None:
    scene.notify("ana", ["early"], 0)
    scene.notify("ana", ["middle"], 1)
    moment = datetime.now(UTC)
    scene.notify("ana", ["late"], 2)

    def since(time: datetime) -> list[str]:
        page = scene.ask("ana", "GET", f"/inbox?since_time={quote(time.isoformat())}").json()
        return [each["id"] for each in page["items"]]

    assert since(moment) == ["middle", "late"]  # the batch before may have been on its way
    assert since(moment - timedelta(days=1)) == ["early", "middle", "late"]
    assert scene.ask("ana", "GET", "/inbox?since_time=2026-01-01T00:00:00").status_code == 422


def test_read_on_one_device_is_read_on_all(scene: Scene) -> None:
    scene.notify("ana", ["p1", "p2", "p3", "p4"])
    scene.notify("ben", ["p1"], 1)
    cursors = [each["cursor"] for each in scene.ask("ana", "GET", "/inbox").json()["items"]]
    scene.keys["anas phone"] = scene.ask("operator", "POST", "/subscribers/ana/keys").json()["key"]
    marked = scene.ask("ana", "POST", "/inbox/read", json={"cursors": [cursors[2]], "up_to": cursors[0]}).json()
    assert marked == {"marked": 2, "unread": 2}
    again = scene.ask("anas phone", "POST", "/inbox/read", json={"up_to": cursors[0]}).json()
    assert again == {"marked": 0, "unread": 2}
    page = scene.ask("anas phone", "GET", "/inbox?unread=true").json()
    assert [each["id"] for each in page["items"]] == ["p2", "p4"]
    assert [each["is_read"] for each in scene.ask("ana", "GET", "/inbox").json()["items"]] == [True, False, True, False]
    assert scene.ask("anas phone", "GET", "/inbox/counts").json() == {"total": 4, "unread": 2}
    assert scene.ask("ben", "GET", "/inbox/counts").json() == {"total": 1, "unread": 1}


def test_nothing_of_anothers_can_be_marked(scene: Scene) -> None:
    scene.notify("ana", ["p1"])
    (told,) = scene.ask("ana", "GET", "/inbox").json()["items"]
    assert scene.ask("ben", "POST", "/inbox/read", json={"cursors": [told["cursor"]]}).json()["marked"] == 0
    assert scene.ask("ana", "GET", "/inbox/counts").json()["unread"] == 1


def test_to_mark_nothing_is_a_mistake(scene: Scene) -> None:
    assert scene.ask("ana", "POST", "/inbox/read", json={}).status_code == 422


def test_a_topics_history_is_there_for_who_follows_it_later(scene: Scene) -> None:
    rows = [
        {"subscriber": None, "subscription": None, "id": f"p{n}", "post": "{}", "topic": "kiel", "topic_type": "city"}
        for n in range(3)
    ]
    scene.service.inbox.add(rows, "run", 0)
    page = scene.ask("ana", "GET", "/history?topic=kiel&limit=2").json()
    rest = scene.ask("ana", "GET", f"/history?topic=kiel&since={page['cursor']}").json()
    assert [each["id"] for each in page["items"] + rest["items"]] == ["p0", "p1", "p2"]
    assert scene.ask("ana", "GET", "/history?topic=elsewhere").json()["items"] == []


def test_a_post_about_a_topic_is_in_its_history_though_nobody_was_told_of_it(scene: Scene) -> None:
    about = {"topic": "kiel", "topic_type": "city", "ts": "2026-03-01T12:00:00Z"}
    posts = [{"id": "ana/p1", "text": "calm", **about}, {"id": "ana/p2", "text": "elsewhere"}]
    for _ in range(2):  # an answer may be lost, and posts handed in again
        assert scene.ask("ana", "POST", "/posts", json=posts).status_code == 201
    (entry,) = scene.ask("ana", "GET", "/history?topic=kiel").json()["items"]
    assert (entry["id"], entry["topic_type"], entry["post"]["text"]) == ("ana/p1", "city", "calm")
    told = [{**row, "topic": "kiel", "topic_type": "city"} for row in matches("ben", ["ana/p1"])]
    scene.service.inbox.add(told, "run", 0)
    assert len(scene.ask("ana", "GET", "/history?topic=kiel").json()["items"]) == 1
    assert scene.ask("ana", "GET", "/inbox").json()["items"] == []


def test_the_inbox_is_read_backwards_page_by_page(scene: Scene) -> None:
    scene.notify("ana", [f"p{number}" for number in range(5)], 0)
    scene.notify("ben", ["other"], 1)
    first = scene.ask("ana", "GET", "/inbox/latest?limit=3").json()
    assert [each["id"] for each in first["items"]] == ["p4", "p3", "p2"]
    assert first["cursor"] == 6  # a feed from here on brings what this has not
    rest = scene.ask("ana", "GET", f"/inbox/latest?limit=3&before={first['before']}").json()
    assert ([each["id"] for each in rest["items"]], rest["before"]) == (["p1", "p0"], None)


def test_what_comes_in_while_the_end_is_read_is_neither_missed_nor_told_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = scene.service.inbox
    newest = inbox.newest

    def newest_before_one_comes() -> int:
        found = newest()
        scene.notify("ana", [f"p{found}"], found)
        return found

    monkeypatch.setattr(inbox, "newest", newest_before_one_comes)
    page = scene.ask("ana", "GET", "/inbox/latest").json()
    assert ([each["id"] for each in page["items"]], page["cursor"]) == (["p0"], 1)


def test_reasons_are_told_with_the_words_that_satisfy_them(scene: Scene) -> None:
    storms = scene.subscribe("ana", "storm OR flood", region=[9, 53, 11, 55])
    gone = scene.subscribe("ana", "harbour")
    post = {"text": "🌊 Storms in the harbour", "lat": 54.3, "lon": 10.1, "author": 7}
    rows = [{"subscriber": "ana", "subscription": each, "id": "p", "post": json.dumps(post)} for each in (storms, gone)]
    scene.service.inbox.add(rows, "run", 0)
    assert scene.ask("ana", "DELETE", f"/subscriptions/{gone}").status_code == 204
    (found,) = scene.ask("ana", "GET", "/inbox/reasons?cursor=1&cursor=99").json()
    (satisfied, removed) = found["reasons"]
    assert satisfied["query"] == "(storm OR flood) in:(9,53,11,55)"
    assert satisfied["why"]["marks"] == [{"start": 2, "end": 8, "what": "storm"}]
    assert satisfied["why"]["others"] == ["in:(9,53,11,55)"]
    assert removed == {"subscription": gone, "query": None, "why": None}
    scene.ask("ana", "PATCH", f"/subscriptions/{storms}", json={"query": "hail"})
    (changed, _) = scene.ask("ana", "GET", "/inbox/reasons?cursor=1").json()[0]["reasons"]
    assert (changed["query"], changed["why"]) == ("(hail) in:(9,53,11,55)", None)


def test_nobody_is_told_why_another_was_told(scene: Scene) -> None:
    bens = scene.subscribe("ben", "secret")
    scene.notify("ben", ["p1"], 0, bens)
    scene.notify("ana", ["p1"], 1, bens)
    assert scene.ask("ana", "GET", "/inbox/reasons?cursor=1").json() == []
    # Had a subscription's id once been ana's, its text would still be ben's.
    (own,) = scene.ask("ana", "GET", "/inbox/reasons?cursor=2").json()
    assert own["reasons"] == [{"subscription": bens, "query": None, "why": None}]
