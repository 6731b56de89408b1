"""`tidegate learn` as a person uses it, and docs/routing.md, every line of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import PATIENCE_S, tidegate
from tidegate.cli.learning import wanted_plan
from tidegate.errors import ConfigError
from tidegate.route.plan import Plan

PAGE = Path(__file__).parents[2] / "docs" / "routing.md"


def test_the_page_about_plans_does_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    setting_up, in_python = (text for kind, text in blocks if kind == "python")
    lines = [line for kind, text in blocks if kind == "console" for line in text.splitlines()]
    assert [line.split()[2] for line in lines] == ["learn", "learn", "run"]
    program = [sys.executable, "-c", setting_up + in_python]
    prepared = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert prepared.returncode == 0, prepared.stderr
    assert len(prepared.stdout.split()) == 2
    explained, learned, ran = (tidegate(tmp_path, *line.split()[2:]) for line in lines)
    assert explained.returncode == 0, explained.stderr
    for plan in ("replicate", "hash:4", "salb:4", "refined:4", "headtail:4"):
        assert plan in explained.stdout
    assert "is the fastest" in explained.stdout
    assert "published" not in explained.stdout
    assert "published headtail:4 as version 2" in learned.stdout, learned.stderr
    # Every post has one of the words, which one subscription asks for alone, and another with storm and a place.
    assert "400 posts, 800 matches" in ran.stdout, ran.stderr


def test_a_store_without_subscriptions_has_nothing_to_learn_for(tmp_path: Path) -> None:
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "a.json").write_text(
        "".join(f'{{"id": "{number}", "text": "storm {number}"}}\n' for number in range(20))
    )
    subprocess.run(
        [sys.executable, "-c", "import tidegate; tidegate.open('subscriptions')"], cwd=tmp_path, check=True, timeout=60
    )
    done = tidegate(tmp_path, "learn", "--posts", "json:posts")
    assert done.returncode == 2
    assert "there are no subscriptions yet" in done.stderr


def test_what_to_learn_is_a_kind_and_perhaps_a_placement() -> None:
    assert wanted_plan("auto", 8) is None
    assert wanted_plan("replicate", 8) == Plan.replicate()
    assert wanted_plan("salb", 8) == Plan("salb", 8, placement="lasp")
    assert wanted_plan("salb:anycast", 8) == Plan("salb", 8, placement="anycast")
    with pytest.raises(ConfigError, match="'magic:8' is no plan"):
        wanted_plan("magic", 8)
