"""Section *end to end*: from a post that is handed in to the live feeds of those whose subscriptions it matches."""

import os
import random
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import numpy as np

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.listener import Heard, Listener, comes_true
from tidegate.bench.delivery.site import Site
from tidegate.bench.report import Report, Row
from tidegate.errors import TidegateError

TITLE: Final = "End to end: from before a post is handed in by HTTP until a live feed has it"
NOTE: Final = (
    "The pipeline is posts in a folder, `tidegate run` on Spark, the inbox on PostgreSQL, and the service that follows "
    "it. What is presence is not kept: it goes from the service to those who follow its topic. The trigger is how "
    "often the job looks for posts; a post waits for the batch under way, too."
)
_PER_S: Final = 20
_WARM: Final = 2
# Spark starts within so long, however busy the machine is, and a batch is done.
_PATIENCE_S: Final = 120.0
_TOPIC: Final = "harbour"


def report_end_to_end(report: Report, site: Site, count: int, seed: int) -> None:
    """Hand in posts one by one, by both paths; raise `TidegateError` unless each is told to all who asked, once."""
    generator = random.Random(seed)
    load = os.getloadavg()[0]
    # With its first batches a job starts its workers, as many as there are files to be read at once.
    for number in range(_WARM):
        _hand_in(site, [site.post(f"warm{number}-{each}", generator) for each in range(_PER_S // 2)])
        _await_told(site)
    before = {name: len(listener.notified) for name, listener in site.listeners.items()}
    sent = _hand_in(site, [site.post(f"timed{number}", generator) for number in range(count)])
    _await_told(site)
    told = [each for name, listener in site.listeners.items() for each in listener.notified[before[name] :]]
    rows = [_row("notification, by the pipeline", f"every {site.trigger}", told, sent), _by_presence(site, count)]
    report.section(TITLE, [{**row, "load": load} for row in rows], NOTE)
    report.summary["end_to_end_p50_ms"] = rows[0]["p50_ms"]


def _await_told(site: Site) -> None:
    """Wait until everybody was told of all that was posted so far; raise if somebody was not, or twice."""
    told = site.told()
    comes_true(lambda: all(len(site.listeners[name].notified) >= len(told[name]) for name in told), _PATIENCE_S)
    Faults.all(site.listeners[name].faults(told[name]) for name in told).demand_none("end to end")


def _by_presence(site: Site, count: int) -> Row:
    with ExitStack() as stack:
        listeners = [Listener(site.service.port, key, _TOPIC) for key in site.keys.values()]
        for each in listeners:
            stack.callback(each.close)
        if not comes_true(lambda: all(each.openings for each in listeners), _PATIENCE_S):
            raise TidegateError("live feeds were not opened")
        posts = [{"id": f"here{number}", "text": "here"} for number in range(count)]
        sent = _hand_in(site, [{**post, "topic": _TOPIC, "topic_type": "presence"} for post in posts])
        comes_true(lambda: all(len(each.present) >= count for each in listeners), _PATIENCE_S)
        heard = [each.present[:] for each in listeners]
    Faults.all(Faults.of(sent, [one.id for one in each]) for each in heard).demand_none("presence")
    return _row("presence, by the service alone", None, [one for each in heard for one in each], sent)


def _hand_in(site: Site, posts: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Hand in posts one after the other; return when each was."""
    sent = {}
    for post in posts:
        sent[post["id"]] = now = time.monotonic()
        site.hand_in(post)
        time.sleep(max(0.0, now + 1 / _PER_S - time.monotonic()))
    return sent


def _row(path: str, trigger: str | None, heard: list[Heard], sent: Mapping[str, float]) -> Row:
    late = [1000 * (each.at - sent[each.id]) for each in heard]
    median, p99, most = np.percentile(late, [50, 99, 100]).tolist()
    figures = {"p50_ms": median, "p99_ms": p99, "max_ms": most}
    return {"path": path, "trigger": trigger, "posts": len(sent), "told": len(late), **figures}
