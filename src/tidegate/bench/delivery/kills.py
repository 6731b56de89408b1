"""Section *kills*: service, database and pipeline are killed at random while posts flow, and everything is compared."""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from tidegate.bench.delivery.faults import Faults
from tidegate.bench.delivery.listener import comes_true
from tidegate.bench.delivery.service import UnansweredError
from tidegate.bench.delivery.site import PARTS, Part, Site
from tidegate.bench.report import Report
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.errors import TidegateError

TITLE: Final = "kill -9 at random while posts flow: notifications that are lost, or there twice"
NOTE: Final = (
    "What the inbox has, and what live feeds brought that came back by their cursors, beside what plain Python says of "
    "all posts that were acknowledged. A post that was not acknowledged was handed in again, by its id."
)
_PER_S: Final = 20
_PAUSE_S: Final = 0.1
# How long a part works before it is killed, and how long it is away.
_WORKS_S: Final = (0.3, 3.0)
_AWAY_S: Final = (0.0, 1.0)
# Spark starts within so long, and catches up, however busy the machine is.
_PATIENCE_S: Final = 180.0
_EVERYTHING: Final = 1_000_000


@dataclass
class Outcome:
    """What was done to a site, and what became of it."""

    kills: dict[Part, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    retried: int = 0
    """How often a post was handed in again, because there was no answer."""
    notifications: int = 0
    inbox: Faults = field(default_factory=Faults)
    reopened: int = 0
    """How often live feeds were."""
    feeds: Faults = field(default_factory=Faults)


def report_kills(report: Report, site: Site, kills: int, seed: int) -> None:
    """Kill every part so often, and say what became of it; raise `TidegateError` if anything came out of turn."""
    began = time.monotonic()
    outcome = survive(site, kills, seed)
    took = time.monotonic() - began
    lost, doubled, misplaced = Faults.all([outcome.inbox, outcome.feeds])
    Faults(misplaced=misplaced).demand_none("after kills")
    row = {
        **{f"{part} killed": times for part, times in outcome.kills.items()},
        "posts": len(site.posted),
        "handed in again": outcome.retried,
        "notifications": outcome.notifications,
        "feeds reopened": outcome.reopened,
        "lost": lost,
        "doubled": doubled,
        "in s": took,
    }
    report.section(TITLE, [row], NOTE)
    report.summary |= {"lost": lost, "doubled": doubled}


def survive(site: Site, kills: int, seed: int) -> Outcome:
    """Kill every part of a site so often while posts are handed in; then let it come to rest, and compare."""
    outcome = Outcome()
    opened = sum(each.openings for each in site.listeners.values())
    with _posting(site, outcome, seed), ThreadPoolExecutor(len(PARTS)) as threads:
        list(threads.map(lambda part: _torment(site, part, kills, outcome, random.Random(f"{seed} {part}")), PARTS))
    told = site.told()
    comes_true(lambda: _keep_running(site) and _is_told(site, told), _PATIENCE_S)
    outcome.feeds = Faults.all(site.listeners[name].faults(posts) for name, posts in told.items())
    outcome.reopened = sum(each.openings for each in site.listeners.values()) - opened
    _compare_inbox(site, told, outcome)
    return outcome


@contextmanager
def _posting(site: Site, outcome: Outcome, seed: int) -> Iterator[None]:
    """Hand in post after post, each until it is acknowledged, for as long as the context lasts."""
    generator, ended = random.Random(seed), threading.Event()

    def work() -> None:
        for number in count():
            post = site.post(f"flowing{number}", generator)
            while not _is_acknowledged(site, post):
                outcome.retried += 1
                time.sleep(_PAUSE_S)
            if ended.wait(1 / _PER_S):
                return

    thread = threading.Thread(target=work, name="writer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_PATIENCE_S)


def _is_acknowledged(site: Site, post: dict[str, str]) -> bool:
    try:
        site.hand_in(post)
    except UnansweredError:
        return False
    return True


def _torment(site: Site, part: Part, kills: int, outcome: Outcome, generator: random.Random) -> None:
    """Kill a part and start it again, so often; one that takes long to start is left to do some work first."""
    before = 0
    for _ in range(kills):
        if part == "pipeline":
            _see_it_work(site, before)
        time.sleep(generator.uniform(*_WORKS_S))
        site.kill(part)
        before = _heard(site)
        outcome.kills[part] += 1
        time.sleep(generator.uniform(*_AWAY_S))
        if not comes_true(lambda: _has_started(site, part), _PATIENCE_S):
            raise TidegateError(f"the {part} does not start again")


def _has_started(site: Site, part: Part) -> bool:
    """Whether it starts: a service ends at once where it finds no database, and whoever looks after it tries again."""
    try:
        site.restart(part)
    except TidegateError:
        return False
    return True


def _keep_running(site: Site) -> bool:
    """Start a job again that found no database and ended, as whoever looks after it would."""
    if not site.pipeline.is_running:
        site.restart("pipeline")
    return True


def _see_it_work(site: Site, before: int) -> None:
    """Wait until more has come through the pipeline than had when it was killed last."""
    if not comes_true(lambda: _keep_running(site) and _heard(site) > before, _PATIENCE_S):
        raise site.pipeline.failure("brings nothing")


def _heard(site: Site) -> int:
    return sum(len(each.notified) for each in site.listeners.values())


def _is_told(site: Site, told: Mapping[str, Mapping[str, set[str]]]) -> bool:
    return all(len(site.listeners[name].notified) >= len(posts) for name, posts in told.items())


def _compare_inbox(site: Site, told: Mapping[str, Mapping[str, set[str]]], outcome: Outcome) -> None:
    """Compare the rows of the inbox, with their reasons; and the order of each feed with that of its inbox."""
    faults = []
    with closing(Database.open(site.service.database)) as database:
        inbox = Inbox(database)
        for name, posts in told.items():
            found = inbox.since(name, limit=_EVERYTHING)
            outcome.notifications += len(found)
            wanted = [f"{post} {sorted(reasons)}" for post, reasons in posts.items()]
            came = [f"{one.id} {sorted(reason['subscription'] for reason in one.reasons)}" for one in found]
            faults.append(Faults.of(wanted, came, [one.cursor for one in found]))
            heard = [(each.cursor, each.id) for each in site.listeners[name].notified]
            faults.append(Faults(misplaced=heard != [(one.cursor, one.id) for one in found]))
    outcome.inbox = Faults.all(faults)
