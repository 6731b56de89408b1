"""What a job needs of its process: signals that stop it, and a Spark that does not talk into its terminal."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from threading import Event
from typing import IO

from pyspark.sql import SparkSession

from tidegate.errors import PipelineError, StoreError
from tidegate.spark.session import local_session
from tidegate.store.location import Location


@contextmanager
def stopped_by_signals() -> Iterator[Event]:
    """Let SIGINT and SIGTERM set the event that this yields, and do nothing else."""
    stop = Event()
    before = {which: signal.signal(which, lambda *_: stop.set()) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


@contextmanager
def spark_log(checkpoint: str) -> Iterator[IO[str]]:
    """The file for what Spark has to say: `spark.log` in the checkpoint, if that is a folder."""
    folder = Location.of(checkpoint).folder or _scratch_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = (folder / "spark.log").open("a")
    except OSError as error:
        raise StoreError(f"{folder}: the checkpoint cannot be written: {error}") from error
    with log:
        yield log


@contextmanager
def scratch_log() -> Iterator[IO[str]]:
    """A file for what Spark has to say where there is no checkpoint."""
    with (_scratch_folder() / "spark.log").open("a") as log:
        yield log


def _scratch_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tidegate-"))


@contextmanager
def quiet_session(settings: Mapping[str, str], log: IO[str]) -> Iterator[SparkSession]:
    """A session that writes to the log alone, and leaves the handlers of signals as they are."""
    interrupted = signal.getsignal(signal.SIGINT)
    with _standard_error_in(log):
        try:
            spark = local_session(settings=settings)
        except Exception as error:  # of Spark, of Py4J or of Java, by what is wrong
            reason = str(error).strip().partition("\n")[0]
            raise PipelineError(f"Spark does not start: {reason} (its own log is {log.name})") from error
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield spark
    finally:
        # Whoever ends a service may have ended Spark along with it.
        with redirect_stderr(log), suppress(Exception):
            spark.stop()


@contextmanager
def _standard_error_in(log: IO[str]) -> Iterator[None]:
    """Send standard error to a file; a process that is started meanwhile keeps it there."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
