"""Clients of live feeds, as simple as can be."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from tests.serve.scene import bearer


class Received(NamedTuple):
    """An event as a client sees it."""

    id: int | None
    kind: str
    data: dict[str, Any]


@contextmanager
def following(url: str, key: str, last: int | None = None, **query: Any) -> Iterator[Iterator[Received]]:
    """Open a feed by server-sent events, and yield what comes."""
    headers = bearer(key) | ({} if last is None else {"Last-Event-ID": str(last)})
    with (
        httpx.Client(timeout=20) as client,
        client.stream("GET", f"{url}/live", params=query, headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _received(answer.iter_lines())


def _received(lines: Iterator[str]) -> Iterator[Received]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Received(int(fields["id"]) if "id" in fields else None, fields["event"], json.loads(fields["data"]))
            fields = {}


def message(text: str | bytes) -> Received:
    """A message of a WebSocket."""
    read = json.loads(text)
    return Received(read.get("id"), read["event"], read["data"])
