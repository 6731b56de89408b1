"""Forgetting the files of posts that are too old, in the folder that a job reads.

Too old is what is older than the retention, by the time in its name. And however old it is, a file stays for which a
job that runs on the same store says that it still waits: files are read in the order of their age, so these are the
newest. What a job had not read that was not running for so long is gone.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tidegate.serve.postbox import Postbox
from tidegate.store.location import Location
from tidegate.store.status import Jobs, JobStatus

EVERY_S: Final = 600.0
_DAY_S: Final = 86_400.0


class PostRetention:
    """Keeps the posts of a postbox for so many days."""

    def __init__(self, postbox: Postbox, beside: Location, days: float, clock: Callable[[], float] = time.time) -> None:
        """Ask the jobs that write about themselves `beside` a store; `clock` tells seconds since 1970."""
        self._postbox, self._jobs = postbox, Jobs(beside)
        self._age_s, self._clock = days * _DAY_S, clock

    def run(self, go_on: Callable[[], bool] = lambda: True) -> int:
        """Remove the files that are too old, and return how many; ends early when `go_on` says no.

        Several services may do so at once.
        """
        now = self._clock()
        waiting = max((_waiting(job) for job in self._jobs.read() if self._reads(job, now)), default=0)
        return self._postbox.forget(now - self._age_s, waiting, go_on)

    def _reads(self, job: JobStatus, now: float) -> bool:
        kind, _, folder = job.posts.partition(":")
        return kind == "json" and job.is_running(now) and Path(folder).resolve() == self._postbox.folder.resolve()


def _waiting(job: JobStatus) -> int:
    """How many files a job still waits for, as far as it knows."""
    lag = job.figures.get("lag", {})
    return int(lag.get("waiting", 0)) if lag.get("unit") == "files" else 0
