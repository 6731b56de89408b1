"""Who is let in: keys are issued once, hashed, rotated and revoked; subscribers see themselves."""

import stat
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.serve.scene import Scene, bearer
from tidegate.errors import ConfigError
from tidegate.serve.first_key import first_key, kept_key
from tidegate.serve.service import Service


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


def test_a_key_says_whose_it_is(scene: Scene) -> None:
    assert scene.ask("ana", "GET", "/me").json() == {"name": "ana", "is_operator": False}
    assert scene.ask("operator", "GET", "/me").json()["is_operator"]


def test_the_first_key_is_shown_once(service: Service) -> None:
    assert first_key(service.database, service.keys) is not None
    assert first_key(service.database, service.keys) is None


def test_a_kept_key_is_for_its_owner_alone_and_issued_again_when_it_is_no_longer_valid(
    service: Service, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    assert kept_key(service.keys, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_text().strip()
    assert not kept_key(service.keys, path)
    service.keys.revoke(first)
    assert kept_key(service.keys, path)
    holder = service.keys.holder(path.read_text().strip())
    assert holder is not None
    assert holder.is_operator
    with pytest.raises(ConfigError, match="cannot be kept here"):
        kept_key(service.keys, tmp_path / "missing" / "key")


def test_keys_are_nowhere_in_the_database(scene: Scene) -> None:
    with scene.service.database.reading() as connection:
        rows = connection.execute(text("SELECT * FROM api_keys")).all()
    assert len(rows) == 3
    assert not any(key in str(row) for key in scene.keys.values() for row in rows)


def test_a_rotated_key_takes_the_place_of_the_old_one(scene: Scene) -> None:
    old = scene.keys["ana"]
    scene.keys["ana"] = scene.ask("ana", "POST", "/keys/rotate").json()["key"]
    assert scene.ask("ana", "GET", "/me").status_code == 200
    assert scene.client.get("/me", headers=bearer(old)).status_code == 401


def test_a_further_key_is_valid_beside_the_first_until_all_are_revoked(scene: Scene) -> None:
    further = scene.ask("operator", "POST", "/subscribers/ana/keys").json()["key"]
    assert [scene.client.get("/me", headers=bearer(key)).status_code for key in (further, scene.keys["ana"])] == [
        200
    ] * 2
    assert scene.ask("operator", "DELETE", "/subscribers/ana/keys").status_code == 204
    assert [scene.client.get("/me", headers=bearer(key)).status_code for key in (further, scene.keys["ana"])] == [
        401
    ] * 2


def test_a_subscriber_can_throw_its_key_away(scene: Scene) -> None:
    assert scene.ask("ana", "DELETE", "/keys/current").status_code == 204
    assert scene.ask("ana", "GET", "/me").status_code == 401


def test_a_name_is_given_once(scene: Scene) -> None:
    for name in ("ana", "operator"):
        answer = scene.ask("operator", "POST", "/subscribers", json={"name": name})
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:tidegate:problem:conflict")


def test_subscribers_are_listed_page_by_page(scene: Scene) -> None:
    first = scene.ask("operator", "GET", "/subscribers?limit=1").json()
    rest = scene.ask("operator", "GET", f"/subscribers?after={first['next']}").json()
    assert [each["name"] for each in first["items"] + rest["items"]] == ["ana", "ben"]
    assert rest["next"] is None


def test_preferences_are_kept_and_bounded(scene: Scene) -> None:
    wishes = {"preferences": {"zone": "Europe/Berlin"}, "tags": ["b", "a"]}
    assert scene.ask("ana", "PUT", "/subscribers/ana", json=wishes).status_code == 200
    shown = scene.ask("ana", "GET", "/subscribers/ana").json()
    assert (shown["preferences"], shown["tags"]) == ({"zone": "Europe/Berlin"}, ["a", "b"])
    too_much = {"preferences": {"tags": ["x" * 20_000]}}
    assert scene.ask("ana", "PUT", "/subscribers/ana", json=too_much).status_code == 422


@pytest.mark.parametrize(
    ("preferences", "said"),
    [
        ({"zone": "Europe/Atlantis"}, "no time zone is called 'Europe/Atlantis'"),
        ({"colour": "red"}, "preferences has no field 'colour'"),
        ({"quiet": {"from": "22:00"}}, "preferences.quiet.until is None"),
        ({"addresses": {"email": "ana@example.org\r\nBcc: all@example.org"}}, "preferences.addresses.email is"),
        ({"addresses": {"webhook": "file:///etc/passwd"}}, "preferences.addresses.webhook: "),
    ],
)
def test_preferences_that_cannot_be_are_refused_with_their_place(
    scene: Scene, preferences: dict[str, object], said: str
) -> None:
    for who, method, path, more in (
        ("ana", "PUT", "/subscribers/ana", {}),
        ("operator", "POST", "/subscribers", {"name": "eve"}),
    ):
        answer = scene.ask(who, method, path, json={"preferences": preferences, **more})
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:tidegate:problem:invalid")
        assert said in answer.json()["detail"]
    assert scene.ask("ana", "GET", "/subscribers/ana").json()["preferences"] == {}
    assert scene.ask("operator", "GET", "/subscribers/eve").status_code == 404


def test_a_subscriber_that_is_removed_leaves_nothing(scene: Scene) -> None:
    subscription = scene.subscribe("ana", "storm")
    paused = scene.subscribe("ana", "flood")
    scene.ask("ana", "POST", f"/subscriptions/{paused}/pause")
    scene.notify("ana", ["p1"])
    assert scene.ask("operator", "DELETE", "/subscribers/ana").status_code == 204
    assert scene.ask("ana", "GET", "/me").status_code == 401
    answers = [scene.ask("operator", "GET", f"/subscriptions/{each}") for each in (subscription, paused)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert scene.service.inbox.counts("ana").total == 0
