"""Estimates and dry runs from what jobs have seen, wherever their posts come from."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.serve.conftest import settings_at
from tests.serve.scene import Scene, bearer
from tidegate.deliver.clock import SECOND, now
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.serve.app import make_app
from tidegate.serve.post import Post
from tidegate.serve.recent import Recent
from tidegate.serve.seen import Seen
from tidegate.serve.service import Service
from tidegate.store.glimpses import POST, Glimpse, Glimpses, Look
from tidegate.store.location import Location
from tidegate.text.analyzer import Analyzer

WORDS = ("storm", "coast", "harbour", "film", "calm", "flood")


def rows(prefix: str, n: int, seed: int) -> list[dict[str, Any]]:
    drawn = random.Random(seed)
    return [{"id": f"{prefix}{number}", "text": " ".join(drawn.choices(WORDS, k=3))} for number in range(n)]


def glimpse(looks: list[tuple[float, int, list[dict[str, Any]]]]) -> Glimpse:
    """Looks, each some seconds ago."""
    made = Glimpse()
    for batch, (ago, stands_for, kept) in enumerate(looks):
        posts = pa.Table.from_pylist(kept, schema=POST)
        made = made.with_look(Look(now() - round(ago * SECOND), stands_for, posts), batch, 5000)
    return made


def brute_force(query: str, posts: list[dict[str, Any]]) -> list[str]:
    analyzer = Analyzer()
    parsed = parse(query, analyzer)
    return [row["id"] for row in posts if satisfies(parsed, PostView(row["text"]), analyzer)]


def test_an_estimate_is_brute_force_on_what_a_job_has_seen_scaled_by_what_it_stands_for(scene: Scene) -> None:
    first, second = rows("a", 120, 1), rows("b", 80, 2)
    left = glimpse([(1000, 12_000, first), (500, 4_000, second)])
    Glimpses(scene.service.store.beside).write("run", left)
    query = "storm (coast OR harbour) -film"
    tried = scene.ask("ana", "POST", "/dry-run", json={"query": query, "limit": 100}).json()
    of_first, of_second = brute_force(query, first), brute_force(query, second)
    assert of_first
    assert of_second
    share = (len(of_first) * 100 + len(of_second) * 50) / 16_000  # a post of the first look stands for 100
    expected = tried["expected"]
    # 4,000 posts came in the 500 s after the first look.
    assert expected["per_day"] == pytest.approx(4_000 * 86_400 / 500 * share, rel=1e-3)
    assert expected["low"] < expected["per_day"] < expected["high"]
    assert (expected["matched"], expected["posts"]) == (len(of_first) + len(of_second), 200)
    assert expected["stands_for"] == 16_000
    shown = [each["post"]["id"] for each in tried["matches"]]
    assert set(shown) == {*of_first, *of_second}
    assert shown[0] in of_second  # the newest first


def test_the_newest_posts_are_shown_wherever_they_come_from(scene: Scene) -> None:
    Glimpses(scene.service.store.beside).write("run", glimpse([(100, 10, rows("a", 2, 1))]))
    scene.ask("operator", "POST", "/posts", json={"id": "own", "text": "calm", "topic": "kiel"})
    found = scene.ask("ana", "GET", "/posts/recent?limit=2").json()["items"]
    assert [each["id"] for each in found] == ["own", "a1"]
    assert found[0]["topic"] == "kiel"


def test_a_service_that_is_started_again_still_knows(tmp_path: Path) -> None:
    service = Service.open(settings_at(tmp_path))
    Glimpses(service.store.beside).write("run", glimpse([(100, 5_000, rows("a", 200, 1))]))
    key = service.keys.issue("ana")
    service.close()
    service = Service.open(settings_at(tmp_path))
    try:
        with TestClient(make_app(service)) as client:
            tried = client.post("/dry-run", headers=bearer(key), json={"query": "storm"}).json()
            assert tried["expected"]["posts"] == 200
            assert tried["expected"]["per_day"] > 0
    finally:
        service.close()


def recent(folder: Path, own: list[dict[str, Any]], *left: Glimpse) -> Recent:
    glimpses = Glimpses(Location.of(folder))
    for number, each in enumerate(left):
        glimpses.write(f"run{number}", each)
    made = Recent(1000, seen=Seen(glimpses))
    made.add([Post(**row) for row in own])
    return made


def test_posts_that_were_handed_in_and_seen_by_a_job_count_once(tmp_path: Path) -> None:
    own = rows("own", 100, 1)
    behind = recent(tmp_path / "behind", own, glimpse([(5, 90, own[:90])])).sample()
    assert (behind.stands_for, behind.posts.num_rows) == (100, 100)
    # Others have handed in more, which the job knows of.
    more = recent(tmp_path / "more", own, glimpse([(5, 5_000, [*own[:40], *rows("theirs", 40, 2)])])).sample()
    assert (more.stands_for, more.posts.num_rows) == (5_000, 80)
    apart = recent(tmp_path / "apart", own, glimpse([(5, 5_000, rows("theirs", 40, 2))])).sample()
    assert (apart.stands_for, apart.posts.num_rows) == (5_100, 140)
    assert apart.per_day == pytest.approx(5_100 * 1440, rel=0.01)


def test_two_jobs_on_one_stream_count_once_and_on_two_streams_both(tmp_path: Path) -> None:
    one, other = rows("a", 50, 1), rows("b", 50, 2)
    same = recent(tmp_path / "same", [], glimpse([(5, 500, one)]), glimpse([(5, 400, one[10:])])).sample()
    assert same.stands_for == 500
    both = recent(tmp_path / "both", [], glimpse([(5, 500, one)]), glimpse([(5, 400, other)])).sample()
    assert both.stands_for == 900


def test_what_a_job_saw_the_day_before_is_forgotten(tmp_path: Path) -> None:
    assert recent(tmp_path, [], glimpse([(100_000, 500, rows("a", 50, 1))])).sample().stands_for == 0


def test_what_is_left_anew_is_found_and_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    at = 0.0
    glimpses = Glimpses(Location.of(tmp_path))
    seen = Seen(glimpses, timer=lambda: at)
    made = Recent(10, seen=seen)
    assert made.last(5) == []
    glimpses.write("run", glimpse([(5, 500, rows("a", 50, 1))]))
    assert made.last(5) == []  # it was looked a moment ago
    at = 10.0
    assert len(made.last(5)) == 5
    Location.of(tmp_path).write("glimpses/run.parquet", b"torn")
    at = 20.0
    assert made.last(5) == []
