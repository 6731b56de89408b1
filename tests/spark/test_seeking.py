"""However many topics are new, and whoever follows them, what is told live waits a small share of the time."""

import asyncio

import pytest

from tidegate.spark import seeking
from tidegate.spark.seeking import Seeking


class Time:
    """It passes while somebody waits, or when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds

    def sought(self, seeking: Seeking, *topics: str, from_s: float = float("inf")) -> float:
        """How long a batch waits for topics that are followed from a time on."""
        before = self.now
        asyncio.run(seeking.seek(topics, lambda _: self.now >= from_s))
        return self.now - before


def test_whoever_is_there_is_not_waited_for_and_who_comes_only_until_then() -> None:
    time = Time()
    seeking = Seeking(5, time, time.pause)
    assert time.sought(seeking, "nasa", from_s=0) == 0
    assert time.sought(seeking, "nasa", from_s=2) == pytest.approx(2, abs=0.1)


def test_a_topic_is_sought_in_vain_once() -> None:
    time = Time()
    seeking = Seeking(5, time, time.pause)
    assert time.sought(seeking, "nasa") == pytest.approx(5, abs=0.1)
    time.now += 1000
    assert time.sought(seeking, "nasa") == 0
    assert time.sought(seeking, "nasa", "esa") == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("finds", [False, True])
def test_in_the_long_run_a_tenth_of_the_time_is_waited(finds: bool) -> None:
    time = Time()
    seeking = Seeking(5, time, time.pause)
    waited = 0.0
    for batch in range(200):
        time.now += 3
        # Each batch has a topic that nobody follows, and it may have one that somebody does.
        waited += time.sought(seeking, f"topic {batch}")
        if finds:
            waited += time.sought(seeking, "nasa", from_s=0)
    assert waited <= 5 + 0.1 * time.now + 200 * 0.05
    assert waited > 50


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeking, "_MOST_IN_VAIN", 3)
    time = Time()
    found = Seeking(5, time, time.pause)
    time.sought(found, *"abcde")
    assert list(found._in_vain) == ["c", "d", "e"]
