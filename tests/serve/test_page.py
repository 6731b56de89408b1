"""The page is at the root, hides nothing of the API, and lets nothing run that is not its own."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.serve.scene import PROBLEM, Scene
from tidegate.serve import app
from tidegate.serve.service import Service


def test_a_page_is_served_beside_the_api(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<title>Tidegate</title>")
    monkeypatch.setattr(app, "PAGE", tmp_path / "page")
    with TestClient(app.make_app(service)) as client:
        scene = Scene(service, client)
        assert "Tidegate" in client.get("/").text
        assert scene.ask("ana", "GET", "/me").status_code == 200
        answer = client.get("/../tidegate.db")
        assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM)
        assert client.post("/nowhere").status_code == 404
        assert client.put("/me").headers["allow"] == "GET"


def test_a_browser_is_told_to_run_nothing_else_and_to_ask_whether_its_files_are_right(scene: Scene) -> None:
    for path in ("/", "/style.css", "/js/main.js", "/world.json", "/icon.svg"):
        answer = scene.client.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-cache"
        again = scene.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
        assert again.headers["content-security-policy"] == policy


def test_the_page_has_no_script_or_style_but_in_files_of_its_own(scene: Scene) -> None:
    html = scene.client.get("/").text
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|javascript:", html)
    assert not re.search(r"(src|href)=\"(https?:)?//", html)


def test_the_page_is_small() -> None:
    files = [path for path in app.PAGE.rglob("*") if path.is_file()]
    sizes = {path.name: path.stat().st_size for path in files}
    assert sizes["world.json"] < 100_000
    assert sum(sizes.values()) - sizes["world.json"] < 100_000
