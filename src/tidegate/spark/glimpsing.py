"""Looking at a stream while it is matched, for the glimpse that a job leaves beside its store.

Posts are drawn where they are in the hands of a Python worker anyway, and travel as counts do: no second pass, and now
and then only. A draw is by hash of the id, so that a replay, and another job on the same stream, draws alike.
"""

import json
import logging
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.deliver.clock import SECOND, Clock, now
from tidegate.errors import StoreError
from tidegate.route.hot_words import post_hashes
from tidegate.spark.columns import Columns
from tidegate.store.glimpses import POST, Glimpse, Glimpses, Look
from tidegate.store.store import Store

DRAWN: Final = 64
"""Posts that are drawn at most from a batch of Arrow's, which has some thousand."""

# A look is a few hundred posts, every few seconds.
_LOOKED_AT: Final = 256
_EVERY: Final = 5 * SECOND
# The text of a post may be of any length, and what is left of it is to be small.
_LONGEST_TEXT: Final = 20_000
_LONGEST_NAME: Final = 200
_TIME: Final = "ts"
_log = logging.getLogger(__name__)


def drawn_line(posts: pa.RecordBatch, columns: Columns, most: int) -> str:
    """Draw at most so many posts, in a worker; return them on one line: a list of the first draw left out, and rows.

    That draw is null if there are no others.
    """
    draws = _draws(posts.column(columns.id))
    order = np.argsort(draws, kind="stable")
    chosen = posts.take(pa.array(order[:most]))
    beyond = int(draws[order[most]]) if len(order) > most else None
    rows = zip(draws[order[:most]].tolist(), *_values(chosen, columns), strict=True)
    return json.dumps([beyond, *rows])


def looked_at(lines: Iterable[str], most: int = _LOOKED_AT) -> pa.Table:
    """Join what was drawn in the parts of a micro-batch: of `most` posts at most, each as likely as any other.

    What was left out in one part cannot be let in from the others.
    """
    parts = [json.loads(line) for line in lines]
    beyond = min((part[0] for part in parts if part[0] is not None), default=math.inf)
    rows = sorted((row for part in parts for row in part[1:] if row[0] < beyond), key=lambda row: row[0])[:most]
    columns = list(zip(*(row[1:] for row in rows), strict=True)) or [()] * len(POST)
    arrays = [
        pa.array(column, pa.int64() if field.name == _TIME else field.type)
        for column, field in zip(columns, POST, strict=True)
    ]
    return pa.table(arrays, names=POST.names).cast(POST)


class Glimpsing:
    """Belongs to the driver of one job; told of every micro-batch. Its failures stop nothing."""

    def __init__(self, store: Store, run: str, size: int, clock: Clock = now) -> None:
        """Leave at most `size` posts beside a store, beginning with what the run has left before."""
        self._glimpses, self._run, self._size, self._clock = Glimpses(store.beside), run, size, clock
        self._glimpse = self._before()
        self._unseen = 0
        self._due = 0

    def wanted(self) -> int:
        """How many posts are to be drawn, at most, from each part of the micro-batch that begins."""
        return DRAWN if self._clock() >= self._due else 0

    def after(self, batch: int, posts: int, lines: Iterable[str]) -> None:
        """Take note of a micro-batch: how many posts it had that could be matched, and what was drawn of them."""
        if batch <= self._glimpse.batch:
            return
        self._unseen += posts
        try:
            seen = looked_at(lines)
            if not seen.num_rows:
                return
            moment = self._clock()
            self._glimpse = self._glimpse.with_look(Look(moment, self._unseen, seen), batch, self._size)
            self._unseen, self._due = 0, moment + _EVERY
            self._glimpses.write(self._run, self._glimpse)
        except (StoreError, ValueError, pa.ArrowException) as error:
            _log.warning("recent posts cannot be left beside the store: %s", error)

    def _before(self) -> Glimpse:
        try:
            return self._glimpses.read(self._run) or Glimpse()
        except StoreError as error:
            _log.warning("what recent posts were left beside the store cannot be read: %s", error)
            return Glimpse()


def _draws(ids: pa.Array) -> NDArray[np.uint64]:
    """Numbers as good as random, the same for an id for ever: its hash, finished as by splitmix64."""
    mixed = post_hashes(ids)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed


def _values(posts: pa.RecordBatch, columns: Columns) -> list[list[Any]]:
    """By column of `POST`: values that JSON can write; null what cannot be read."""
    read: dict[str, tuple[str | None, Callable[[Any], Any]]] = {
        "id": (columns.id, _name),
        "ts": (_time_of(posts.schema), lambda value: value),
        "author": (columns.author, _name),
        "text": (columns.text, lambda value: value[:_LONGEST_TEXT]),
        "lang": (columns.lang, _name),
        "lat": (columns.lat, _number),
        "lon": (columns.lon, _number),
    }
    found = []
    for column, as_json in (read[name] for name in POST.names):
        values = [None] * posts.num_rows if column is None else _plain(posts.column(column))
        found.append([None if value is None else as_json(value) for value in values])
    return found


def _plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return list(column.to_pylist())


def _time_of(schema: pa.Schema) -> str | None:
    """The column that says when a post was written, if there is one."""
    return _TIME if _TIME in schema.names and pa.types.is_timestamp(schema.field(_TIME).type) else None


def _name(value: Any) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text[:_LONGEST_NAME]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
