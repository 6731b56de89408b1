"""Posts that were handed in are forgotten when they are too old, and not while a job waits for them."""

import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.serve.conftest import settings_at
from tidegate.serve import post_retention
from tidegate.serve.app import make_app
from tidegate.serve.post import Post
from tidegate.serve.post_retention import PostRetention
from tidegate.serve.postbox import Postbox
from tidegate.serve.service import Service
from tidegate.store.location import Location
from tidegate.store.status import Jobs, JobStatus

NOW = time.time()
DAY = 86_400.0


def postbox(folder: Path, *days: float) -> Postbox:
    """A postbox with a file of each of so many days ago."""
    made = Postbox(folder)
    for number, ago in enumerate(days):
        name = f"{round((NOW - ago * DAY) * 1e9):020}-{number:08x}.json"
        (folder / name).write_text(f'{{"id": "{number}", "text": "x"}}\n')
    return made


def left(made: Postbox) -> list[str | None]:
    return [post.id for _, post in made.last(1000)]


def write_status(beside: Location, folder: Path, **about: Any) -> None:
    fields: dict[str, Any] = {"state": "running", "seen": NOW, "figures": {}, **about}
    jobs = Jobs(beside)
    jobs.write(JobStatus("run", f"json:{folder}", "inbox:", batch=1, store=1, plan=1, started=NOW, **fields))


def waiting(files: int) -> dict[str, Any]:
    return {"lag": {"waiting": files, "unit": "files"}}


def test_what_is_older_than_the_retention_goes_and_nothing_else(tmp_path: Path) -> None:
    made = postbox(tmp_path / "posts", 200, 91, 89, 1)
    folder = made.folder
    (folder / "00-foreign.json").write_text('{"text": "of somebody else"}\n')
    torn = folder / f".{round((NOW - 100 * DAY) * 1e9):020}-00000009.json.00000009"
    torn.write_text("{")
    retention = PostRetention(made, Location.of(tmp_path), 90, lambda: NOW)
    assert retention.run() == 3
    assert not torn.exists()
    assert left(made) == [None, "2", "3"]
    assert (folder / "_columns").exists()
    assert retention.run() == 0


@pytest.mark.parametrize(
    ("about", "kept"),
    [
        ({"figures": waiting(3)}, ["1", "2", "3"]),
        ({"figures": waiting(100)}, ["0", "1", "2", "3"]),
        ({"figures": waiting(2)}, ["2", "3"]),
        ({}, ["2", "3"]),
        ({"figures": {"lag": {"waiting": 9, "unit": "posts"}}}, ["2", "3"]),
        ({"figures": waiting(100), "state": "stopped"}, ["2", "3"]),
        ({"figures": waiting(100), "seen": NOW - DAY}, ["2", "3"]),
    ],
)
def test_what_a_running_job_waits_for_stays(tmp_path: Path, about: dict[str, Any], kept: list[str]) -> None:
    made = postbox(tmp_path / "posts", 200, 91, 89, 1)
    beside = Location.of(tmp_path / "beside")
    write_status(beside, tmp_path / "posts", **about)
    PostRetention(made, beside, 90, lambda: NOW).run()
    assert left(made) == kept


def test_a_job_on_another_folder_keeps_nothing(tmp_path: Path) -> None:
    made = postbox(tmp_path / "posts", 200)
    beside = Location.of(tmp_path / "beside")
    write_status(beside, tmp_path / "others", figures=waiting(5))
    assert PostRetention(made, beside, 90, lambda: NOW).run() == 1


def test_it_ends_when_it_is_told_to(tmp_path: Path) -> None:
    made = postbox(tmp_path / "posts", 200, 201, 202)
    answers = iter([True, False])
    assert PostRetention(made, Location.of(tmp_path), 90, lambda: NOW).run(lambda: next(answers)) == 1


def test_a_post_that_was_handed_in_now_is_young(tmp_path: Path) -> None:
    made = Postbox(tmp_path / "posts")
    made.put([Post(id="new", text="x")])
    assert PostRetention(made, Location.of(tmp_path), 90).run() == 0


def test_a_service_forgets_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_retention, "EVERY_S", 0.02)
    made = postbox(tmp_path / "posts", 200, 1)
    service = Service.open(settings_at(tmp_path))
    try:
        with TestClient(make_app(service)):
            deadline = time.monotonic() + 60
            while left(made) != ["1"] and time.monotonic() < deadline:
                time.sleep(0.02)
            assert left(made) == ["1"]
    finally:
        service.close()
