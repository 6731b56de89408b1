"""The processes of a scene, to be killed: `python -m tests.survival.job ROLE FOLDER …`.

`match` is the main job, from the microblog or from files to a sink; `change` subscribes and unsubscribes all the time,
`replan` publishes other plans, and `tidy` does the store's upkeep. All they know of each other is the folder.
"""

import argparse
import json
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tests.spark.plans import publish
from tidegate.errors import ConfigError
from tidegate.spark.run import Settings, start
from tidegate.spark.session import local_session
from tidegate.spark.sinks import Sink, sink_at
from tidegate.spark.sources.posts import read_posts
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep
from tidegate.workload.searches import saved_searches


class NotingSink(Sink):
    """Notes which versions a batch is pinned to before it is written: upkeep forgets the pins of batches long done."""

    def __init__(self, sink: Sink, store: Store, notes: Path) -> None:
        self._sink, self._store, self._notes = sink, store, notes

    def has(self, query: str, batch: int) -> bool:
        return self._sink.has(query, batch)

    def write(self, matches: DataFrame, query: str, batch: int, version: int | None = None) -> None:
        note(self._notes, {"batch": batch, **self._store.pin(query, batch)._asdict()})
        self._sink.write(matches, query, batch, version)


def note(path: Path, entry: dict[str, Any]) -> None:
    """Append a line; what is written outlives the process, though not the machine."""
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def match(folder: Path, posts: str, matches: str, master: str) -> None:
    """Match all posts there are, then end."""
    spark = local_session("survival", settings={"spark.master": master, "spark.driver.memory": "1g"})
    store = Store.open(folder / "store", create=False)
    sink = NotingSink(sink_at(matches), store, folder / "pins.jsonl")
    settings = Settings(str(folder / "checkpoint"), trigger_s=0.2, carry=("id", "text"))
    query = start(read_posts(spark, posts), store, sink, settings)
    query.processAllAvailable()
    query.stop()
    spark.stop()


def change(folder: Path, seed: int) -> None:
    """Add, replace and remove subscriptions, and note each change with the version from which on it counts."""
    store = Store.open(folder / "store", create=False)
    ended = _ended()
    generator = random.Random(seed)
    pool = saved_searches(500, seed).column("query").to_pylist()
    while not ended.wait(0.1):
        ids = [f"changing-{generator.randrange(300)}" for _ in range(generator.randint(1, 20))]
        queries = {name: generator.choice([generator.choice(pool), None]) for name in ids}
        rows = [
            {
                "operation": "unsubscribe" if query is None else "subscribe",
                "id": name,
                "subscriber": "eva",
                "query": query,
            }
            for name, query in queries.items()
        ]
        applied = store.apply(pa.Table.from_pylist(rows))
        assert not applied.refused
        note(folder / "changes.jsonl", {"version": applied.version, "queries": queries})


def replan(folder: Path) -> None:
    """Publish one plan after the other, also with other numbers of matchers, some to take over gradually."""
    store = Store.open(folder / "store", create=False)
    posts = pa.concat_tables(
        pq.read_table(file, columns=["text", "lat", "lon"]) for file in sorted((folder / "posts").iterdir())[:4]
    )
    ended = _ended()
    for text in cycle(("hash:3", "salb:4", "headtail:2", "hybrid:3", "replicate", "salb:2:anycast", "headtail:5")):
        # Those who want places come and go: while none of them is there, no plan goes by places.
        with suppress(ConfigError):
            plan = publish(store, text, posts, head=30, gradually=True)
            note(folder / "plans.jsonl", {"plan": text, "version": plan.version, "after": plan.after})
        if ended.wait(1.5):
            break


def tidy(folder: Path) -> None:
    """Compile, merge, fold and remove whatever there is to tidy, and note what was done."""
    upkeep = Upkeep(
        Store.open(folder / "store", create=False),
        Policy(retention_hours=1, grace_s=0.5, tail_rows=0, data_files=5, spent_rows=20),
    )
    ended = _ended()
    while not ended.wait(0.5):
        note(folder / "tidied.jsonl", upkeep.run_once()._asdict())


def _ended() -> threading.Event:
    """An event that comes when this process is asked to end."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    return ended


def main() -> None:
    """Play a role."""
    roles: dict[str, Callable[..., None]] = {"match": match, "change": change, "replan": replan, "tidy": tidy}
    parser = argparse.ArgumentParser()
    chosen = parser.add_subparsers(dest="role", required=True)
    commands = {name: chosen.add_parser(name) for name in roles}
    for command in commands.values():
        command.add_argument("folder", type=Path)
    commands["match"].add_argument("--posts", required=True)
    commands["match"].add_argument("--matches", required=True)
    commands["match"].add_argument("--master", default="local[2]")
    commands["change"].add_argument("--seed", type=int, required=True)
    arguments = vars(parser.parse_args())
    roles[arguments.pop("role")](**arguments)


if __name__ == "__main__":
    main()
