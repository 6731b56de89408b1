"""What a subscriber asks for through the API is what the engine does with what jobs bring into its inbox."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.deliver.delivery import Delivery
from tests.deliver.scenes import Clock
from tests.serve.scene import Scene, matches
from tidegate.deliver.clock import now
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.rules import Rules
from tidegate.serve.live import Connection
from tidegate.serve.wishes import known_from


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


@pytest.fixture
def delivery(scene: Scene) -> Delivery:
    """An engine beside the service, that sends letters to nobody and notes them."""
    clock = Clock()
    clock.now = now()
    made = Delivery(scene.service.database, clock, ["email"])
    made.known = known_from(scene.service.catalogue.standing)
    return made


def wish(scene: Scene, tags: list[str] | None = None, **preferences: Any) -> None:
    wishes = {"preferences": {"addresses": {"email": "ana@example.org"}, **preferences}, "tags": tags or []}
    answer = scene.ask("ana", "PUT", "/subscribers/ana", json=wishes)
    assert answer.status_code == 200, answer.text
    scene.ask("operator", "PUT", "/subscribers/ana/email/confirmed")


def bring(scene: Scene, batch: int, **posts: str) -> None:
    """Let a job bring posts, each by a subscription."""
    rows = [row for post, subscription in posts.items() for row in matches("ana", [post], subscription)]
    scene.service.inbox.add(rows, "run", batch)


def inbox(scene: Scene) -> list[str]:
    return [each["id"] for each in scene.ask("ana", "GET", "/inbox").json()["items"]]


def test_tags_of_a_subscriber_restrict_what_it_is_sent_to_subscriptions_that_have_one(
    scene: Scene, delivery: Delivery
) -> None:
    storms = scene.subscribe("ana", "storm", tags=["weather", "work"])
    football = scene.subscribe("ana", "football", tags=["sport"])
    wish(scene, tags=["weather"])
    bring(scene, 0, p=storms, q=football)
    delivery.run()
    assert delivery["email"] == [["p"]]
    scene.ask("ana", "PATCH", f"/subscriptions/{football}", json={"tags": ["weather"]})
    bring(scene, 1, r=football)
    delivery.run()
    assert delivery["email"] == [["p"], ["r"]]
    assert inbox(scene) == ["p", "q", "r"]


def test_what_is_muted_is_in_the_inbox_alone_until_it_is_no_longer(scene: Scene, delivery: Delivery) -> None:
    storms, floods = scene.subscribe("ana", "storm"), scene.subscribe("ana", "flood")
    wish(scene, mute={"subscriptions": [storms]})
    bring(scene, 0, p=storms, q=floods)
    delivery.run()
    wish(scene)
    bring(scene, 1, r=storms)
    delivery.run()
    assert delivery["email"] == [["q"], ["r"]]
    assert inbox(scene) == ["p", "q", "r"]


def test_several_queries_that_match_a_post_are_one_notification_and_one_letter(
    scene: Scene, delivery: Delivery
) -> None:
    ids = [scene.subscribe("ana", query) for query in ("storm", "coast", "storm coast")]
    wish(scene, mute={"subscriptions": ids[:1]})
    rows = [row for each in ids for row in matches("ana", ["p"], each)]
    scene.service.inbox.add(rows[:2], "run", 0)
    scene.service.inbox.add(rows[1:], "run", 1)
    delivery.run()
    (told,) = scene.ask("ana", "GET", "/inbox").json()["items"]
    assert [reason["subscription"] for reason in told["reasons"]] == ids
    assert delivery["email"] == [["p"]], "one of its reasons is muted, and the others are not"


def test_a_subscription_ends_by_itself_with_the_next_batch_after_its_time(scene: Scene) -> None:
    def matched(batch: int) -> set[str]:
        """What a job matches the posts of a batch against."""
        store = scene.service.store
        return set(store.subscriptions(store.pin("run", batch).store).column("id").to_pylist())

    soon = datetime.now(UTC) + timedelta(seconds=3)
    ending = scene.subscribe("ana", "storm", expires=soon.isoformat())
    lasting = scene.subscribe("ana", "storm")
    assert matched(0) == {ending, lasting}
    time.sleep(max(0, (soon - datetime.now(UTC)).total_seconds()))
    assert scene.ask("ana", "GET", f"/subscriptions/{ending}").json()["state"] == "expired"
    assert matched(1) == {lasting}


@pytest.fixture
def desk(scene: Scene) -> Connection:
    """A live feed of ana's, at her desk."""
    return scene.service.hub.join("ana", "", "desktop")


def told_live(scene: Scene, after: int = 0) -> list[str]:
    """What ana is told as it comes; who catches up is told the same."""
    service = scene.service
    told = [json.loads(event.data)["id"] for _, event in service.tail.after(after, frozenset(["ana"])).events]
    _, missed = service.feeds._page("ana", after)
    assert [each.id for each in missed] == told
    return told


@pytest.mark.usefixtures("desk")
def test_what_is_muted_has_other_tags_or_is_turned_off_is_not_told_live_but_in_the_inbox(scene: Scene) -> None:
    storms = scene.subscribe("ana", "storm", tags=["weather"])
    football = scene.subscribe("ana", "football", tags=["sport"])
    bring(scene, 0, p=storms, q=football)
    assert told_live(scene) == ["p", "q"]
    wish(scene, mute={"subscriptions": [storms]})
    assert told_live(scene) == ["q"]
    wish(scene, tags=["weather"])
    assert told_live(scene) == ["p"]
    wish(scene, refuse=["live"])
    assert told_live(scene) == []
    assert scene.service.tail.after(0, frozenset(["ana"])).cursor == 2
    assert inbox(scene) == ["p", "q"]


def test_rules_decide_what_is_told_live_as_soon_as_they_are_in_force(scene: Scene, desk: Connection) -> None:
    bring(scene, 0, p=scene.subscribe("ana", "storm"))
    rule = {"name": "phones only", "when": {"topic_type": ["match"], "device": ["mobile"]}, "then": ["live"]}
    rules = RuleTable(scene.service.database)
    rules.publish(Rules.parse(json.dumps({"rules": [rule, {"name": "rest", "then": ["inbox"]}]})))
    assert told_live(scene) == []
    scene.service.hub.join("ana", "", "mobile")
    assert told_live(scene) == ["p"]
    rules.publish(Rules.parse(json.dumps({"rules": [{"name": "hush", "then": ["nothing"]}]})))
    assert told_live(scene) == []
    assert inbox(scene) == ["p"]
    scene.service.hub.leave(desk)
    assert scene.service.hub.kinds_of("ana") == {"mobile"}
