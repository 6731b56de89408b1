"""The service is killed at random moments: what it acknowledged stays, and clients go on from their cursors."""

import json
import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.serve.following import following
from tests.serve.process import ServerProcess
from tests.serve.scene import bearer, matches
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.store.store import Store


def test_who_comes_after_a_restart_is_shown_the_last_event_of_before(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        key = server.sign_up("ana")
        for text in ("opened", "closed"):
            body = {"text": text, "topic": "ana/door", "topic_type": "presence"}
            assert httpx.post(f"{server.url}/posts", json=body, headers=bearer(key)).status_code == 201
        assert server.stop() == 0
        server.start()
        with following(server.url, key, topic="ana/door") as received:
            assert next(event.data["text"] for event in received if event.kind == "presence") == "closed"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_reader_that_comes_back_has_read_everything_once_and_in_order(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    total = 1000
    seen: list[str] = []
    with ServerProcess(tmp_path) as server:
        key = server.sign_up("ana")
        inbox = Inbox(Database.open(server.database))

        def bring() -> None:
            for number in range(0, total, 5):
                inbox.add(matches("ana", [f"p{each}" for each in range(number, number + 5)]), "run", number)
                time.sleep(0.01)

        job = threading.Thread(target=bring)
        job.start()
        last, kills = 0, 0
        while len(seen) < total:
            enough = draw.randrange(50, 300)
            try:
                with following(server.url, key, last=last) as received:
                    for event in received:
                        if event.kind != "notification":
                            continue
                        assert event.id is not None
                        seen.append(event.data["id"])
                        last = event.id
                        if len(seen) == total:
                            break
                        enough -= 1
                        if enough == 0:
                            # What the kernel still has of it does not count: a reader may lose that as well.
                            server.kill()
                            raise httpx.ReadError("the service is gone")
            except httpx.TransportError:
                kills += 1
                server.start()
        job.join()
    assert seen == [f"p{number}" for number in range(total)]
    assert kills >= 3


@pytest.mark.slow
def test_what_was_acknowledged_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    """Subscriptions, pauses, posts, read marks and keys: clients write until the service dies under them."""
    acknowledged: dict[str, list[str]] = {"subscriptions": [], "paused": [], "posts": []}
    with ServerProcess(tmp_path) as server:
        keys = {name: server.sign_up(name) for name in ("ana", "ben", "eve")}
        inbox = Inbox(Database.open(server.database))
        inbox.add(matches("ana", ["p1", "p2"]), "run", 0)
        read = httpx.post(f"{server.url}/inbox/read", json={"up_to": 1}, headers=bearer(keys["ana"]))
        assert read.json() == {"marked": 1, "unread": 1}

        def subscribe() -> None:
            with httpx.Client(base_url=server.url, headers=bearer(keys["ana"]), timeout=10) as client:
                for number in range(10_000):
                    made = client.post("/subscriptions", json={"query": f"word{number}"}).json()["subscription"]["id"]
                    acknowledged["subscriptions"].append(made)
                    if number % 2:
                        assert client.post(f"/subscriptions/{made}/pause").json()["state"] == "paused"
                        acknowledged["paused"].append(made)

        def post() -> None:
            with httpx.Client(base_url=server.url, headers=bearer(keys["ben"]), timeout=10) as client:
                while True:
                    acknowledged["posts"] += client.post("/posts", json=[{"text": "x"}] * 3).json()["ids"]

        threads = [threading.Thread(target=_until_it_dies, args=[work]) for work in (subscribe, post, post)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 60
        while not all(len(each) > 3 for each in acknowledged.values()):
            assert time.monotonic() < until, {name: len(each) for name, each in acknowledged.items()}
            time.sleep(0.01)
        server.kill()
        for thread in threads:
            thread.join()

        server.start()
        with httpx.Client(base_url=server.url, headers=bearer(keys["ana"])) as client:
            items = client.get("/subscriptions?limit=1000").json()["items"]
            states = {each["id"]: each["state"] for each in items}
            assert set(acknowledged["subscriptions"]) <= states.keys()
            assert {states[each] for each in acknowledged["paused"]} == {"paused"}
            assert client.get("/inbox/counts").json() == {"total": 2, "unread": 1}
        stored = {row["id"] for row in Store.open(tmp_path / "store").subscriptions().to_pylist()}
        assert stored == {name for name, state in states.items() if state == "active"}
        assert httpx.get(f"{server.url}/me", headers=bearer(keys["eve"])).status_code == 200
    lines = [line for file in (tmp_path / "posts").glob("*.json") for line in file.read_text().split("\n") if line]
    assert set(acknowledged["posts"]) <= {json.loads(line)["id"] for line in lines}


def _until_it_dies(work: object) -> None:
    assert callable(work)
    try:
        work()
    except httpx.TransportError:
        return
