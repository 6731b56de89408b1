"""Posting: what is acknowledged is on the disk, whole, in files as a job reads them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.serve.scene import Scene
from tidegate.errors import StoreError
from tidegate.serve.post import Post
from tidegate.serve.postbox import Postbox
from tidegate.serve.recent import Recent


def lines_in(folder: Path) -> list[dict[str, object]]:
    files = sorted(folder.glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().split("\n") if line]


def test_what_is_acknowledged_is_in_a_file_with_id_time_and_author(scene: Scene, tmp_path: Path) -> None:
    answer = scene.ask("ana", "POST", "/posts", json={"text": "Storms\nand \u2028 floods", "lat": 54.3, "lon": 10.1})
    assert answer.status_code == 201
    (line,) = lines_in(tmp_path / "posts")
    assert line["id"] == answer.json()["ids"][0]
    assert (line["text"], line["author"], line["lat"]) == ("Storms\nand \u2028 floods", "ana", 54.3)
    assert datetime.now(UTC) - datetime.fromisoformat(str(line["ts"])) < timedelta(minutes=1)


def test_several_posts_are_handed_in_at_once_within_bounds(scene: Scene, tmp_path: Path) -> None:
    posts = [{"id": f"p{number}", "text": "x", "author": "nasa"} for number in range(1000)]
    assert scene.ask("operator", "POST", "/posts", json=posts).json()["ids"] == [f"p{number}" for number in range(1000)]
    assert len(lines_in(tmp_path / "posts")) == 1000
    assert scene.ask("operator", "POST", "/posts", json=[*posts, posts[0]]).status_code == 422
    assert scene.ask("operator", "POST", "/posts", json=[]).status_code == 422
    assert len(lines_in(tmp_path / "posts")) == 1000


def test_nobody_can_put_a_post_in_the_place_of_anothers(scene: Scene, tmp_path: Path) -> None:
    """Of one id the first post is what all are told: ids would otherwise be taken before their owners use them."""
    ids = [
        scene.ask(who, "POST", "/posts", json={"id": "p1", "text": "x"}).json()["ids"][0]
        for who in ("ben", "ana", "operator", "ana")
    ]
    assert ids == ["ben/p1", "ana/p1", "p1", "ana/p1"]
    assert [line["id"] for line in lines_in(tmp_path / "posts")] == ids
    assert scene.ask("ana", "POST", "/posts", json={"id": "ana/p1", "text": "x"}).json()["ids"] == ["ana/p1"]
    assert scene.ask("ana", "POST", "/posts", json={"id": "x" * 196, "text": "x"}).status_code == 201
    assert scene.ask("ana", "POST", "/posts", json={"id": "x" * 197, "text": "x"}).status_code == 422
    assert scene.ask("ana", "POST", "/dry-run", json={"query": "x"}).status_code == 200


def test_of_presence_everybody_tells_its_own_and_an_operator_all(scene: Scene, tmp_path: Path) -> None:
    """The last event of a topic takes the place of the one before: others would be silenced."""

    def status(who: str, topic: str, kind: str = "presence") -> int:
        body = [{"text": "x"}, {"text": "away", "topic": topic, "topic_type": kind}]
        return scene.ask(who, "POST", "/posts", json=body).status_code

    assert [status("ana", topic) for topic in ("ana", "ana/", "ana/phone")] == [201] * 3
    others = ("ben", "ben/phone", "anabel", "an", "Ana", "/ana", "door", " ana")
    kept = len(lines_in(tmp_path / "posts"))
    assert [status("ana", topic) for topic in others] == [403] * len(others)
    assert len(lines_in(tmp_path / "posts")) == kept, "nothing of what is refused is kept"
    assert [status("operator", topic) for topic in others] == [201] * len(others)
    assert status("ana", "door", "discussion") == 201


@pytest.mark.parametrize(
    "post",
    [
        {},
        {"text": 5},
        {"text": "x", "lat": 200},
        {"text": "x" * 20_001},
        {"text": "x", "id": ""},
        {"text": "x", "to": 1},
    ],
)
def test_what_is_no_post_is_refused(scene: Scene, tmp_path: Path, post: dict[str, object]) -> None:
    assert scene.ask("ana", "POST", "/posts", json=[{"text": "good"}, post]).status_code == 422
    assert lines_in(tmp_path / "posts") == []


def test_recent_posts_are_looked_at_newest_first(scene: Scene) -> None:
    for text in ("first", "second"):
        scene.ask("ana", "POST", "/posts", json={"text": text})
    assert [each["text"] for each in scene.ask("ben", "GET", "/posts/recent").json()["items"]] == ["second", "first"]
    assert len(scene.ask("ben", "GET", "/posts/recent?limit=1").json()["items"]) == 1


def test_posts_handed_in_at_the_same_time_share_files_and_none_is_lost(tmp_path: Path) -> None:
    postbox = Postbox(tmp_path)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda number: postbox.put([Post(id=str(number), text="x")]), range(300)))
    assert sorted(int(str(line["id"])) for line in lines_in(tmp_path)) == list(range(300))
    assert len(list(tmp_path.iterdir())) < 300


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postbox = Postbox(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        postbox.put([Post(text="x")])
    assert [path.name for path in tmp_path.iterdir()] == ["_columns"]


def test_the_last_posts_are_found_again_after_a_restart(tmp_path: Path) -> None:
    postbox = Postbox(tmp_path)
    for number in range(5):
        postbox.put([Post(id=f"{number}{letter}", text="x") for letter in "ab"])
    (tmp_path / "00-foreign.json").write_text('{"text": "hello", "likes": 5}\n{"text": \nnull\n')
    assert [post.id for _, post in Postbox(tmp_path).last(3)] == ["3b", "4a", "4b"]
    assert len(Postbox(tmp_path).last(100)) == 10


def test_a_ring_forgets_the_oldest_and_tells_how_fast_posts_come() -> None:
    now = 0
    recent = Recent(100, clock=lambda: now)
    for number in range(150):
        now += 60_000_000
        recent.add([Post(id=str(number), text="x")])
    assert [post.id for post in recent.last(2)] == ["149", "148"]
    sample = recent.sample()
    assert sample.posts.column("id").to_pylist() == [str(number) for number in range(50, 150)]
    assert sample.per_day == pytest.approx(1440, rel=0.02)
