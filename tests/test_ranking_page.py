"""The page on ranked feeds: what it shows is run, in a folder of its own."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

PAGE = Path(__file__).parent.parent / "docs" / "ranking.md"
PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"


def run(folder: Path, program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_page_about_ranked_feeds_shows_what_happens(tmp_path: Path) -> None:
    page = PAGE.read_text()
    setting_up, job = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (line,) = re.findall(r"```console\n\$ tidegate (.*?)\n```", page, re.DOTALL)
    run(tmp_path, setting_up)
    said = run(tmp_path, PROGRAM, *shlex.split(line))
    assert "8 posts, 9 matches to rank" in said
    assert "2 delivered" in said
    windows = [json.loads(text) for file in tmp_path.glob("windows/*/*/*.json") for text in file.open()]
    best = sorted((row["window"], row["rank"], row["id"], row["score"]) for row in windows)
    assert best == [(0, 1, "3", 30.0), (1, 1, "6", 23.0)]
    assert all("subscription" not in row and row["subscriber"] == "ana" for row in windows)

    more = [{"id": "8", "text": "storm", "ts": "2026-01-01T10:08:00Z", "likes": 1}]
    more.append({"id": "9", "text": "flood", "ts": "2026-01-01T10:09:00Z", "likes": 99})
    (tmp_path / "posts" / "tuesday.json").write_text("\n".join(map(json.dumps, more)) + "\n")
    run(tmp_path, PROGRAM, *shlex.split(line))
    windows = [json.loads(text) for file in tmp_path.glob("windows/*/*/*.json") for text in file.open()]
    assert sorted((row["window"], row["id"]) for row in windows) == [(0, "3"), (1, "6"), (2, "9")]
    told = json.loads(run(tmp_path, PROGRAM, "status", "--json"))["jobs"][0]
    assert (told["store"], told["figures"]["ranked_total"]["delivered"]) == (2, 1)
    assert told["figures"]["ranked"]["held_bytes"] > 0
    assert told["figures"]["state_bytes"] > 0
    asking = (
        "import tidegate; tidegate.open('subscriptions').subscribe('bo', 'storm', ranking={'score': 'field:lieks'})"
    )
    done = subprocess.run([sys.executable, "-c", asking], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "score field 'lieks' is unknown: posts have id, likes, text, ts" in done.stderr

    run(tmp_path, f"import tidegate; store = tidegate.open('subscriptions')\n{job}")
    found = ds.dataset(tmp_path / "best", exclude_invalid_files=True).to_table(["window", "id"]).to_pylist()
    assert sorted((row["window"], row["id"]) for row in found) == [(0, "3"), (1, "6"), (2, "9")]
