"""Live feeds over a real server: what was missed comes first, then what happens, each thing once and in order."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.serve.following import Received, following, message
from tests.serve.process import ServerProcess
from tests.serve.scene import bearer, matches
from tidegate.deliver.api_keys import ApiKeys
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.subscribers import Subscribers


class Stage:
    """A server, and a job's inbox beside it."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.database = Database.open(server.database)
        self.inbox = Inbox(self.database)
        self._batches, self._names = count(), count()

    def bring(self, subscriber: str, *posts: str, offloaded: bool = False) -> None:
        """Let a job bring matches, in one batch."""
        rows = [{**row, "offloaded": offloaded} for row in matches(subscriber, posts)]
        self.inbox.add(rows, "run", next(self._batches))

    def newcomer(self) -> tuple[str, str]:
        """Somebody who was not here before, and its key."""
        name = f"somebody{next(self._names)}"
        return name, self.server.sign_up(name)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    postgres = None if request.param == "sqlite" else request.getfixturevalue("postgres").database()
    with ServerProcess(tmp_path_factory.mktemp("serve"), database=postgres) as server:
        yield Stage(server)


def posts_of(received: Iterator[Received], number: int) -> list[str]:
    """The posts of so many notifications."""
    told = (each for each in received if each.kind == "notification")
    return [each.data["id"] for each in islice(told, number)]


def test_a_feed_begins_now_and_goes_on(stage: Stage) -> None:
    name, key = stage.newcomer()
    with following(stage.server.url, key) as earlier:
        next(earlier)
        stage.bring(name, "old")
        assert posts_of(earlier, 1) == ["old"]  # by now the service knows of it
    with following(stage.server.url, key) as received:
        ready = next(received)
        assert (ready.kind, ready.id) == ("ready", stage.inbox.newest())
        stage.bring(name, "p1", "p2")
        stage.bring("another", "p3")
        stage.bring(name, "p4")
        assert posts_of(received, 3) == ["p1", "p2", "p4"]


def test_an_event_is_what_the_inbox_has(stage: Stage) -> None:
    name, key = stage.newcomer()
    with following(stage.server.url, key) as received:
        next(received)
        stage.bring(name, "p1")
        live = next(received)
    with following(stage.server.url, key, last=live.data["cursor"] - 1) as received:
        next(received)
        caught_up = next(received)
    inbox = httpx.get(f"{stage.server.url}/inbox", headers=bearer(key)).json()["items"][0]
    assert live == caught_up
    assert live.data == inbox
    assert live.id == inbox["cursor"]


def test_what_was_missed_comes_first_and_nothing_twice(stage: Stage) -> None:
    name, key = stage.newcomer()
    stage.bring(name, *[f"m{number}" for number in range(1000)])
    begin = stage.inbox.since(name)[9].cursor
    with following(stage.server.url, key, last=begin) as received:
        early = posts_of(received, 5)
        stage.bring(name, "new1")
        rest = posts_of(received, 986)
    assert early + rest == [*(f"m{number}" for number in range(10, 1000)), "new1"]


def test_no_cursor_is_lost_or_doubled_while_readers_come_and_go(stage: Stage) -> None:
    """Readers hang up at random moments and come back, while batches come in: each has read all, once."""
    name, key = stage.newcomer()
    total = 600

    def bring() -> None:
        for number in range(0, total, 5):
            stage.bring(name, *[f"r{each}" for each in range(number, number + 5)])

    job = threading.Thread(target=bring)
    job.start()
    seen: list[str] = []
    last, visits = 0, 0
    while len(seen) < total:
        visits += 1
        with following(stage.server.url, key, last=last) as received:
            for event in islice(received, 1 + visits * 7 % 40):
                if event.kind == "notification":
                    seen.append(event.data["id"])
                    assert event.id is not None
                    last = event.id
                    if len(seen) == total:
                        break
    job.join()
    assert seen == [f"r{number}" for number in range(total)]
    assert visits > 10


def test_many_devices_get_the_same(stage: Stage) -> None:
    name, key = stage.newcomer()
    url = stage.server.url
    with following(url, key, device="a") as first, following(url, key, device="b") as second:
        next(first), next(second)
        stage.bring(name, "p1", "p2")
        assert posts_of(first, 2) == posts_of(second, 2) == ["p1", "p2"]


