"""What the README shows is what happens."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

README = Path(__file__).parent.parent / "README.md"
ON_SPARK, WITHOUT_SPARK = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_program_in_the_readme_gives_the_matches_it_shows() -> None:
    *setting_up, last = WITHOUT_SPARK.strip().splitlines()
    expression, _, shown = last.partition("#")
    names: dict[str, object] = {}
    exec("\n".join(setting_up), names)
    assert repr(eval(expression, names)) == shown.strip()


def test_the_spark_job_in_the_readme_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema = "id string, text string, lat double, lon double"
    posts = spark.createDataFrame([("1", "Floods on the coast", 42.9, -9.1), ("2", "A storm", None, None)], schema)
    names: dict[str, Any] = {"posts": posts}
    exec(ON_SPARK, names)
    assert [(row.id, row.subscriber) for row in names["matches"].collect()] == [("1", "ana")]
