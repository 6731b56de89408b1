"""A standalone cluster on loopback loses a worker in mid-stream, and not a match."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyspark
import pytest

from tests.machine import free_port
from tests.survival.process import Process
from tests.survival.scene import Scene

Mortal = Callable[[Process], Process]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def daemon(log: Path, role: str, *arguments: str) -> Process:
    """A master or a worker, through the script that Spark's own start scripts use."""
    home = Path(str(pyspark.__file__)).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", "127.0.0.1", *arguments]
    return Process(command, log, {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"})


def worker(folder: Path, name: str, master: str) -> Process:
    arguments = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / name), master]
    return daemon(folder / f"{name}.log", "worker.Worker", *arguments)


def says(process: Process, words: str) -> bool:
    return words in process.log.read_text()


def python_workers(process: Process) -> list[str]:
    """The command lines of a Spark worker's offspring that run Python."""
    return [command for command in process.commands() if "pyspark" in command and "daemon" in command]


def test_a_killed_worker_takes_no_match_with_it(tmp_path: Path, mortal: Mortal) -> None:
    scene = Scene.made(tmp_path, batches=15)
    port = free_port()
    master = mortal(daemon(tmp_path / "master.log", "master.Master", "--port", str(port), "--webui-port", "0"))
    master.wait_until(partial(says, master, "Starting Spark master"))
    url = f"spark://127.0.0.1:{port}"
    first, second = (mortal(worker(tmp_path, name, url)) for name in ("first", "second"))
    for each in (first, second):
        each.wait_until(partial(says, each, "Successfully registered with master"))
    job = mortal(scene.job("--master", url))
    job.wait_until(lambda: len(scene.notes("pins")) >= 4, 180)
    assert all(python_workers(each) for each in (first, second)), "both were to take part"
    first.kill()
    killed_at = len(scene.notes("pins"))
    assert scene.is_mid_batch()
    job.wait(300)
    assert len(scene.notes("pins")) > killed_at, "the worker was to die in mid-stream"
    scene.assert_exact()
