"""Several processes at one store, some of which are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from tests.store.stores import ids, matched, python
from tests.store.writers import apply_batches, started, subscribe_for_ever, told
from tidegate.store.background import start_background
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep

SEED = 20240317


def test_two_writers_at_once_lose_nothing_and_share_no_version(tmp_path: Path) -> None:
    url = str(tmp_path / "made by whoever comes first")
    pipes = [started(apply_batches, url, prefix, 40)[1] for prefix in "ab"]
    versions = [told(pipe) for pipe in pipes]
    assert [len(some) for some in versions] == [40, 40]
    assert len({*versions[0], *versions[1]}) == 80
    assert all(some == sorted(some) for some in versions)
    assert ids(Store.open(url)) == sorted(f"{prefix}{number}" for prefix in "ab" for number in range(40))


def test_what_a_killed_writer_had_acknowledged_is_there(store: Store) -> None:
    random = Random(SEED)
    acknowledged: list[str] = []
    for kill in range(20):
        process, pipe = started(subscribe_for_ever, store.location.url, f"k{kill:02}")
        acknowledged.append(pipe.recv())
        time.sleep(random.uniform(0, 0.1))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += told(pipe)
        process.join()
        assert set(acknowledged) <= set(ids(Store(store.location))), f"seed {SEED}, kill {kill}"
    # At most one group of calls was committed and not acknowledged, of three threads each time.
    assert len(ids(store)) <= len(acknowledged) + 3 * 20
    store.subscribe("ana", "storm", id="after all")
    assert "after all" in matched(store, "Storms 1 2 3")
    Upkeep(store, Policy(data_files=1)).run_once()
    assert set(acknowledged) <= set(ids(Store(store.location)))


def test_upkeep_in_one_process_while_another_subscribes_loses_nothing(store: Store) -> None:
    eager = Policy(retention_hours=0, grace_s=5, tail_rows=10, data_files=5, spent_rows=5)
    living: set[str] = set()
    with start_background(store, every_s=0.01, policy=eager):
        tidied_at: list[int] = []
        for number in range(2_000):
            living.add(store.subscribe("ana", "storm", id=f"s{number}"))
            if number % 3 == 0:
                gone = f"s{number // 2}"
                store.unsubscribe(gone)
                living.discard(gone)
            if any(file.folded_to for file in store.table.files(store.version)):
                tidied_at.append(number)
            if len(tidied_at) > 20:
                break
    assert tidied_at, "the table was never folded"
    assert set(ids(store)) == living
    assert set(matched(Store(store.location), "storm")) == living


def test_upkeep_in_the_background_ends_with_a_parent_that_is_killed(store: Store) -> None:
    code = """
import sys, time
from tidegate.store.background import start_background
from tidegate.store.store import Store
background = start_background(Store.open(sys.argv[1]), every_s=0.01)
print(background.process.pid, flush=True)
time.sleep(60)
"""
    parent = python(code, store.location.url)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    while store.beside.read("upkeep.json") is None:
        time.sleep(0.01)
    parent.kill()
    parent.communicate()
    end = time.monotonic() + 20
    while _is_running(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(child)
    assert not Upkeep(store).run_once().skipped, "the lease was not given up"


def test_upkeep_goes_on_after_a_round_that_failed(store: Store) -> None:
    folder = store.beside.folder
    assert folder is not None
    folder.mkdir(exist_ok=True)
    (folder / "covers").write_text("a file where a folder should be")
    with subprocess.Popen(
        [sys.executable, "-c", _BACKGROUND, store.location.url],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stderr is not None
        assert "WARNING" in parent.stderr.readline()
        (folder / "covers").unlink()
        while not list(folder.glob("covers/*.arrow")):
            time.sleep(0.01)
        parent.communicate("\n")
    assert parent.returncode == 0


_BACKGROUND = """
import sys
from tidegate.store.background import start_background
from tidegate.store.store import Store
with start_background(Store.open(sys.argv[1]), every_s=0.05):
    sys.stdin.readline()
"""


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
