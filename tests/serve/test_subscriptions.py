"""Subscriptions through the API: what is acknowledged is in the store, and what is paused is not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from tests.serve.conftest import GENEROUS, settings_at
from tests.serve.scene import PROBLEM, Scene
from tidegate.serve.app import make_app
from tidegate.serve.catalogue import Catalogue
from tidegate.serve.paused import Paused
from tidegate.serve.post import Post
from tidegate.serve.routes import subscriptions
from tidegate.serve.service import Service
from tidegate.serve.standing_rows import StandingRows
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep


def test_a_subscription_that_is_acknowledged_is_in_the_store(scene: Scene) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    asked = {
        "query": "Storms OR floods",
        "region": [9.9, 54.2, 10.3, 54.5],
        "tags": ["work"],
        "ranking": {"k": 3, "window": "1h"},
        "expires": tomorrow,
    }
    answer = scene.ask("ana", "POST", "/subscriptions", json=asked)
    assert answer.status_code == 201
    made = answer.json()["subscription"]
    assert made["canonical"] == "flood in:(9.9,54.2,10.3,54.5) OR storm in:(9.9,54.2,10.3,54.5)"
    assert made["state"] == "active"
    row = scene.service.store.get(made["id"])
    assert row is not None
    assert (row["subscriber"], row["query"], row["tags"]) == ("ana", "Storms OR floods", ["work"])
    assert scene.ask("ana", "GET", f"/subscriptions/{made['id']}").json() == made


@pytest.mark.parametrize(
    ("asked", "position"),
    [({"query": "(storm"}, 0), ({"query": "-storm"}, 0), ({"query": "storm OR"}, 6), ({"query": ""}, 0)],
)
def test_a_query_that_cannot_be_read_is_refused_with_its_position_and_a_remedy(
    scene: Scene, asked: dict[str, str], position: int
) -> None:
    for path in ("/explain", "/dry-run", "/subscriptions"):
        answer = scene.ask("ana", "POST", path, json=asked)
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (422, "urn:tidegate:problem:query")
        assert problem["position"] == position
        assert problem["hint"]
    assert scene.service.store.subscriptions().num_rows == 0


@pytest.mark.parametrize(
    "asked",
    [
        {"query": "storm", "region": [0, 0, 0]},
        {"query": "storm", "region": [0, 50, 10, 40]},
        {"query": "storm", "region": "storm"},
        {"query": "storm", "ranking": {"colour": 3}},
        {"query": "storm", "expires": "2030-01-01T00:00:00"},
        {"query": "storm " * 1000},
    ],
)
def test_what_the_store_would_refuse_is_refused(scene: Scene, asked: dict[str, object]) -> None:
    assert scene.ask("ana", "POST", "/subscriptions", json=asked).status_code == 422
    assert scene.service.store.subscriptions().num_rows == 0


def test_what_is_paused_is_not_in_the_store_and_comes_back_as_it_was(scene: Scene) -> None:
    subscription = scene.subscribe("ana", "storm", tags=["work"])
    before = scene.ask("ana", "GET", f"/subscriptions/{subscription}").json()
    for _ in range(2):  # to do so again changes nothing
        paused = scene.ask("ana", "POST", f"/subscriptions/{subscription}/pause").json()
        assert paused == {**before, "state": "paused"}
        assert scene.service.store.get(subscription) is None
        assert scene.ask("ana", "GET", "/subscriptions").json()["items"] == [paused]
    for _ in range(2):
        assert scene.ask("ana", "POST", f"/subscriptions/{subscription}/resume").json() == before
        assert scene.service.store.get(subscription) is not None
        assert scene.ask("ana", "GET", "/subscriptions").json()["items"] == [before]


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_change_leaves_the_rest_as_it_was(scene: Scene, is_paused: bool) -> None:
    subscription = scene.subscribe("ana", "storm", tags=["work"])
    if is_paused:
        scene.ask("ana", "POST", f"/subscriptions/{subscription}/pause")
    before = scene.ask("ana", "GET", f"/subscriptions/{subscription}").json()
    changed = scene.ask("ana", "PATCH", f"/subscriptions/{subscription}", json={"query": "flood"}).json()
    assert changed["subscription"] == {**before, "query": "flood", "canonical": "flood"}
    assert scene.ask("ana", "GET", f"/subscriptions/{subscription}").json() == changed["subscription"]
    for bad in ({"query": "(flood"}, {"query": None}, {"ranking": {"colour": 3}}, {"subscriber": "ben"}):
        assert scene.ask("ana", "PATCH", f"/subscriptions/{subscription}", json=bad).status_code == 422
    assert scene.ask("ana", "GET", f"/subscriptions/{subscription}").json() == changed["subscription"]


@pytest.mark.parametrize("is_paused", [False, True])
def test_what_is_removed_is_gone(scene: Scene, is_paused: bool) -> None:
    subscription = scene.subscribe("ana", "storm")
    if is_paused:
        scene.ask("ana", "POST", f"/subscriptions/{subscription}/pause")
    assert scene.ask("ana", "DELETE", f"/subscriptions/{subscription}").status_code == 204
    assert scene.ask("ana", "GET", f"/subscriptions/{subscription}").status_code == 404
    assert scene.ask("ana", "DELETE", f"/subscriptions/{subscription}").status_code == 404
    assert scene.ask("ana", "GET", "/subscriptions").json()["items"] == []


@pytest.mark.parametrize("meanwhile", ["remove", "pause"])
def test_a_change_does_not_undo_what_was_done_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    made, catalogue = scene.subscribe("ana", "storm"), scene.service.catalogue
    estimated = subscriptions._estimated

    def late(*asked: Any) -> Any:
        found = catalogue.get(made)
        assert found is not None
        getattr(catalogue, meanwhile)(found)
        return estimated(*asked)

    monkeypatch.setattr(subscriptions, "_estimated", late)
    answer = scene.ask("ana", "PATCH", f"/subscriptions/{made}", json={"query": "flood"})
    assert (answer.status_code, answer.headers["content-type"]) == (409, PROBLEM)
    found = catalogue.get(made)
    assert (found is None, found is not None and found.is_paused) == (meanwhile == "remove", meanwhile == "pause")


def test_what_is_removed_is_gone_though_it_was_resumed_meanwhile(scene: Scene) -> None:
    made, catalogue = scene.subscribe("ana", "storm"), scene.service.catalogue
    found = catalogue.get(made)
    assert found is not None
    paused = catalogue.pause(found)
    catalogue.resume(paused)
    catalogue.remove(paused)
    assert catalogue.get(made) is None


def test_what_has_expired_is_not_resumed(scene: Scene) -> None:
    soon = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    subscription = scene.subscribe("ana", "storm")
    scene.ask("ana", "POST", f"/subscriptions/{subscription}/pause")
    changed = scene.ask("ana", "PATCH", f"/subscriptions/{subscription}", json={"expires": soon}).json()
    assert changed["subscription"]["state"] == "expired"
    assert scene.ask("ana", "POST", f"/subscriptions/{subscription}/resume").status_code == 409
    scene.ask("ana", "PATCH", f"/subscriptions/{subscription}", json={"expires": None})
    assert scene.ask("ana", "POST", f"/subscriptions/{subscription}/resume").json()["state"] == "active"


def test_pages_have_every_subscription_once_whatever_is_paused(scene: Scene) -> None:
    made = [scene.subscribe(who, f"word{number}") for number in range(6) for who in ("ana", "ben")]
    for each in made[::3]:
        scene.ask("operator", "POST", f"/subscriptions/{each}/pause")
    for who, expected in (("ana", made[::2]), ("operator", made)):
        found, after = [], ""
        while after is not None:
            page = scene.ask(who, "GET", f"/subscriptions?limit=2&after={after}").json()
            assert len(page["items"]) <= 2
            found += [each["id"] for each in page["items"]]
            after = page["next"]
        assert found == sorted(expected)


def test_nobody_has_more_subscriptions_than_are_allowed(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, replace(GENEROUS, subscriptions=2)))
    with TestClient(make_app(service)) as client:
        scene = Scene(service, client)
        first = scene.subscribe("ana", "storm")
        scene.subscribe("ana", "flood")
        scene.ask("ana", "POST", f"/subscriptions/{first}/pause")
        assert scene.ask("ana", "POST", "/subscriptions", json={"query": "rain"}).status_code == 409
        scene.subscribe("ben", "rain")
    service.close()


def test_what_was_being_paused_or_resumed_when_the_service_died_is_active(service: Service) -> None:
    made = service.catalogue.make({"subscriber": "ana", "query": "storm"})
    Paused(service.database).put(made.row)  # half-way, there and back: it is in both places
    again = Catalogue(service.store, service.database)
    assert [each.is_paused for each in again.of("ana")] == [False]
    service.store.unsubscribe(made.id)
    assert again.of("ana") == []


def test_over_broad_subscriptions_are_refused_with_the_estimate(scene: Scene) -> None:
    scene.service.recent.add([Post(text=f"storm number{number}") for number in range(200)])
    answer = scene.ask("ana", "POST", "/subscriptions", json={"query": "storm"})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:tidegate:problem:over-broad")
    assert answer.json()["estimate"] == pytest.approx(200 * 1440, rel=0.05)
    narrow = scene.ask("ana", "POST", "/subscriptions", json={"query": "storm number7"}).json()
    expected = narrow["expected"]
    assert abs(datetime.fromisoformat(expected["since"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert expected == {
        "per_day": pytest.approx(1440, rel=0.05),
        "low": pytest.approx(254, rel=0.05),
        "high": pytest.approx(8037, rel=0.05),
        "matched": 1,
        "posts": 200,
        "stands_for": 200,
        "since": expected["since"],
        "allowed": 20_000,
    }
    changed = scene.ask("ana", "PATCH", f"/subscriptions/{narrow['subscription']['id']}", json={"query": "storm"})
    assert changed.status_code == 422


def test_from_a_few_posts_nothing_is_estimated(scene: Scene) -> None:
    scene.service.recent.add([Post(text="storm")] * 99)
    answer = scene.ask("ana", "POST", "/subscriptions", json={"query": "storm"})
    expected = answer.json()["expected"]
    assert (expected["per_day"], expected["low"], expected["high"], expected["posts"]) == (None, None, None, 99)


def test_an_explanation_says_what_a_query_means(scene: Scene) -> None:
    explained = scene.ask("ana", "POST", "/explain", json={"query": 'Storms -film OR "flood warning"'}).json()
    assert explained["canonical"] == '"flood warning" OR storm -film'
    assert explained["alternatives"][1] == {"wanted": ["storm"], "excluded": ["film"]}
    spelt_otherwise = scene.ask(
        "ana", "POST", "/explain", json={"query": '"Flood warning" OR (storm NOT films)'}
    ).json()
    assert spelt_otherwise == explained


def test_a_dry_run_shows_the_newest_matches_and_why(scene: Scene) -> None:
    texts = ["A storm in the north", "Calm", "Two storms, @esa", "storm again"]
    scene.service.recent.add([Post(id=str(n), text=text, author="nasa") for n, text in enumerate(texts)])
    tried = scene.ask("ana", "POST", "/dry-run", json={"query": "storm from:nasa", "limit": 2}).json()
    assert [each["post"]["id"] for each in tried["matches"]] == ["3", "2"]
    why = tried["matches"][1]["why"]
    assert [texts[2][mark["start"] : mark["end"]] for mark in why["marks"]] == ["storms"]
    assert why["others"] == ["from:nasa"]
    assert tried["expected"]["matched"] == 3


class TestStandingRows:
    """Rows of a store that changes are the store's rows."""

    @given(
        changes=st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from(["ana", "ben", None]), st.booleans()), max_size=12
        )
    )
    def test_any_history_of_changes_is_followed(
        self, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str | None, bool]]
    ) -> None:
        store = Store.open(tmp_path_factory.mktemp("store"))
        rows = StandingRows(store)
        for name, subscriber, look in changes:
            if subscriber is None:
                store.unsubscribe(name)
            else:
                store.subscribe(subscriber, "storm", id=name)
            if look:
                rows.of("ana")
        living = store.subscriptions().to_pylist()
        for subscriber in ("ana", "ben"):
            found = sorted(row["id"] for row in rows.of(subscriber))
            assert found == [row["id"] for row in living if row["subscriber"] == subscriber]
        for name in "abcd":
            assert rows.get(name) == next((row for row in living if row["id"] == name), None)
        assert sorted(row["id"] for row in rows.some(["a", "c", "x"])) == [
            row["id"] for row in living if row["id"] in "ac"
        ]
        assert rows.page("a", 2) == [row for row in living if row["id"] > "a"][:2]

    def test_what_was_folded_away_is_not_missed(self, tmp_path: Path) -> None:
        store = Store.open(tmp_path / "store")
        rows = StandingRows(store)
        store.subscribe("ana", "storm", id="a")
        store.subscribe("ana", "flood", id="b")
        assert len(rows.of("ana")) == 2
        store.unsubscribe("a")
        assert Upkeep(store, Policy(spent_rows=0)).fold_table() > 0
        store.subscribe("ana", "rain", id="c")
        assert sorted(row["id"] for row in rows.of("ana")) == ["b", "c"]
