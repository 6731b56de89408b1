"""The Spark page: its Python is run, block after block, in a folder of its own."""

import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

GUIDE = Path(__file__).parent.parent / "docs" / "spark.md"


def test_the_page_runs_as_it_stands(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incoming").mkdir()
    names: dict[str, object] = {}
    # Spark resolves relative paths by where its JVM was started.
    page = re.sub(
        r'"((?:incoming|checkpoint|matches)/)"', lambda found: repr(f"{tmp_path}/{found[1]}"), GUIDE.read_text()
    )
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(block, names)
    assert "|  1|       ana|" in capsys.readouterr().out
    assert (tmp_path / "matches").exists()
    shutil.rmtree(tmp_path)
