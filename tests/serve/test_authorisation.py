"""Every route of the app, as its table has them, asked without a key, with a wrong one, and for what is another's.

A route that is added is tested here without being named; one that needs no key has to be named.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.testclient import WebSocketDenialResponse

from tests.serve.scene import DEVICE, PROBLEM, Scene, bearer
from tidegate.deliver.confirming import Claim, ConfirmLinks
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.serve.app import make_app
from tidegate.serve.authentication import authenticated, operating
from tidegate.serve.routes import (
    channels,
    confirming,
    inbox,
    live,
    operator,
    posts,
    queries,
    subscribers,
    subscriptions,
    unsubscribing,
)
from tidegate.serve.service import Service

OPEN_TO_ALL = {"/healthz", "/unsubscribe/{token}", "/confirm/{token}"}
"""Routes that need no key."""
_MODULES = (channels, confirming, inbox, live, operator, posts, queries, subscribers, subscriptions, unsubscribing)


class Door(NamedTuple):
    """A method of a route."""

    method: str
    path: str
    route: APIRoute | APIWebSocketRoute

    def calls(self, dependant: Dependant | None = None) -> Iterator[Any]:
        """What is called before the route is, dependencies of dependencies too."""
        for each in (dependant or self.route.dependant).dependencies:
            yield each.call
            yield from self.calls(each)

    @property
    def takes_subscriber(self) -> bool:
        return any(each.alias == "subscriber" for each in self.route.dependant.query_params)


def _doors() -> list[Door]:
    routes = [route for module in _MODULES for route in module.router.routes]
    doors = [Door("WS", route.path, route) for route in routes if isinstance(route, APIWebSocketRoute)]
    for route in routes:
        if isinstance(route, APIRoute):
            doors += [Door(method, route.path, route) for method in sorted(route.methods or ())]
    return doors


DOORS = _doors()
LOCKED = [door for door in DOORS if door.path not in OPEN_TO_ALL]


def _name(door: Door) -> str:
    return f"{door.method} {door.path}"


def _ask(scene: Scene, door: Door, headers: dict[str, str], query: str = "") -> tuple[int, str]:
    """Ask for ana's things; return the status and the type of the answer."""
    subscription = scene.subscribe("ana", "storm") if "{id}" in door.path else ""
    path = re.sub(r"\{(\w+)\}", lambda found: {"id": subscription, "name": "ana"}[found[1]], door.path) + query
    if door.method == "WS":
        with pytest.raises(WebSocketDenialResponse) as refused, scene.client.websocket_connect(path, headers=headers):
            pass
        return refused.value.status_code, refused.value.headers["content-type"]
    answer = scene.client.request(door.method, path, headers=headers, json=_BODIES.get((door.method, door.path)))
    return answer.status_code, answer.headers.get("content-type", "")


_BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/subscribers"): {"name": "eve"},
    ("PUT", "/subscribers/{name}"): {"tags": ["x"]},
    ("POST", "/subscribers/{name}/push"): DEVICE,
    ("POST", "/subscriptions"): {"query": "storm", "subscriber": "ana"},
    ("PATCH", "/subscriptions/{id}"): {"query": "flood"},
    ("POST", "/posts"): {"text": "hello", "author": "ana"},
    ("POST", "/inbox/read"): {"up_to": 5},
    ("POST", "/explain"): {"query": "storm"},
    ("POST", "/dry-run"): {"query": "storm"},
}


_QUERIES = {("DELETE", "/subscribers/{name}/push"): f"?endpoint={DEVICE['endpoint']}"}


def test_the_table_of_routes_is_the_apps(service: Service) -> None:
    app: FastAPI = make_app(service)
    assert {door.path for door in DOORS} == set(app.openapi()["paths"]) | {"/ws"}


@pytest.mark.parametrize("door", LOCKED, ids=_name)
def test_without_a_key_nothing_is_answered(scene: Scene, door: Door) -> None:
    assert _ask(scene, door, {}) == (401, PROBLEM)


