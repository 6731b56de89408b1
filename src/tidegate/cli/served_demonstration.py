"""`tidegate demo --serve`: the service with its page beside the main job, and a synthetic microblog that posts to it.

What is shown is what `tidegate serve` and `tidegate run` do together: posts go into the service's folder, a job reads
them there and fills inboxes, and the service tells whoever is there.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Final

from rich.console import Console
from rich.text import Text

from tidegate.cli.demonstration import Demo, stocked
from tidegate.deliver.retention import Retention
from tidegate.serve.first_key import OPERATOR
from tidegate.serve.post import Post
from tidegate.serve.post_retention import PostRetention
from tidegate.serve.server import serving
from tidegate.serve.service import Service
from tidegate.serve.settings import Limits, Settings
from tidegate.spark import run
from tidegate.spark.job import Job, run_job
from tidegate.workload.microblog import Microblog

READER: Final = "ana"
"""The subscriber whose page is shown."""
_QUERIES: Final = (
    "eclipse (comet OR telescope)",
    "storm flood -film",
    "concert in:(1.9,48.6,2.8,49.1)",
    "pizza garlic",
)
# A stream that is made up is broader than any a person would follow.
_MATCHES_PER_DAY: Final = 500_000.0
_POST_EVERY_S: Final = 0.5
# It may run all night, and its disk is somebody's: every minute, what is older than a quarter of an hour is forgotten.
_KEPT_DAYS: Final = 1 / 96
_FORGET_EVERY_S: Final = 60.0


def demonstrate_served(console: Console, demo: Demo, port: int) -> None:
    """Serve, post and match until a signal comes, or the time is up; print where the page is, and keys to it."""
    with _ended_by_signals():
        store, _ = stocked(console, demo)
        database = f"sqlite:///{(demo.folder / 'tidegate.db').absolute()}"
        limits = Limits(matches_per_day=_MATCHES_PER_DAY)
        settings = Settings(str(demo.folder / "subscriptions"), database, demo.folder / "posts", limits=limits)
        service = Service.open(settings)
        try:
            keys = _keys(service)
            job = Job(
                posts=f"json:{settings.posts}",
                matches=f"inbox:{database}",
                store=store,
                settings=run.Settings(checkpoint=str(demo.folder / "checkpoint")),
                seconds=demo.seconds,
            )
            with serving(service, "127.0.0.1", port) as address, _Microblog(service, demo):
                said = f"the stream runs {demo.span}; Ctrl-C ends it, and Spark joins in within a minute"
                console.print(said, soft_wrap=True)
                for name, key in keys.items():
                    # The part behind # stays in the browser, and the page takes it out of the address.
                    console.print(Text.assemble((f"{name:<9}", "bold"), f"{address}/#key={key}"), soft_wrap=True)
                figures = run_job(job, lambda _: None, lambda _: None)
            total = figures.total
            console.print(f"stopped: {total.posts:,} posts, {total.matches:,} matches in inboxes")
        finally:
            service.close()


def _keys(service: Service) -> dict[str, str]:
    """Sign up a reader with some subscriptions; return its key and an operator's, by what they are for."""
    service.subscribers.put(READER)
    for query in _QUERIES:
        asked = dict.fromkeys(("region", "ranking", "expires"))
        service.catalogue.make({**asked, "subscriber": READER, "query": query, "tags": []})
    return {"page": service.keys.issue(READER), "operator": service.keys.issue(OPERATOR, is_operator=True)}


class _Microblog:
    """Posts to a service at a steady pace, and lets inbox and posts be forgotten, as long as the block runs."""

    def __init__(self, service: Service, demo: Demo) -> None:
        self._service, self._per_s = service, demo.posts_per_s
        self._microblog = Microblog(demo.seed, datetime.now(UTC), demo.posts_per_s)
        self._retention = Retention(service.database, days=_KEPT_DAYS)
        self._post_retention = PostRetention(service.postbox, service.store.beside, _KEPT_DAYS)
        self._stop = Event()
        self._threads = [Thread(target=work, name=work.__name__, daemon=True) for work in (self._post, self._forget)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _post(self) -> None:
        begun, written = time.monotonic(), 0
        while not self._stop.wait(_POST_EVERY_S):
            due = int((time.monotonic() - begun) * self._per_s)
            for batch in self._microblog.posts(written, due):
                self._service.accept([Post(**row) for row in batch.to_pylist()])
            written = due

    def _forget(self) -> None:
        while not self._stop.wait(_FORGET_EVERY_S):
            self._retention.run()
            self._post_retention.run()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGINT and SIGTERM end the block, in order and without an error."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
