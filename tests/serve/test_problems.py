"""Whatever goes wrong is answered with problem details."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse
from starlette.types import Message, Receive, Scope, Send

from tests.serve.conftest import GENEROUS, settings_at
from tests.serve.scene import PROBLEM, Scene, bearer
from tidegate.deliver.database import UnreachableError
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.serve.app import make_app
from tidegate.serve.limits import BoundedBodies, TokenBuckets
from tidegate.serve.service import Service
from tidegate.serve.settings import Limits


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("PUT", "/me", 405),
        ("GET", "/inbox?limit=0", 422),
        ("GET", "/subscriptions/none", 404),
    ],
)
def test_refusals_are_problem_details(scene: Scene, method: str, path: str, status: int) -> None:
    answer = scene.ask("ana", method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["status"] == status
    assert answer.json()["title"]
    assert answer.json()["detail"]


def test_a_method_that_is_not_allowed_comes_with_those_that_are(scene: Scene) -> None:
    assert scene.ask("ana", "PUT", "/me").headers["allow"] == "GET"


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[1]", b'{"query": 5}', b'{"query": "a", "colour": "red"}'])
def test_a_body_that_is_none_is_refused(scene: Scene, body: bytes) -> None:
    answer = scene.ask("ana", "POST", "/explain", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("GET", "/nowhere", None, "there is nothing at /nowhere: /openapi.json says what there is"),
        ("PATCH", "/posts", None, "/posts does not take PATCH: it takes POST"),
        ("POST", "/explain", b'{"query": nonsense}', "body: no JSON: Expecting value, at character 10"),
        ("POST", "/explain", b'"storm"', "body: give a JSON object, with the header Content-Type: application/json"),
    ],
)
def test_a_refusal_says_what_would_be_right(
    scene: Scene, method: str, path: str, body: bytes | None, detail: str
) -> None:
    headers = {"Content-Type": "application/json"}
    assert scene.ask("ana", method, path, content=body, headers=headers).json()["detail"] == detail


def test_a_body_without_its_type_is_told_so(scene: Scene) -> None:
    answer = scene.ask("ana", "POST", "/explain", content=b'{"query": "storm"}')
    assert "with the header Content-Type: application/json" in answer.json()["detail"]


def test_an_invalid_request_names_every_value_that_is_wrong(scene: Scene) -> None:
    answer = scene.ask("ana", "POST", "/inbox/read", json={"cursors": [-1], "up_to": "x"})
    assert {each["where"] for each in answer.json()["errors"]} == {"body.cursors.0", "body.up_to"}


def test_a_misspelt_parameter_is_named_beside_those_there_are(scene: Scene) -> None:
    answer = scene.ask("ana", "GET", "/history?topic=kiel&limt=5")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "there is no parameter 'limt': these are limit, since, topic"


def test_of_two_values_none_is_taken(scene: Scene) -> None:
    answer = scene.ask("ana", "GET", "/inbox?subscriber=ana&subscriber=ben")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "parameter 'subscriber' is given 2 times: give it once"


def test_a_body_that_is_too_large_is_not_read(scene: Scene) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 100_000

    answer = scene.ask("ana", "POST", "/posts", content=endless())
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:tidegate:problem:too-large")


def test_of_a_body_that_broke_off_nothing_is_taken() -> None:
    """What has come of it may mean something else than the whole."""
    reached: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["path"])

    parts: list[Message] = [
        {"type": "http.request", "body": b"12", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return parts.pop(0)

    async def send(_: Message) -> None:
        pass

    asyncio.run(BoundedBodies(app, most=100)({"type": "http", "path": "/posts"}, receive, send))
    assert reached == []


def test_what_nobody_foresaw_is_a_problem_that_tells_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(scene.service.inbox, "counts", broken)
    answer = scene.ask("ana", "GET", "/inbox/counts")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "secret" not in answer.text


def test_a_database_that_is_away_is_a_problem_for_now(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: str) -> None:
        raise UnreachableError("a secret host")

    monkeypatch.setattr(scene.service.inbox, "counts", away)
    answer = scene.ask("ana", "GET", "/inbox/counts")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "secret" not in answer.text


def test_who_asks_too_often_is_told_when_to_ask_again(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, Limits(requests_per_s=0.5, burst=3)))
    with TestClient(make_app(service)) as client:
        ana, ben = (bearer(service.keys.issue(name)) for name in ("ana", "ben"))
        assert [client.get("/me", headers=ana).status_code for _ in range(4)] == [200, 200, 200, 429]
        answer = client.get("/me", headers=ana)
        assert (answer.headers["retry-after"], answer.headers["content-type"]) == ("2", PROBLEM)
        assert client.get("/me", headers=ben).status_code == 200
    service.close()


def test_keys_cannot_be_guessed_at_any_rate(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path, Limits(refused_per_s=0.1, refused_burst=2)))
    with TestClient(make_app(service)) as client:
        assert [client.get("/me", headers=bearer("tide_x")).status_code for _ in range(3)] == [401, 401, 429]
        assert client.get("/me", headers=bearer(service.keys.issue("ana"))).status_code == 200
    service.close()


def test_a_subscriber_has_so_many_feeds_and_no_more(tmp_path: Path) -> None:
    """Each is a socket of the service's, of which all subscribers have so many together."""
    service = Service.open(settings_at(tmp_path, replace(GENEROUS, feeds=2)))
    ana, ben = (bearer(service.keys.issue(name)) for name in ("ana", "ben"))
    with TestClient(make_app(service)) as client, client.websocket_connect("/ws", headers=ana) as first:
        first.receive_json()
        with client.websocket_connect("/ws", headers=ana) as second:
            second.receive_json()
            answer = client.get("/live", headers=ana)
            assert (answer.status_code, answer.headers["content-type"]) == (429, PROBLEM)
            with pytest.raises(WebSocketDenialResponse), client.websocket_connect("/ws", headers=ana):
                pass
            with client.websocket_connect("/ws", headers=ben) as another:
                assert another.receive_json()["event"] == "ready"
        while service.hub.feeds_of("ana") == 2:
            time.sleep(0.01)
        with client.websocket_connect("/ws", headers=ana) as third:
            assert third.receive_json()["event"] == "ready"
    service.close()


def test_one_click_that_unsubscribes_counts_against_nobody_else(tmp_path: Path) -> None:
    """Mail programs click for all their users from a few addresses, and do not ask again."""
    service = Service.open(settings_at(tmp_path, Limits(refused_per_s=0.1, refused_burst=2)))
    links = UnsubscribeLinks("/unsubscribe/", service.signing_keys.unsubscribe)
    with TestClient(make_app(service)) as client:
        answers = [client.post(links.link(Wish(f"reader{number}", "email"))) for number in range(4)]
        assert [each.status_code for each in answers] == [200] * 4
        assert [client.get("/unsubscribe/made-up").status_code for _ in range(3)] == [404, 404, 429]
        again = [client.post(links.link(Wish("ana", "email"))).status_code for _ in range(3)]
        assert again == [200, 200, 429], "a link that is clicked on and on is held up all the same"
    service.close()


def test_a_bucket_fills_with_time() -> None:
    now = 0.0
    buckets = TokenBuckets(rate=2, burst=4, clock=lambda: now)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now = 0.25
    assert buckets.take("a") == pytest.approx(0.25)
    now = 1.0
    assert [buckets.take("a") > 0 for _ in range(3)] == [False, False, True]
    now = 1000.0
    assert [buckets.take("a") > 0 for _ in range(5)] == [False] * 4 + [True]