def test_what_is_read_on_one_device_is_told_to_the_others(stage: Stage) -> None:
    name, key = stage.newcomer()
    with following(stage.server.url, key) as received:
        next(received)
        stage.bring(name, "p1", "p2")
        cursor = [next(received), next(received)][0].id
        answer = httpx.post(f"{stage.server.url}/inbox/read", json={"cursors": [cursor]}, headers=bearer(key))
        assert answer.json() == {"marked": 1, "unread": 1}
        told = next(received)
    assert (told.kind, told.id) == ("read", None)
    assert (told.data["cursors"], told.data["unread"]) == ([cursor], 1)


def test_fleeting_posts_go_to_followers_at_once_and_the_last_to_who_comes_later(stage: Stage) -> None:
    _, key = stage.newcomer()
    url = stage.server.url

    def post(text: str, topic: str) -> None:
        body = {"text": text, "topic": topic, "topic_type": "presence"}
        assert httpx.post(f"{url}/posts", json=body, headers=bearer(key)).status_code == 201

    with following(url, key, topic=["door", "gate"]) as received:
        next(received)
        post("elsewhere", "window")
        post("opened", "door")
        told = next(received)
        assert (told.kind, told.id, told.data["text"]) == ("presence", None, "opened")
    post("closed", "door")
    with following(url, key, topic=["door"]) as received:
        assert [next(received).kind, next(received).data["text"]] == ["ready", "closed"]
    assert list((stage.server.folder / "posts").glob("*.json")) == []


def test_websockets_carry_the_same_events(stage: Stage) -> None:
    name, key = stage.newcomer()
    stage.bring(name, "p1")
    url = stage.server.url.replace("http", "ws") + "/ws?since=0"
    with (
        connect(url, additional_headers=bearer(key)) as websocket,
        following(stage.server.url, key, last=0) as received,
    ):
        stage.bring(name, "p2")
        told = [message(websocket.recv(10)) for _ in range(3)]
        assert told == [next(received) for _ in range(3)]
        assert [each.kind for each in told] == ["ready", "notification", "notification"]
        websocket.send("whatever")
        stage.bring(name, "p3")
        assert message(websocket.recv(10)).data["id"] == "p3"


def test_who_says_something_that_is_no_text_and_hangs_up_is_gone(stage: Stage) -> None:
    """What a client says is passed over, whatever it is; that it has gone is not."""
    name, key = stage.newcomer()
    with connect(stage.server.url.replace("http", "ws") + "/ws", additional_headers=bearer(key)) as websocket:
        assert message(websocket.recv(10)).kind == "ready"
        websocket.send(b"no text")
        stage.bring(name, "p1")
        assert message(websocket.recv(10)).data["id"] == "p1"
    _until(lambda: not _is_online(stage, name, key))


def test_a_browser_shows_its_key_as_a_subprotocol(stage: Stage) -> None:
    _, key = stage.newcomer()
    url = stage.server.url.replace("http", "ws") + "/ws"
    with connect(url, subprotocols=["tidegate", f"tidegate.key.{key}"]) as websocket:  # type: ignore[list-item]
        assert websocket.subprotocol == "tidegate"
        assert message(websocket.recv(10)).kind == "ready"
    with pytest.raises(InvalidStatus) as refused, connect(url, subprotocols=["tidegate", "tidegate.key.x"]):  # type: ignore[list-item]
        pass
    assert refused.value.response.status_code == 401
    assert json.loads(refused.value.response.body)["type"] == "urn:tidegate:problem:no-key"


def test_a_reader_that_is_slow_gets_everything_all_the_same(stage: Stage) -> None:
    """It does not read while far more comes than may wait for it, and then reads it all."""
    name, key = stage.newcomer()
    large = "x" * 20_000
    batch = [{**match, "post": json.dumps({"text": large})} for match in matches(name, [f"s{n}" for n in range(2000)])]
    with following(stage.server.url, key) as received:
        next(received)
        for begin in range(0, 2000, 100):
            stage.inbox.add(batch[begin : begin + 100], "slow", begin)
        _until(lambda: _status(stage)["live"]["waiting"] == 0)
        assert _status(stage)["live"]["fallen_behind"] > 0
        assert posts_of(received, 2000) == [f"s{n}" for n in range(2000)]


