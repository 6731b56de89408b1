"""For whoever runs it: status, metrics and health say how the service fares."""

import shutil
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.conftest import settings_at
from tests.serve.scene import PROBLEM, Scene, bearer, matches
from tidegate.deliver.clock import DAY, now
from tidegate.deliver.inbox import Inbox
from tidegate.serve import service as service_module
from tidegate.serve.app import make_app
from tidegate.serve.service import Service
from tidegate.store.status import Jobs, JobStatus


def test_the_status_has_jobs_plan_and_live_feeds(scene: Scene) -> None:
    now = time.time()
    figures = {"input_per_s": 1200.0, "total": {"posts": 5, "matches": 2}}
    job = JobStatus("run1", "json:posts", "inbox:x", "running", 3, 7, 1, now, now, figures)
    Jobs(scene.service.store.beside).write(job)
    scene.subscribe("ana", "storm")
    scene.notify("ana", ["p1"])
    status = scene.ask("operator", "GET", "/operator/status").json()
    assert status["store"]["subscriptions"]["count"] == 1
    assert status["store"]["plan"]["kind"] == "replicate"
    (shown,) = status["store"]["jobs"]
    assert (shown["run"], shown["running"], shown["figures"]) == ("run1", True, figures)
    assert status["live"]["connections"] == 0


def test_an_operator_who_looks_at_a_feed_is_not_its_subscribers_presence(scene: Scene) -> None:
    """Its subscriber would be believed online, and neither be pushed nor mailed anything."""
    path, headers = "/ws?subscriber=ana&device=desk", bearer(scene.keys["operator"])
    with scene.client.websocket_connect(path, headers=headers) as socket:
        assert socket.receive_json()["event"] == "ready"
        assert [(each.subscriber, each.device) for each in scene.service.hub.connections()] == [("ana", "")]


def test_metrics_count_requests_by_route_and_not_by_path(scene: Scene) -> None:
    for name in ("a", "b", "c"):
        scene.ask("ana", "GET", f"/subscriptions/{name}")
        scene.ask("ana", "GET", f"/nowhere/{name}")
    scene.ask("ana", "POST", "/posts", json=[{"text": "x"}] * 3)
    text = scene.ask("operator", "GET", "/metrics").text
    samples = {
        (sample.name, sample.labels.get("route"), sample.labels.get("status")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["tidegate_http_requests_total", "/subscriptions/{id}", "404"] == 3
    assert samples["tidegate_http_requests_total", "(none)", "404"] == 3
    assert samples["tidegate_posts_accepted_total", None, None] == 3
    assert samples["tidegate_live_connections", None, None] == 0


def test_a_service_forgets_what_is_too_old_by_itself_and_counts_it(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_TIDYING_S", 0.02)
    service = Service.open(settings_at(tmp_path, database=url))
    then = now() - 91 * DAY
    Inbox(service.database, lambda: then).add(matches("ana", ["p1", "p2"]), "run", 0)
    with TestClient(make_app(service)) as client:
        scene = Scene(service, client)
        wanted = 'tidegate_retention_forgotten_total{table="notifications"} 2.0'
        until = time.monotonic() + 20
        while wanted not in (text := scene.ask("operator", "GET", "/metrics").text):
            assert time.monotonic() < until, text
        assert service.inbox.counts("ana").total == 0
    service.close()


def test_health_looks_at_the_store_and_the_database(scene: Scene, tmp_path: Path) -> None:
    assert scene.ask(None, "GET", "/healthz").json() == {"store": "well", "database": "well"}
    shutil.rmtree(tmp_path / "store")
    answer = scene.ask(None, "GET", "/healthz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
    assert answer.json()["detail"] == "store: cannot be reached, database: well"
