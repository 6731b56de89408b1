"""Somebody to ask a service: an operator, ana and ben, each with a key."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from tidegate.serve.first_key import first_key
from tidegate.serve.service import Service

PROBLEM = "application/problem+json"
DEVICE: dict[str, Any] = {
    "endpoint": "https://push.example/phone",
    "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22},
}
"""A device that takes pushes, as its browser describes it."""


class Scene:
    """A service that runs, with ana and ben signed up."""

    def __init__(self, service: Service, client: TestClient) -> None:
        self.service, self.client = service, client
        key = first_key(service.database, service.keys)
        assert key is not None
        self.keys = {"operator": key}
        for name in ("ana", "ben"):
            self.keys[name] = self.ask("operator", "POST", "/subscribers", json={"name": name}).json()["key"]

    def ask(self, who: str | None, method: str, path: str, **arguments: Any) -> Response:
        headers = {} if who is None else bearer(self.keys[who])
        headers |= arguments.pop("headers", {})
        answer: Response = self.client.request(method, path, headers=headers, **arguments)
        return answer

    def subscribe(self, who: str, query: str, **further: Any) -> str:
        answer = self.ask(who, "POST", "/subscriptions", json={"query": query, **further})
        assert answer.status_code == 201, answer.text
        made: str = answer.json()["subscription"]["id"]
        return made

    def notify(self, subscriber: str, posts: Sequence[str], batch: int = 0, subscription: str = "s1") -> None:
        """Let a job bring matches, one batch of a run."""
        self.service.inbox.add(matches(subscriber, posts, subscription), "run", batch)


def matches(subscriber: str, posts: Sequence[str], subscription: str = "s1") -> list[dict[str, Any]]:
    return [
        {"subscriber": subscriber, "subscription": subscription, "id": post, "post": json.dumps({"text": f"of {post}"})}
        for post in posts
    ]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
