"""`tidegate demo --serve`: what streams is on the page's API, in a reader's inbox and feed, until Ctrl-C."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.following import following
from tests.serve.scene import bearer
from tidegate.store.glimpses import Glimpses
from tidegate.store.store import Store

PATIENCE_S = 180
_PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"


@contextmanager
def demo(into: Path) -> Iterator["subprocess.Popen[str]"]:
    options = ["--serve", "--port", "0", "--subscriptions", "500", "--posts-per-second", "200", "--into", str(into)]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _PROGRAM, "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def links(process: "subprocess.Popen[str]") -> dict[str, tuple[str, str]]:
    """Addresses and keys, by what they are for, as the command prints them."""
    found: dict[str, tuple[str, str]] = {}
    assert process.stdout is not None
    for line in process.stdout:
        if link := re.match(r"(page|operator) +(http://127\.0\.0\.1:\d+)/#key=(\S+)", line):
            found[link[1]] = (link[2], link[3])
            if len(found) == 2:
                return found
    raise AssertionError(process.communicate())


def wait_for(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(0.2)
    raise TimeoutError


@pytest.mark.slow
def test_the_stream_is_on_the_page_until_ctrl_c(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as process:
        shown = links(process)
        (url, key), (_, operator) = shown["page"], shown["operator"]

        def ask(key: str, path: str) -> Any:
            return httpx.get(f"{url}{path}", headers=bearer(key), timeout=60).json()

        assert "Tidegate" in httpx.get(url).text
        assert len(ask(key, "/subscriptions")["items"]) == 4
        assert wait_for(lambda: ask(key, "/posts/recent")["items"])[0]["text"]
        newest = wait_for(lambda: ask(key, "/inbox/latest")["items"])[0]
        (told,) = ask(key, f"/inbox/reasons?cursor={newest['cursor']}")
        assert told["reasons"][0]["why"] is not None
        with following(url, key, last=0) as events:
            assert [next(events).kind for _ in range(3)] == ["ready", "notification", "notification"]
        (job,) = wait_for(lambda: ask(operator, "/operator/status")["store"]["jobs"])
        assert job["running"]
        assert job["figures"]["total"]["matches"] > 0
        assert Glimpses(Store.open(tmp_path / "demo" / "subscriptions").beside).written().keys() == {job["run"]}
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert re.search(r"stopped: [\d,]+ posts, [\d,]+ matches", out)


@pytest.mark.slow
def test_a_signal_before_it_runs_ends_it_too(tmp_path: Path) -> None:
    with demo(tmp_path / "demo") as process:
        wait_for((tmp_path / "demo").exists)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
