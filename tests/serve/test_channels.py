"""What a subscriber is reached by: secrets of webhooks, devices that take pushes, and the link that ends letters."""

from base64 import urlsafe_b64decode
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.serve.conftest import settings_at
from tests.serve.scene import DEVICE, PROBLEM, Scene
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.published import PublicAddress
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.errors import ConfigError
from tidegate.serve.app import make_app
from tidegate.serve.service import Service
from tidegate.serve.settings import Limits

SECRET = "/subscribers/ana/webhook-secret"
PUSH = "/subscribers/ana/push"


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


def link(service: Service, subscriber: str = "ana", channel: str = "email") -> str:
    return UnsubscribeLinks("/unsubscribe/", service.signing_keys.unsubscribe).link(Wish(subscriber, channel))


def preferences(scene: Scene) -> Preferences:
    return Preferences.from_json(scene.ask("ana", "GET", "/subscribers/ana").json()["preferences"])


def test_the_secret_that_is_read_is_the_one_that_webhooks_are_signed_with(scene: Scene) -> None:
    old = scene.ask("ana", "GET", SECRET).json()["secret"]
    assert old == scene.ask("operator", "GET", SECRET).json()["secret"]
    answer = scene.ask("ana", "POST", f"{SECRET}/rotate")
    assert answer.status_code == 201
    new = scene.ask("ana", "GET", SECRET).json()["secret"]
    assert answer.json()["secret"] == new != old
    assert scene.service.webhook_secrets.valid(["ana"]) == {"ana": (new, old)}


def test_the_key_of_pushes_is_a_point_of_the_curve(scene: Scene) -> None:
    key = scene.ask("ana", "GET", "/push/key").json()["key"]
    point = urlsafe_b64decode(key + "=" * (-len(key) % 4))
    numbers = scene.service.signing_keys.push.public_key().public_numbers()
    assert point == b"\x04" + numbers.x.to_bytes(32) + numbers.y.to_bytes(32)


def test_a_device_is_registered_once_and_removed(scene: Scene) -> None:
    wishes = {"zone": "Europe/Berlin", "addresses": {"email": "ana@example.org"}}
    scene.ask("ana", "PUT", "/subscribers/ana", json={"preferences": wishes})
    tablet = {**DEVICE, "endpoint": "https://push.example/tablet", "expirationTime": None}
    for device in (DEVICE, tablet, DEVICE):
        answer = scene.ask("ana", "POST", PUSH, json=device)
    assert (answer.status_code, answer.json()) == (201, {"endpoints": [tablet["endpoint"], DEVICE["endpoint"]]})
    for _ in range(2):
        answer = scene.ask("ana", "DELETE", PUSH, params={"endpoint": tablet["endpoint"]})
        assert (answer.status_code, answer.json()) == (200, {"endpoints": [DEVICE["endpoint"]]})
    found = preferences(scene)
    assert [device.to_json() for device in found.addresses.push] == [DEVICE]
    assert (found.zone, found.addresses.email) == ("Europe/Berlin", "ana@example.org")


@pytest.mark.parametrize(
    "device",
    [
        {**DEVICE, "endpoint": "ftp://push.example/"},
        {**DEVICE, "endpoint": "https://user@push.example/"},
        {**DEVICE, "keys": {"p256dh": "AAAA", "auth": "A" * 22}},
        {"endpoint": "https://push.example/"},
    ],
)
def test_a_device_that_cannot_be_reached_is_refused(scene: Scene, device: dict[str, object]) -> None:
    answer = scene.ask("ana", "POST", PUSH, json=device)
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert preferences(scene).addresses.push == ()


def test_devices_are_not_without_number(scene: Scene) -> None:
    devices = [{**DEVICE, "endpoint": f"https://push.example/{number}"} for number in range(21)]
    answers = [scene.ask("ana", "POST", PUSH, json=device).status_code for device in devices]
    assert answers == [201] * 20 + [409]
    assert len(preferences(scene).addresses.push) == 20


def test_a_link_is_opened_without_harm_and_posted_to_with_one_click(scene: Scene) -> None:
    wishes = {"addresses": {"email": "ana@example.org"}, "refuse": ["live"]}
    scene.ask("ana", "PUT", "/subscribers/ana", json={"preferences": wishes})
    asked = scene.ask(None, "GET", link(scene.service))
    assert (asked.status_code, asked.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert '<form method="post">' in asked.text
    assert "default-src 'none'" in asked.headers["content-security-policy"]
    assert preferences(scene).lacks("email") is None
    for body in ({"data": {"List-Unsubscribe": "One-Click"}}, {"files": {"List-Unsubscribe": (None, "One-Click")}}, {}):
        done = scene.ask(None, "POST", link(scene.service), **body)
        assert (done.status_code, done.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert preferences(scene).refuse == {"live", "email"}


def test_a_link_of_somebody_who_has_left_ends_nothing_and_is_no_error(scene: Scene) -> None:
    old = link(scene.service)
    scene.ask("operator", "DELETE", "/subscribers/ana")
    assert scene.ask(None, "POST", old).status_code == 200
    assert scene.service.subscribers.get("ana") is None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_link_that_was_made_up_does_nothing(scene: Scene, method: str) -> None:
    true = link(scene.service)
    last = "A" if true[-4] != "A" else "B"
    other = UnsubscribeLinks("/unsubscribe/", b"another key" * 3).link(Wish("ana", "email"))
    for made_up in (f"{true[:-4]}{last}{true[-3:]}", other, "/unsubscribe/AAAA", "/unsubscribe/" + "A" * 600):
        answer = scene.ask(None, method, made_up)
        assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)
    assert preferences(scene).refuse == frozenset()


def test_names_stay_text_on_the_page(scene: Scene) -> None:
    page = scene.ask(None, "GET", link(scene.service, "<script>alert(1)</script>")).text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_links_cannot_be_guessed_at_any_rate(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, Limits(refused_per_s=0.1, refused_burst=2)))
    with TestClient(make_app(service)) as client:
        assert [client.post("/unsubscribe/AAAA").status_code for _ in range(3)] == [404, 404, 429]
    service.close()


def test_the_public_address_is_told_to_who_writes_letters(tmp_path: Path, url: str) -> None:
    settings = settings_at(tmp_path, database=url)
    service = Service.open(replace(settings, public_address="https://tide.example/"))
    assert PublicAddress(service.database).get() == "https://tide.example"
    service.close()
    with pytest.raises(ConfigError, match="give one that begins with https://"):
        Service.open(replace(settings, public_address="http://tide.example/"))
