"""What a benchmark lacks is said before it runs, not after."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tidegate.bench import registry
from tidegate.bench.index import run
from tidegate.bench.registry import run_bench
from tidegate.errors import ConfigError


def test_missing_rivals_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    with pytest.raises(ConfigError, match=r"'index' needs duckdb, perq: pip install 'tidegate\[bench\]'"):
        run_bench(Console(), "index", "small", 1)


def test_posts_without_a_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "posts.parquet"
    pq.write_table(pa.table({"body": ["storm"]}), path)
    with pytest.raises(ConfigError, match="posts need a column 'text'; its columns are body"):
        run_bench(Console(), "index", "small", 1, posts=path)


def test_the_largest_scale_has_no_use_for_posts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="leave --posts out"):
        run("max", posts=tmp_path / "posts.parquet")