@pytest.mark.parametrize("path", ["/live", "/ws"])
def test_a_reader_that_hangs_up_without_having_read_is_gone(stage: Stage, path: str) -> None:
    name, key = stage.newcomer()
    headers = ["Host: x", f"Authorization: Bearer {key}"]
    if path == "/ws":
        headers += ["Connection: Upgrade", "Upgrade: websocket"]
        headers += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA=="]
    request = "\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""])
    batch = [
        {**match, "post": json.dumps({"text": "x" * 20_000})} for match in matches(name, [f"u{n}" for n in range(900)])
    ]
    with socket.create_connection(("127.0.0.1", stage.server.port)) as connection:
        connection.sendall(request.encode())
        _until(lambda: _is_online(stage, name, key))
        stage.inbox.add([{**each, "id": f"{path}{each['id']}"} for each in batch], f"unread {path}", 0)
        _until(lambda: _status(stage)["live"]["waiting"] == 0)
        time.sleep(0.5)
        assert _is_online(stage, name, key)
    _until(lambda: not _is_online(stage, name, key))


def test_who_is_connected_is_online_and_its_device_was_seen(stage: Stage) -> None:
    name, key = stage.newcomer()
    assert not _is_online(stage, name, key)
    with following(stage.server.url, key, device="phone", kind="mobile") as received:
        next(received)
        assert _is_online(stage, name, key)
        _until(lambda: bool(Subscribers(stage.database).devices(name)))
        seen = Subscribers(stage.database).devices(name)
        assert [(each.name, each.kind) for each in seen] == [("phone", "mobile")]
    _until(lambda: not _is_online(stage, name, key))


def test_a_feed_ends_soon_after_another_process_has_revoked_its_key(stage: Stage) -> None:
    name, key = stage.newcomer()
    further = stage.server.further_key(name)
    with following(stage.server.url, key) as ending, following(stage.server.url, further) as going_on:
        assert (next(ending).kind, next(going_on).kind) == ("ready", "ready")
        begun = time.monotonic()
        assert ApiKeys(stage.database).revoke(key)
        assert list(ending) == []
        assert time.monotonic() - begun < 5
        stage.bring(name, "p")
        assert posts_of(going_on, 1) == ["p"]


def test_a_feed_ends_when_its_key_is_revoked(stage: Stage) -> None:
    name, key = stage.newcomer()
    with following(stage.server.url, key) as received:
        next(received)
        operator = bearer(stage.server.operator_key)
        assert httpx.delete(f"{stage.server.url}/subscribers/{name}/keys", headers=operator).status_code == 204
        assert list(received) == []


def test_signals_end_the_service_cleanly_though_feeds_are_open(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        key = server.sign_up("ana")
        with following(server.url, key) as received:
            next(received)
            begun = time.monotonic()
            assert server.stop() == 0
            assert list(received) == []
        assert time.monotonic() - begun < 5
    assert "Traceback" not in server.log()


def _is_online(stage: Stage, name: str, key: str) -> bool:
    return bool(httpx.get(f"{stage.server.url}/subscribers/{name}", headers=bearer(key)).json()["online"])


def _status(stage: Stage) -> dict[str, dict[str, int]]:
    answer = httpx.get(f"{stage.server.url}/operator/status", headers=bearer(stage.server.operator_key))
    found: dict[str, dict[str, int]] = answer.json()
    return found


def _until(holds: object) -> None:
    assert callable(holds)
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_is_offloaded_is_for_who_looks_into_the_inbox(stage: Stage) -> None:
    name, key = stage.newcomer()
    stage.bring(name, "p1")
    stage.bring(name, "p2", offloaded=True)
    with following(stage.server.url, key, since=0) as received:
        stage.bring(name, "p3", offloaded=True)
        stage.bring(name, "p4")
        assert posts_of(received, 2) == ["p1", "p4"]
    answer = httpx.get(f"{stage.server.url}/inbox", params={"since": 0}, headers=bearer(key)).json()
    assert [each["id"] for each in answer["items"]] == ["p1", "p2", "p3", "p4"]
