"""kill -9 of who writes the inbox, and of the database itself: nothing taken is lost, and nothing is there twice."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deliver.scenes import subscriptions
from tests.deliver.writer import rows
from tests.survival.process import Process
from tidegate.bench.delivery.server import Server, postgres_server
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.notification import Notification

# Many small batches: a writer must not have come to its end before the last of the kills.
BATCHES, ROWS, KILLS = 200, 300, 4


@pytest.fixture
def victim() -> Iterator[Server]:
    """A server that no other test needs."""
    with postgres_server() as server:
        yield server


def writing(url: str, run: str, folder: Path) -> Process:
    arguments = [url, run, str(BATCHES), str(ROWS), str(folder / run)]
    return Process.python("tests.deliver.writer", *arguments, log=folder / f"{run}.log")


def noted(folder: Path, run: str) -> int:
    progress = folder / run
    return len(progress.read_text().split()) if progress.exists() else 0


def everything(url: str) -> list[Notification]:
    database = Database.open(url)
    found = Inbox(database).tail(0, limit=1_000_000)
    database.close()
    return found


def expected(runs: list[str]) -> dict[tuple[str, str], list[str]]:
    """The reasons of every subscriber and post, if every batch is taken once."""
    told: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for batch in range(BATCHES):
            for row in rows(run, batch, ROWS):
                reasons = told.setdefault((row["subscriber"], row["id"]), [])
                if row["subscription"] not in reasons:
                    reasons.append(row["subscription"])
    return told


def assert_taken(url: str, folder: Path, run: str) -> None:
    """Assert that what the writer was told is there, is."""
    numbers = [int(number) for number in (folder / run).read_text().split()] if noted(folder, run) else []
    taken = {one.id for one in everything(url)}
    assert {row["id"] for batch in numbers for row in rows(run, batch, ROWS)} <= taken


def assert_whole(url: str, runs: list[str]) -> None:
    """Assert that everything is there, once."""
    found, told = everything(url), expected(runs)
    assert {(one.subscriber, one.id): subscriptions(one) for one in found} == told
    assert len(found) == len(told)
    assert len({one.cursor for one in found}) == len(found)


@pytest.mark.slow
def test_a_writer_killed_in_mid_batch_loses_and_doubles_nothing(url: str, tmp_path: Path) -> None:
    generator = random.Random(1)
    process = writing(url, "run", tmp_path)
    for _ in range(KILLS):
        before = noted(tmp_path, "run")
        process.wait_until(lambda before=before: noted(tmp_path, "run") > before)  # type: ignore[misc]
        time.sleep(generator.uniform(0, 0.2))
        process.kill()
        assert_taken(url, tmp_path, "run")
        process = writing(url, "run", tmp_path)
    process.wait(120)
    assert_whole(url, ["run"])


@pytest.mark.slow
def test_a_database_server_that_is_killed_loses_and_doubles_nothing(victim: Server, tmp_path: Path) -> None:
    generator = random.Random(1)
    url, runs = victim.database(), ["a", "b"]
    processes = [writing(url, run, tmp_path) for run in runs]
    for _ in range(KILLS):
        before = noted(tmp_path, "a")
        processes[0].wait_until(lambda before=before: noted(tmp_path, "a") > before)  # type: ignore[misc]
        time.sleep(generator.uniform(0, 0.2))
        victim.kill()
        victim.restart()
    for run in runs:
        assert_taken(url, tmp_path, run)
    for process in processes:
        process.wait(120)
    assert_whole(url, runs)
