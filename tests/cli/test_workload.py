"""`tidegate workload` as a person uses it."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.test_run import tidegate


def test_a_workload_is_generated_and_analysed_into_one_page(tmp_path: Path) -> None:
    made = tidegate(tmp_path, "workload", "generate", "--like", "spotify", "--scale", "0.01", "--into", "mine")
    assert made.returncode == 0, made.stderr
    assert "mine: 11,000 topics" in made.stdout
    told = tidegate(tmp_path, "workload", "analyze", "mine", "--json", "found.json", "--html", "found.html")
    assert told.returncode == 0, told.stderr
    for title in ("Workload", "Distributions", "Correlations", "Power laws", "Daily patterns", "Sites", "Churn"):
        assert title in told.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["tables"]["Workload"][0]["topics"] == 11_000
    assert len(found["figures"]) == 10
    page = (tmp_path / "found.html").read_text()
    assert page.count("data:image/png;base64,") == 10
    assert not re.search(r"""(src|href)=["'](?!data:)""", page), "nothing is fetched from elsewhere"


def test_what_is_lacking_is_named_with_the_remedy(tmp_path: Path) -> None:
    unknown = tidegate(tmp_path, "workload", "generate", "--like", "myspace", "--into", "mine")
    assert unknown.returncode == 2
    assert "no workload is called 'myspace': choose one of spotify, twitter" in unknown.stderr
    missing = tidegate(tmp_path, "workload", "analyze", "mine")
    assert missing.returncode == 2
    assert "mine: there is no such folder" in missing.stderr
    pq.write_table(pa.table({"subscriber": [1], "topic": [1]}), tmp_path / "pairs.parquet")
    half = tidegate(tmp_path, "workload", "analyze", "--pairs", "pairs.parquet")
    assert half.returncode == 2
    assert "there is no topics.parquet; name a folder that has it, or --topics" in half.stderr
