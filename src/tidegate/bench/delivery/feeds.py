"""Section *feeds*: how many live feeds a service holds, and how late they are, at one rate after the other."""

import json
import os
import secrets
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.process import Process
from tidegate.bench.delivery.service import Service
from tidegate.bench.delivery.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.schema import API_KEYS
from tidegate.serve.open_files import allow_open_files

TITLE: Final = "Live feeds: how late notifications are, from when they are due in the inbox to a client's socket"
NOTE: Final = (
    "Every feed is another subscriber's. Matches come ten batches a second, ten to a post; one that is written late "
    "counts as late. Clients and writer share the machine with the service, and with whatever made the load (of the "
    "minute before) that stands beside each figure. Each feed is compared, post by post."
)
FIRST: Final = 1_000
"""Deliveries a second, in all."""
LIMIT_MS: Final = 1_000.0
_WARM_S: Final = 1.0
_BATCHES_PER_S: Final = 10
_FEEDS_PER_POST: Final = 10
_TEXT: Final = "Storms reach the harbour of Kiel, and ferries stay where they are until the wind turns #weather"


class Writer:
    """Brings notifications into the inbox as a job would, and remembers who is to be told of what."""

    def __init__(self, inbox: Inbox, names: list[str], seed: int) -> None:
        """Choose subscribers by a seed."""
        self._inbox, self._names = inbox, names
        self._generator = np.random.default_rng(seed)
        self._batch = 0

    def write(self, per_s: int, seconds: float) -> list[list[str]]:
        """Write at a rate, on schedule or late; return the posts of each subscriber, in order."""
        told: list[list[str]] = [[] for _ in self._names]
        begin = time.time_ns()
        for number in range(round(seconds * _BATCHES_PER_S)):
            due = begin + number * 1_000_000_000 // _BATCHES_PER_S
            time.sleep(max(0, due - time.time_ns()) / 1e9)
            self._inbox.add(self._rows(per_s // _BATCHES_PER_S, due, told), "feeds", self._batch)
            self._batch += 1
        return told

    def _rows(self, count: int, due: int, told: list[list[str]]) -> list[dict[str, Any]]:
        rows = []
        for number in range(count // _FEEDS_PER_POST):
            post = f"{self._batch}-{number}"
            body = json.dumps({"id": post, "author": "nasa", "text": _TEXT, "sent": due})
            # In the order in which the inbox numbers them: as they come.
            for feed in self._generator.choice(len(self._names), _FEEDS_PER_POST, replace=False).tolist():
                told[feed].append(post)
                rows.append({"subscriber": self._names[feed], "subscription": "s", "id": post, "post": body})
        return rows


def report_feeds(report: Report, kind: str, folder: Path, url: str, sizes: Sizes, seed: int) -> list[Row]:
    """Open the feeds and write, at the first rate for as long as sizes say and then at doubled ones.

    Ends with the rate at which more than one notification in a hundred comes a second late. Raises `TidegateError` if
    one is lost, comes twice or out of turn.
    """
    allow_open_files(sizes.feeds)
    load = os.getloadavg()[0]
    service = Service(folder, url)
    process = service.start()
    crowd = Process(["-m", "tidegate.bench.delivery.crowd", str(service.port)], folder / "crowd.log", piped=True)
    try:
        with closing(Database.open(url)) as database:
            names = [f"reader{number}" for number in range(sizes.feeds)]
            opened_s = json.loads(crowd.ask(json.dumps(_keys(database, names))))["opened_s"]
            writer = Writer(Inbox(database), names, seed)
            _tell(crowd, writer, FIRST, _WARM_S)  # what is done for the first time takes the writer half a second
            rows: list[Row] = []
            for doubling in range(sizes.doublings + 1):
                per_s = FIRST << doubling
                seconds = sizes.doubled_s if doubling else sizes.feed_s
                used_s = process.cpu_s()
                came = _tell(crowd, writer, per_s, seconds)
                rows.append(
                    {
                        "database": kind,
                        "load": load,
                        "feeds": sizes.feeds,
                        "opened in s": opened_s,
                        "per s": per_s,
                        "for s": seconds,
                        **came,
                        "service's cores": (process.cpu_s() - used_s) / seconds,
                    }
                )
                if came["p99_ms"] > LIMIT_MS:
                    break
    finally:
        crowd.kill()
        service.kill()
    _summarise(report, rows)
    return rows


def _tell(crowd: Process, writer: Writer, per_s: int, seconds: float) -> dict[str, Any]:
    """Write at a rate; return how late it came. Raise `TidegateError` unless each feed was told what it had to be."""
    told = writer.write(per_s, seconds)
    came: dict[str, Any] = json.loads(crowd.ask(json.dumps(told)))
    faults = Faults(*(came.pop(fault) for fault in Faults._fields))
    faults.demand_none(f"{len(told):,} feeds at {per_s:,} deliveries a second")
    return came


def _keys(database: Database, names: list[str]) -> list[str]:
    """Keys for all of them, in one go."""
    keys = [secrets.token_urlsafe(16) for _ in names]
    rows = [
        {"hash": sha256(key.encode()).hexdigest(), "subscriber": name, "is_operator": 0, "made": 0}
        for name, key in zip(names, keys, strict=True)
    ]
    with database.writing() as connection:
        connection.execute(API_KEYS.insert(), rows)
    return keys


def _summarise(report: Report, rows: list[Row]) -> None:
    first, last = rows[0], rows[-1]
    report.summary |= {
        "feed_connections": first["feeds"],
        "feed_p99_ms": first["p99_ms"],
        "feed_p99_past_1s_at_per_s": last["per s"] if last["p99_ms"] > LIMIT_MS else None,
    }
