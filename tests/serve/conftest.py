"""A service of its own for every test, and somebody to ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.serve.scene import Scene
from tidegate.serve.app import make_app
from tidegate.serve.service import Service
from tidegate.serve.settings import Limits, LiveSettings, Settings

GENEROUS = Limits(requests_per_s=10_000, burst=10_000, refused_per_s=10_000, refused_burst=10_000)


def settings_at(folder: Path, limits: Limits = GENEROUS, database: str | None = None) -> Settings:
    live = LiveSettings(poll_s=0.01, heartbeat_s=0.2)
    at = database or f"sqlite:///{folder}/tidegate.db"
    return Settings(str(folder / "store"), at, folder / "posts", limits=limits, live=live)


@pytest.fixture
def database_url() -> str | None:
    """Where the service has its database: in a file, unless a module where that matters asks for both kinds."""
    return None


@pytest.fixture
def service(tmp_path: Path, database_url: str | None) -> Iterator[Service]:
    opened = Service.open(settings_at(tmp_path, database=database_url))
    yield opened
    opened.close()


@pytest.fixture
def scene(service: Service) -> Iterator[Scene]:
    with TestClient(make_app(service), raise_server_exceptions=False) as client:
        yield Scene(service, client)
