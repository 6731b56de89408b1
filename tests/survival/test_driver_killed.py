"""The driver is killed with SIGKILL, again and again, and the sink has every match exactly once in the end."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.survival.process import Process
from tests.survival.scene import Scene

Mortal = Callable[[Process], Process]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def see_a_batch_begin(scene: Scene, job: Process) -> float:
    """Wait until the job begins its next batch; return how long that was."""
    before, begun = len(scene.notes("pins")), time.monotonic()
    job.wait_until(lambda: len(scene.notes("pins")) > before)
    return time.monotonic() - begun


def kill_again_and_again(
    scene: Scene, mortal: Mortal, times: int, seed: int, ready: Callable[[], None] = lambda: None
) -> None:
    """Kill the job in mid-batch `times` times, in one of its first batches since it was started; then let it end.

    It is started whenever what happens besides is `ready` for it.
    """
    generator = random.Random(seed)
    kills = hits = 0
    while hits < times:
        assert kills < 2 * times, f"seed {seed}: only {hits} of {kills} kills were in mid-batch"
        ready()
        job, begun = mortal(scene.job()), time.monotonic()
        batches = generator.randint(1, 3)
        took = [see_a_batch_begin(scene, job) for _ in range(batches)]
        # A batch takes about as long as the one before it; but a first one, with all its warming up, says nothing.
        pause = generator.random() * (took[-1] if batches == 3 else 0.3)
        time.sleep(pause)
        # A moment between two batches becomes the first of the next one: its offsets are noted, and it has no pin yet.
        job.wait_until(scene.is_mid_batch)
        job.kill()
        # The batch may have ended between that look and the kill, and then it is tried again.
        kills, hits = kills + 1, hits + scene.is_mid_batch()
        print(f"killed after {time.monotonic() - begun:.1f} s, {pause:.2f} s after its batch {batches} began")
    print(f"seed {seed}: {hits} of {kills} kills were in mid-batch")
    mortal(scene.job()).wait(300)


def test_ten_kills_lose_and_double_nothing(tmp_path: Path, mortal: Mortal) -> None:
    scene = Scene.made(tmp_path, batches=35)
    kill_again_and_again(scene, mortal, times=10, seed=6)
    scene.assert_exact()


def test_kills_leave_no_half_written_folder_of_files(tmp_path: Path, mortal: Mortal) -> None:
    scene = Scene.made(tmp_path, kind="parquet", batches=15)
    kill_again_and_again(scene, mortal, times=3, seed=2)
    scene.assert_exact()


def test_ten_kills_while_subscriptions_are_added_and_removed_and_plans_swapped(tmp_path: Path, mortal: Mortal) -> None:
    scene = Scene.made(tmp_path, batches=35)
    changes, plans = mortal(scene.role("change", "--seed", "3")), mortal(scene.role("replan"))
    changes.wait_until(lambda: len(scene.notes("changes")) > 0)

    def see_another_plan() -> None:
        before = len(scene.notes("plans"))
        plans.wait_until(lambda: len(scene.notes("plans")) > before)

    kill_again_and_again(scene, mortal, times=10, seed=3, ready=see_another_plan)
    changes.terminate()
    plans.terminate()
    pinned = {note["store"] for note in scene.notes("pins")}
    assert len(pinned) > 5, "subscriptions were to change between batches"
    kinds = {note["version"]: note["plan"] for note in scene.notes("plans")}
    followed = {kinds.get(note["plan"]) for note in scene.notes("pins")}
    assert len(followed) > 3, f"batches were to follow plans of many kinds, and followed {followed}"
    scene.assert_exact()


def test_ten_kills_while_the_store_is_compacted(tmp_path: Path, mortal: Mortal) -> None:
    scene = Scene.made(tmp_path, batches=35)
    changes, upkeep = mortal(scene.role("change", "--seed", "4")), mortal(scene.role("tidy"))
    upkeep.wait_until(lambda: len(scene.notes("tidied")) > 0)
    kill_again_and_again(scene, mortal, times=10, seed=4)
    changes.terminate()
    upkeep.terminate()
    rounds = scene.notes("tidied")
    for step in ("compiled", "merged", "folded", "removed"):
        assert sum(done[step] > 0 for done in rounds) > 1, f"upkeep was to do it under the job's feet: {step}"
    scene.assert_exact()
