"""A scene: a store, files of generated posts and a sink, and what must lie in the sink when all is over."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tests.spark.oracle import Oracle, Pair
from tests.survival.process import Process
from tidegate.store.dead_letters import DeadLetters
from tidegate.store.store import Store
from tidegate.workload.microblog import Microblog
from tidegate.workload.searches import saved_searches

SEED = 11
FILE = 150
"""Posts of a file."""
FILES_PER_BATCH = 2
BAD = 50
"""One in so many posts is at a latitude of 200 degrees, and has to end among the dead letters."""


@dataclass(frozen=True)
class Scene:
    """Everything lies in one folder."""

    folder: Path
    kind: str
    """Of the sink: delta or parquet."""

    @classmethod
    def made(cls, folder: Path, *, kind: str = "delta", batches: int) -> "Scene":
        """A scene with subscriptions in its store, and posts for so many batches at least."""
        scene = cls(folder, kind)
        searches = pa.table({"id": list(scene.searches), "query": list(scene.searches.values())})
        subscribers = pa.array(["ana"] * len(scene.searches))
        Store.open(folder / "store").apply(searches.append_column("subscriber", subscribers))
        blog = Microblog(SEED, datetime(2026, 5, 1, tzinfo=UTC), 1000.0)
        (folder / "posts").mkdir()
        for number in range(batches * FILES_PER_BATCH):
            posts = pa.Table.from_batches(blog.posts(number * FILE, (number + 1) * FILE))
            latitudes = [200.0 if row % BAD == 0 else lat for row, lat in enumerate(posts.column("lat").to_pylist())]
            posts = posts.set_column(posts.schema.get_field_index("lat"), "lat", pa.array(latitudes, pa.float64()))
            pq.write_table(posts.set_column(6, "lon", pa.repeat(0.5, FILE)), folder / "posts" / f"{number:04}.parquet")
        return scene

    @cached_property
    def searches(self) -> dict[str, str]:
        """The subscriptions that are there from the beginning, by id."""
        return {f"fixed-{i}": query for i, query in enumerate(saved_searches(150, SEED).column("query").to_pylist())}

    @property
    def store(self) -> Store:
        return Store.open(self.folder / "store", create=False)

    def job(self, *options: str) -> Process:
        """The main job: started, or started again where it died."""
        posts = f"parquet:{self.folder}/posts?maxFilesPerTrigger={FILES_PER_BATCH}"
        matches = f"{self.kind}:{self.folder}/matches"
        return self.role("match", "--posts", posts, "--matches", matches, *options)

    def role(self, name: str, *options: str) -> Process:
        """A process of the scene."""
        return Process.python("tests.survival.job", name, self.folder, *options, log=self.folder / f"{name}.log")

    def notes(self, name: str) -> list[dict[str, Any]]:
        """The lines that a process has noted."""
        path = self.folder / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def is_mid_batch(self) -> bool:
        """Whether a micro-batch has begun and not ended."""
        return len(self._log("offsets")) > len(self._log("commits"))

    def assert_exact(self) -> None:
        """No match lost, none doubled, none made up; and each bad post is set aside once."""
        expected, found = Counter(self.expected()), Counter(self.found())
        assert expected, "nothing was to match: this would prove nothing"
        assert not expected - found, f"{(expected - found).total()} of {expected.total()} lost"
        assert not found - expected, f"{(found - expected).total()} too many beside {expected.total()}"
        letters = DeadLetters(self.store.beside).read().column("id").to_pylist()
        assert sorted(letters) == sorted(self._posts(self._files()).filter(~_good()).column("id").to_pylist())

    def expected(self) -> list[Pair]:
        """The matches of every batch with the subscriptions of the version that it was pinned to."""
        pins = {note["batch"]: note["store"] for note in self.notes("pins")}
        assert {(note["batch"], note["store"]) for note in self.notes("pins")} == pins.items(), "a pin has moved"
        oracle, changes = Oracle(self.searches), self.notes("changes")
        pairs: list[Pair] = []
        for batch, files in self._batches().items():
            while changes and changes[0]["version"] <= pins[batch]:
                oracle.change(changes.pop(0)["queries"])
            pairs += oracle.pairs(self._posts(files).filter(_good()))
        return pairs

    def found(self) -> list[Pair]:
        """The matches in the sink."""
        place = self.folder / "matches"
        files = DeltaTable(str(place)).file_uris() if self.kind == "delta" else [*map(str, place.rglob("*.parquet"))]
        rows = ds.dataset(files).to_table(["id", "subscription"])
        return list(zip(rows.column("id").to_pylist(), rows.column("subscription").to_pylist(), strict=True))

    def _batches(self) -> dict[int, list[str]]:
        """By batch, the files that Spark has put into it; all of them, once each."""
        listed = (line for log in self._log("sources/0", "*") for line in log.read_text().splitlines()[1:])
        entries = {entry["path"]: entry["batchId"] for entry in map(json.loads, listed)}
        batches, done = {}, -1
        for log in self._log("offsets"):
            end = json.loads(log.read_text().splitlines()[-1])["logOffset"]
            batches[int(log.name)] = [path.removeprefix("file://") for path, at in entries.items() if done < at <= end]
            done = end
        assert sorted(file for files in batches.values() for file in files) == self._files()
        return batches

    def _log(self, name: str, pattern: str = "[0-9]*") -> list[Path]:
        """The files of a log of the checkpoint, in order."""
        found = (self.folder / "checkpoint" / name).glob(pattern)
        return sorted((file for file in found if file.name[0].isdigit()), key=lambda file: int(file.stem))

    def _files(self) -> list[str]:
        return sorted(map(str, (self.folder / "posts").glob("*.parquet")))

    def _posts(self, files: list[str]) -> pa.Table:
        return pa.concat_tables(map(pq.read_table, files))


def _good() -> ds.Expression:
    return ~(ds.field("lat") == 200.0) | ds.field("lat").is_null()
