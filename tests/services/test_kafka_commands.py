"""From Kafka to Kafka by the command line; and the page about it, run as it stands."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.services.broker import SCRIPT, Kafka, script
from tests.spark.oracle import pairs_of
from tidegate.store.store import Store
from tidegate.workload.posts import posts as generated_posts
from tidegate.workload.searches import saved_searches

PAGE = Path(__file__).parents[2] / "docs" / "kafka.md"
PATIENCE_S = 240

pytestmark = pytest.mark.slow


def shell(commands: str, folder: Path, **environment: str) -> str:
    """Run commands as in a terminal that knows `tidegate`; return what they print. Nothing of them is left running."""
    with subprocess.Popen(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, complained = process.communicate(timeout=PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, complained
    return said


def test_the_command_line_matches_from_topic_to_topic_as_brute_force_does(
    kafka: Kafka, spark_kafka: SparkSession, tmp_path: Path
) -> None:
    queries = {str(i): query for i, query in enumerate(saved_searches(150, 71).column("query").to_pylist())}
    posts = generated_posts(1_000, 72)
    subscribers = ["ana"] * len(queries)
    Store.open(tmp_path / "subscriptions").apply(
        pa.table({"id": list(queries), "query": list(queries.values()), "subscriber": subscribers})
    )
    messages = spark_kafka.createDataFrame(posts).select(F.to_json(F.struct("*")).alias("value"))
    kafka.produce(messages, "posts-by-command")
    server = f"kafka://{kafka.bootstrap}"
    run = f"tidegate run --posts {server}/posts-by-command --matches {server}/matches-by-command --plan hash:3 --once"
    told = shell(run, tmp_path, TIDEGATE_KAFKA_JARS=script("jars"))
    expected = pairs_of(queries, posts)
    assert f"1,000 posts, {len(expected):,} matches, 0 dead letters" in told
    assert kafka.matches(spark_kafka, "matches-by-command") == expected


def test_the_page_about_kafka_shows_what_happens(
    kafka: Kafka, spark_kafka: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The broker of the tests is there already: what the page starts is that one.
    page = PAGE.read_text().replace("127.0.0.1:PORT", kafka.bootstrap)
    page = page.replace("scripts/kafka start", f"{SCRIPT} start --dir {kafka.folder}")
    page = page.replace('"scripts/kafka", "start"', f'"{SCRIPT}", "start", "--dir", "{kafka.folder}"')
    page = page.replace("scripts/kafka jars", f"{SCRIPT} jars").replace(
        '"scripts/kafka", "jars"', f'"{SCRIPT}", "jars"'
    )
    names: dict[str, object] = {}
    told = []
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", page, re.DOTALL):
        if kind == "python":
            exec(block, names)
        else:
            told.append(shell("\n".join(re.findall(r"^\$ (.*)", block, re.MULTILINE)), tmp_path))
    assert [kafka.bootstrap in said for said in told] == [True, True]
    assert "2 posts, 1 matches" in told[-1]
    assert '"text":"Storms reach the coast tonight"' in capsys.readouterr().out
