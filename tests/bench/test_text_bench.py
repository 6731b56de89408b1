"""Benchmark `text` reports what it promises, and does not let a wrong answer pass."""

import pytest

from tidegate.bench import text
from tidegate.errors import TidegateError


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(text._POSTS, "small", 2_000)
    monkeypatch.setattr(text, "_PYTHON_POSTS", 300)


def test_every_figure_is_there() -> None:
    report = text.run("small", seed=1)
    assert report.summary.keys() >= {
        "posts_per_s",
        "mb_per_s",
        "python_posts_per_s",
        "speedup",
        "first_pass_posts_per_s",
    }
    assert all(value > 0 for value in report.summary.values())
    assert report.params["posts"] == 2_000


def test_other_terms_than_those_of_plain_python_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_plain_terms", lambda *_: [0])
    with pytest.raises(TidegateError, match="the scanner and plain Python disagree"):
        text.run("small", seed=1)
