"""What a stage counts while it works, and how the counts leave a Python worker: as rows that are no matches.

Spark's `observe` sees every row of a micro-batch; a row without a post carries a line in its matches' place and goes
no further. So counting costs no second pass, no column, and nothing outside Spark.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidegate.spark.columns import Shape

OBSERVATION = "tidegate"


@dataclass
class Counts:
    """Of one micro-batch, or a part of one."""

    posts: int = 0
    """Received, the dead letters among them."""
    dead: int = 0
    """Set aside as dead letters."""
    visits: int = 0
    """Posts that matchers looked at: more than posts where one visits several."""
    candidates: int = 0
    """Conjunctions that indexes proposed and that had to be looked at."""
    matches: int = 0
    shed: int = 0
    """Visits given up under load."""
    loads: Counter[int] = field(default_factory=Counter)
    """By matcher: visits and candidates, the work it had."""
    visited: Counter[int] = field(default_factory=Counter)
    """By matcher: visits alone."""
    wanted: Counter[int] = field(default_factory=Counter)
    """By number of visits: how many posts asked for so many, those that were shed among them."""

    def add(self, other: "Counts") -> None:
        """Add those of another part."""
        for name in ("posts", "dead", "visits", "candidates", "matches", "shed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.loads.update(other.loads)
        self.visited.update(other.visited)
        self.wanted.update(other.wanted)

    def to_json(self) -> str:
        """Write them on one line."""
        return json.dumps({name: value for name, value in vars(self).items() if value})

    @classmethod
    def sum(cls, lines: Iterable[str]) -> "Counts":
        """Read lines and add them up."""
        total = cls()
        for line in lines:
            values = json.loads(line)
            loads, visited, wanted = (
                Counter({int(number): count for number, count in values.pop(name, {}).items()})
                for name in ("loads", "visited", "wanted")
            )
            total.add(cls(**values, loads=loads, visited=visited, wanted=wanted))
        return total


def count_row(counts: Counts, schema: pa.Schema, shape: Shape) -> pa.RecordBatch:
    """Return counts as a batch of one row of a schema of matches."""
    return line_row(counts.to_json(), schema, shape)


def line_row(written: str, schema: pa.Schema, shape: Shape) -> pa.RecordBatch:
    """Return a line as such a row: counts are an object of JSON, and posts that were drawn a list."""
    line: Any = {"subscription": written} if shape.paired else written
    place = shape.together[0].name
    columns = [pa.array([[line] if wanted.name == place else None], wanted.type) for wanted in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def observed(rows: DataFrame, post: str, shape: Shape, observation: Observation | str = OBSERVATION) -> DataFrame:
    """Let Spark observe the counts, and pass on the matches alone; `post` is the column with the posts' ids."""
    is_count = F.col(post).isNull()
    first = F.element_at(shape.together[0].name, 1)
    line = first.getField("subscription") if shape.paired else first
    lines: Column = F.string_agg(F.when(is_count, line), F.lit("\n")).alias("counts")
    return rows.observe(observation, lines).where(~is_count)


def counts_of(observed_values: Mapping[str, Any]) -> Counts:
    """Read what was counted of a batch."""
    return Counts.sum(line for line in _lines(observed_values) if line.startswith("{"))


def drawn_of(observed_values: Mapping[str, Any]) -> list[str]:
    """The lines with posts that were drawn from a batch."""
    return [line for line in _lines(observed_values) if line.startswith("[")]


def _lines(observed_values: Mapping[str, Any]) -> list[str]:
    return (observed_values.get("counts") or "").splitlines()
