"""Stores and posts that the tests of the pipeline share."""

from pathlib import Path

import pyarrow as pa
import pytest

from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return {str(i): query for i, query in enumerate(saved_searches(200, 5).column("query").to_pylist())}


@pytest.fixture(scope="module")
def posts() -> pa.Table:
    return generated_posts(1_200, 6)


@pytest.fixture
def store(tmp_path: Path, queries: dict[str, str]) -> Store:
    """A store with the generated searches."""
    made = Store.open(tmp_path / "store")
    subscribers = [f"reader{i % 7}" for i in range(len(queries))]
    made.apply(pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": subscribers}))
    return made


@pytest.fixture
def storms(tmp_path: Path) -> Store:
    """A store in which ana is interested in storms."""
    made = Store.open(tmp_path / "store")
    made.subscribe("ana", "storm", id="storms")
    return made
