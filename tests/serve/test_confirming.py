"""An address is confirmed by the link in a letter or by an operator, and by nobody else."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.serve.conftest import settings_at
from tests.serve.scene import PROBLEM, Scene
from tidegate.deliver.clock import now
from tidegate.deliver.confirming import VALID, Claim, ConfirmLinks
from tidegate.deliver.outbox import Outbox
from tidegate.deliver.planning import CONFIRMATION
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.serve.app import make_app
from tidegate.serve.service import Service
from tidegate.serve.settings import Limits

LETTER = "/subscribers/ana/email/letter"
CONFIRMED = "/subscribers/ana/email/confirmed"
ADDRESS = "ana@example.org"


@pytest.fixture
def database_url(url: str) -> str:
    """Both kinds of databases."""
    return url


def link(scene: Scene, address: str = ADDRESS, age: int = 0) -> str:
    made = ConfirmLinks("/confirm/", scene.service.signing_keys.confirm, lambda: now() - age)
    return made.link(Claim("ana", address))


def name_address(scene: Scene, address: str = ADDRESS) -> dict[str, Any]:
    wishes = {"preferences": {"addresses": {"email": address}}}
    said: dict[str, Any] = scene.ask("ana", "PUT", "/subscribers/ana", json=wishes).json()
    return said


def is_confirmed(scene: Scene) -> bool | None:
    said: bool | None = scene.ask("ana", "GET", "/subscribers/ana").json()["email_confirmed"]
    return said


def letters(scene: Scene) -> int:
    """Those that are to be sent; they are, then."""
    outbox = Outbox(scene.service.database)
    taken = outbox.take([CONFIRMATION])
    for one in taken:
        outbox.sent(one.lease)
    return len(taken)


def test_a_link_is_opened_without_harm_and_confirms_when_it_is_posted_to(scene: Scene) -> None:
    assert is_confirmed(scene) is None
    assert name_address(scene)["email_confirmed"] is False
    assert letters(scene) == 1
    name_address(scene)
    assert letters(scene) == 0, "to change something else is no reason to ask again"
    shown = scene.ask(None, "GET", link(scene))
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert is_confirmed(scene) is False
    for _ in range(2):
        assert scene.ask(None, "POST", link(scene)).status_code == 200
    assert name_address(scene)["email_confirmed"] is True
    assert letters(scene) == 0
    assert name_address(scene, "eve@example.org")["email_confirmed"] is False
    assert letters(scene) == 1


def test_a_link_that_is_too_old_or_made_up_or_about_another_address_confirms_nothing(scene: Scene) -> None:
    name_address(scene)
    keys = scene.service.signing_keys
    for other in (
        link(scene, age=VALID),
        link(scene, "eve@example.org"),
        link(scene)[:-2],
        ConfirmLinks("/confirm/", b"another key" * 3).link(Claim("ana", ADDRESS)),
        UnsubscribeLinks("/confirm/", keys.unsubscribe).link(Wish("ana", "email")),
        UnsubscribeLinks("/confirm/", keys.confirm).link(Wish("ana", "email")),
    ):
        answer = scene.ask(None, "POST", other)
        assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)
    assert is_confirmed(scene) is False


def test_an_operator_needs_no_letter(scene: Scene) -> None:
    assert scene.ask("operator", "PUT", CONFIRMED).status_code == 409
    name_address(scene)
    assert scene.ask("ana", "PUT", CONFIRMED).status_code == 403
    assert scene.ask("operator", "PUT", CONFIRMED).status_code == 204
    assert is_confirmed(scene) is True
    assert scene.ask("ana", "POST", LETTER).status_code == 409


def test_another_letter_is_sent_a_few_times(scene: Scene) -> None:
    assert scene.ask("ana", "POST", LETTER).status_code == 409
    name_address(scene)
    statuses = []
    for _ in range(4):
        letters(scene)
        statuses.append(scene.ask("ana", "POST", LETTER).status_code)
    assert statuses == [202, 202, 429, 429]
    for number in range(5):
        letters(scene)
        assert name_address(scene, f"stranger{number}@example.org")["email_confirmed"] is False
    assert letters(scene) == 0, "with three to her own, two strangers were asked, and that is enough for a day"


def test_who_signs_up_with_an_address_is_asked(scene: Scene) -> None:
    asked = {"name": "eve", "preferences": {"addresses": {"email": "eve@example.org"}}}
    assert scene.ask("operator", "POST", "/subscribers", json=asked).status_code == 201
    assert letters(scene) == 1


def test_names_stay_text_on_the_page(scene: Scene) -> None:
    token = ConfirmLinks("", scene.service.signing_keys.confirm).link(Claim("<script>alert(1)</script>", ADDRESS))
    assert "<script>" not in scene.ask(None, "GET", f"/confirm/{token}").text


def test_links_cannot_be_guessed_at_any_rate(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, Limits(refused_per_s=0.1, refused_burst=2)))
    with TestClient(make_app(service)) as client:
        assert [client.post("/confirm/AAAA").status_code for _ in range(3)] == [404, 404, 429]
    service.close()


def test_nor_can_one_be_followed_at_any_rate(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, Limits(refused_per_s=0.1, refused_burst=2)))
    with TestClient(make_app(service)) as client:
        service.subscribers.put("ana", {"addresses": {"email": ADDRESS}})
        token = ConfirmLinks("/confirm/", service.signing_keys.confirm).link(Claim("ana", ADDRESS))
        assert [client.post(token).status_code for _ in range(3)] == [200, 200, 429]
        assert client.post("/confirm/AAAA").status_code == 404, "of those who have a link each is counted alone"
    service.close()
