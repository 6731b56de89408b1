"""A name is one subscriber's at a time; who has it later gets nothing that was for somebody else."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.serve.scene import PROBLEM, Scene, matches
from tidegate.deliver.event import Event
from tidegate.serve.catalogue import Subscription


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


def test_matches_under_way_when_a_subscriber_was_removed_do_not_reach_the_next_of_its_name(scene: Scene) -> None:
    old, ended = scene.subscribe("ana", "storm"), scene.subscribe("ana", "flood")
    pinned = scene.service.store.version
    scene.ask("ana", "DELETE", f"/subscriptions/{ended}")
    assert scene.ask("operator", "DELETE", "/subscribers/ana").status_code == 204
    answer = scene.ask("operator", "POST", "/subscribers", json={"name": "ana"})
    scene.keys["ana"] = answer.json()["key"]
    new = scene.subscribe("ana", "storm")
    inbox = scene.service.inbox
    inbox.add([*matches("ana", ["p"], old), *matches("ana", ["q"], ended)], "run", 0, pinned)
    inbox.add(matches("ana", ["r"], old), "ranked", 0)
    inbox.add(matches("ana", ["s"], new), "run", 1, scene.service.store.version)
    assert [each["id"] for each in scene.ask("ana", "GET", "/inbox").json()["items"]] == ["s"]


def test_what_a_subscriber_told_of_itself_is_forgotten_with_it(scene: Scene) -> None:
    for topic in ("ana", "ana/phone"):
        scene.ask("ana", "POST", "/posts", json={"text": "away", "topic": topic, "topic_type": "presence"})
    anabel = Event("anabel", "presence", 1)
    site, kept = scene.service.hub.site, scene.service.last_events
    kept.keep([Event("ana/phone", "presence", 1), anabel])
    until(lambda: "ana/phone" in site.broker("ana/phone")._last)
    scene.ask("operator", "DELETE", "/subscribers/ana")
    until(lambda: "ana/phone" not in site.broker("ana/phone")._last)
    assert "ana" not in site.broker("ana")._last
    assert kept.read(10) == [anabel]


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_name_is_given_to_one_of_those_who_want_it_at_the_same_time(scene: Scene) -> None:
    def sign_up(_: int) -> int:
        return scene.ask("operator", "POST", "/subscribers", json={"name": "eve"}).status_code

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(sign_up, range(8))) == [201] + [409] * 7


def test_a_change_that_comes_too_late_does_not_bring_back_who_was_removed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when it was looked for, and is removed before it is changed."""
    replace = scene.service.subscribers.replace

    def late(name: str, *arguments: object) -> bool:
        scene.ask("operator", "DELETE", f"/subscribers/{name}")
        return replace(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scene.service.subscribers, "replace", late)
    assert scene.ask("ana", "PUT", "/subscribers/ana", json={"tags": ["x"]}).status_code == 404
    assert scene.service.subscribers.get("ana") is None


def test_a_subscription_that_is_made_while_its_subscriber_is_removed_is_nobodys(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would match on, and for whoever is called the same later."""
    make = scene.service.catalogue.make

    def late(asked: dict[str, Any]) -> Subscription:
        scene.ask("operator", "DELETE", "/subscribers/ana")
        return make(asked)

    monkeypatch.setattr(scene.service.catalogue, "make", late)
    answer = scene.ask("ana", "POST", "/subscriptions", json={"query": "storm"})
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)
    assert scene.service.catalogue.of("ana") == []