@pytest.mark.parametrize("door", LOCKED, ids=_name)
@pytest.mark.parametrize(
    "headers",
    [bearer("tide_wrong"), {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer"}, bearer("ü")],
    ids=str,
)
def test_with_a_wrong_key_nothing_is_answered(scene: Scene, door: Door, headers: dict[str, str]) -> None:
    encoded: Any = {name: value.encode() for name, value in headers.items()}
    assert _ask(scene, door, encoded) == (401, PROBLEM)


@pytest.mark.parametrize("door", [door for door in LOCKED if operating in door.calls()], ids=_name)
def test_what_is_the_operators_is_not_the_subscribers(scene: Scene, door: Door) -> None:
    assert _ask(scene, door, bearer(scene.keys["ana"])) == (403, PROBLEM)


_FURTHER = {"/inbox/reasons": "&cursor=1"}
"""What a route has to be asked with besides."""
_OF_SOMEBODY = [
    door
    for door in LOCKED
    if operating not in door.calls() and ("{" in door.path or door.takes_subscriber or door.path in ("/posts",))
]


@pytest.mark.parametrize("door", _OF_SOMEBODY, ids=_name)
def test_what_is_anas_is_not_bens(scene: Scene, door: Door) -> None:
    query = _QUERIES.get((door.method, door.path), "")
    if door.takes_subscriber:
        query = f"?subscriber=ana{_FURTHER.get(door.path, '')}"
    status, kind = _ask(scene, door, bearer(scene.keys["ben"]), query)
    assert (status in (403, 404), kind) == (True, PROBLEM)


@pytest.mark.parametrize("door", LOCKED, ids=_name)
def test_every_route_that_is_not_open_to_all_asks_who_asks(door: Door) -> None:
    assert authenticated in door.calls()


@pytest.mark.parametrize("path", sorted(OPEN_TO_ALL))
def test_what_is_open_to_all_is(scene: Scene, path: str) -> None:
    keys = scene.service.signing_keys
    token = UnsubscribeLinks("", keys.unsubscribe).link(Wish("ana", "email"))
    if "confirm" in path:
        token = ConfirmLinks("", keys.confirm).link(Claim("ana", "ana@example.org"))
    assert scene.ask(None, "GET", path.format(token=token)).status_code == 200


def test_ben_can_neither_subscribe_nor_post_in_anas_name(scene: Scene) -> None:
    answer = scene.ask("ben", "POST", "/subscriptions", json={"query": "storm", "subscriber": "ana"})
    assert answer.status_code == 403
    answer = scene.ask("ben", "POST", "/posts", json={"text": "storm", "author": "ana"})
    assert answer.status_code == 403
    assert scene.service.catalogue.of("ana") == []
    assert scene.service.recent.last(10) == []


def test_lists_show_only_ones_own_and_to_an_operator_all(scene: Scene) -> None:
    mine, yours = scene.subscribe("ana", "storm"), scene.subscribe("ben", "flood")
    scene.notify("ana", ["p1"], 0)
    scene.notify("ben", ["p2"], 1)

    def subscriptions_of(who: str, query: str = "") -> set[str]:
        return {each["id"] for each in scene.ask(who, "GET", f"/subscriptions{query}").json()["items"]}

    assert subscriptions_of("ana") == {mine}
    assert subscriptions_of("ben") == {yours}
    assert subscriptions_of("operator") == {mine, yours}
    assert subscriptions_of("operator", "?subscriber=ben") == {yours}
    assert [each["id"] for each in scene.ask("ana", "GET", "/inbox").json()["items"]] == ["p1"]
    assert [each["id"] for each in scene.ask("operator", "GET", "/inbox?subscriber=ben").json()["items"]] == ["p2"]


def test_a_key_is_taken_from_the_header_and_from_nowhere_else(scene: Scene) -> None:
    key = scene.keys["ana"]
    assert scene.client.get(f"/me?key={key}").status_code in (401, 422)
    for further in ({"Cookie": f"key={key}"}, {"X-API-Key": key}):
        assert scene.client.get("/me", headers=further).status_code == 401
