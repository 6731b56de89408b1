"""Several engines decide and send side by side, are killed, and lose their database."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.deliver.delivery import HOOK, MAIL, Delivery, Noting, bring, engine_of, wanting
from tests.deliver.scenes import match
from tests.survival.process import Process
from tidegate.deliver.database import Database, UnreachableError
from tidegate.deliver.deciding import Deciding
from tidegate.deliver.event import Reason
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.schema import OUTBOX
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.watched_rules import WatchedRules


def waiting(database: Database) -> int:
    with database.reading() as connection:
        return connection.execute(select(func.count()).where(OUTBOX.c.settled.is_(None))).scalar_one()


def sent(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def test_those_who_decide_side_by_side_decide_once(delivery: Delivery) -> None:
    wanting(delivery, caps=[{"most": 40, "per": "day"}], addresses=MAIL)
    bring(delivery, *(str(number) for number in range(60)))

    def decide(_: int) -> int:
        rules = WatchedRules(RuleTable(delivery.database))
        deciding = Deciding(delivery.database, rules, ["email"], delivery.clock, at_once=3)
        total = 0
        while count := deciding.round().notifications:
            total += count
        return total

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(decide, range(4))) == 60
    delivery.run()
    assert delivery["email"] == [[str(number)] for number in range(40)]


def test_who_is_removed_while_it_is_decided_about_leaves_no_order_behind(delivery: Delivery) -> None:
    wanting(delivery, tags=("weather",))
    bring(delivery, "p")
    with ThreadPoolExecutor(1) as threads:
        removals = []

        def known(ids: Collection[str]) -> dict[str, Reason]:
            removals.append(threads.submit(Subscribers(delivery.database).remove, "ana"))
            time.sleep(0.3)  # it is waiting by now
            return {id_: Reason(id_, frozenset(["weather"])) for id_ in ids}

        rules = WatchedRules(RuleTable(delivery.database))
        deciding = Deciding(delivery.database, rules, ["email"], delivery.clock, known)
        assert deciding.round().orders == 1
        assert removals[0].result()
    assert waiting(delivery.database) == 0


def test_a_database_that_is_away_is_waited_for(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    wanting(delivery)
    bring(delivery, "p")
    engine = engine_of(delivery.database, {**delivery.channels}, delivery.clock)
    answers: Iterator[bool] = iter([False, False])
    decide = engine.deciding.round

    def unreliable() -> Any:
        if next(answers, True):
            return decide()
        raise UnreachableError("gone fishing")

    async def run() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(engine.run(stop))
        while not delivery["email"]:
            await asyncio.sleep(0.01)
        stop.set()
        await running

    monkeypatch.setattr(engine.deciding, "round", unreliable)
    asyncio.run(asyncio.wait_for(run(), 30))
    assert delivery["email"] == [["p"]]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_engines_that_are_killed_decide_once_and_lose_nothing(url: str, tmp_path: Path, seed: int) -> None:
    """Two at a time, killed at random while the inbox is being filled: every notification is ordered once."""
    generator = random.Random(seed)
    database, log = Database.open(url), tmp_path / "sent"
    subscribers, inbox = Subscribers(database), Inbox(database)
    for name in ("ana", "ben"):
        subscribers.put(name, {"addresses": HOOK})
    subscribers.put("capped", {"addresses": HOOK, "caps": [{"most": 50, "per": "week"}]})

    def start(number: int) -> Process:
        return Process.python("tests.deliver.delivery", url, log, log=tmp_path / f"{number}.log")

    engines = [start(0), start(1)]
    names = ("ana", "ben", "capped")
    for batch in range(8):
        inbox.add([match(name, f"{batch}-{n}") for n in range(20) for name in names], "run", batch)
        before = len(sent(log))
        engines[0].wait_until(lambda before=before: len(sent(log)) > before)  # type: ignore[misc]
        time.sleep(generator.uniform(0, 0.2))
        victim = generator.randrange(2)
        engines[victim].kill()
        engines[victim] = start(victim)
    told = {f"{name} webhook {batch}-{n}" for name in ("ana", "ben") for batch in range(8) for n in range(20)}
    engines[0].wait_until(lambda: told <= set(sent(log)))
    engines[0].wait_until(lambda: not waiting(database))
    for engine in engines:
        engine.terminate()
    with database.reading() as connection:
        ordered = Counter(connection.execute(select(OUTBOX.c.subscriber)).scalars())
    assert ordered == {"ana": 160, "ben": 160, "capped": 50}
    assert len({line for line in sent(log) if line.startswith("capped")}) == 50
    database.close()


def test_a_parcel_is_not_sent_by_two_engines_at_once(delivery: Delivery) -> None:
    wanting(delivery, addresses=HOOK)
    bring(delivery, *(str(number) for number in range(40)))
    shared = Noting()

    async def both() -> None:
        engines = [engine_of(delivery.database, {"webhook": shared}, delivery.clock) for _ in range(2)]
        await asyncio.gather(*(engine.once() for engine in engines))

    asyncio.run(both())
    assert sorted(shared.posts, key=lambda one: int(one[0])) == [[str(number)] for number in range(40)]
