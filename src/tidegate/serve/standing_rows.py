"""The subscriptions of a store as a service looks them up: by id and by subscriber, as of now.

The store is asked for what has changed since it was last asked; it is read as a whole once, and when so much has
changed that this is better. What is kept is Arrow: some hundred bytes a subscription, and a look-up is one pass over a
column.
"""

from collections.abc import Collection
from threading import Lock
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.store.rows import last_of_each
from tidegate.store.schema import SUBSCRIPTION
from tidegate.store.store import Store

_COLUMNS: Final = [*SUBSCRIPTION.names, "removed", "version"]
# Changes are looked through one by one when rows are put together: they are kept few.
_FEW: Final = 1000


class _Seen(NamedTuple):
    """The store at a version: rows that lived at an earlier one, and the last change of each id since."""

    version: int
    rows: pa.Table
    changed: pa.Table


class StandingRows:
    """Rows of a store's living subscriptions. May be shared by threads."""

    def __init__(self, store: Store) -> None:
        """Read nothing yet."""
        self._store = store
        self._lock = Lock()
        self._seen: _Seen | None = None

    def get(self, id: str) -> dict[str, Any] | None:  # noqa: A002
        """One subscription, or None."""
        return next(iter(self._where("id", id)), None)

    def of(self, subscriber: str | None) -> list[dict[str, Any]]:
        """The subscriptions of a subscriber, or of all, in no order."""
        return self._where("subscriber", subscriber)

    def some(self, ids: Collection[str]) -> list[dict[str, Any]]:
        """Those of some subscriptions that there are, in no order; in one pass for all."""
        seen = self._now()
        wanted = pa.array(sorted(ids), pa.string())
        rows, changed = (
            each.filter(pc.is_in(each.column("id"), value_set=wanted)) for each in (seen.rows, seen.changed)
        )
        return _living(rows, changed, seen.changed.column("id"))

    def page(self, after: str, limit: int) -> list[dict[str, Any]]:
        """The first subscriptions after an id, by id, whosoever they are."""
        seen = self._now()
        # As many as may have been removed since must be there to take their places.
        rows, changed = (_after(each, after, limit + seen.changed.num_rows) for each in (seen.rows, seen.changed))
        return sorted(_living(rows, changed, seen.changed.column("id")), key=lambda row: str(row["id"]))[:limit]

    def _where(self, column: str, value: str | None) -> list[dict[str, Any]]:
        seen = self._now()
        rows, changed = seen.rows, seen.changed
        if value is not None:
            rows = rows.filter(pc.equal(rows.column(column), value))
            changed = changed.filter(pc.equal(changed.column(column), value))
        return _living(rows, changed, seen.changed.column("id"))

    def _now(self) -> _Seen:
        with self._lock:
            version = self._store.version
            if self._seen is not None and self._seen.version == version:
                return self._seen
            if self._seen is None or self._is_stale(self._seen, version):
                rows = self._store.subscriptions(version)
                none = self._store.table.changes(version, version, _COLUMNS)
                self._seen = _Seen(version, rows, none)
            else:
                further = self._store.table.changes(self._seen.version, version, _COLUMNS)
                changed = last_of_each(pa.concat_tables([self._seen.changed.select(further.schema.names), further]))
                self._seen = _Seen(version, self._seen.rows, changed)
            return self._seen

    def _is_stale(self, seen: _Seen, version: int) -> bool:
        # Of what was folded, removals are no longer to be seen.
        many = seen.changed.num_rows > max(_FEW, seen.rows.num_rows // 100)
        return many or version < seen.version or self._store.table.folded_to(version) > seen.version


def _after(rows: pa.Table, after: str, limit: int) -> pa.Table:
    later = rows.filter(pc.greater(rows.column("id"), after))
    return later.take(pc.sort_indices(later.column("id"))[:limit])


def _living(rows: pa.Table, changed: pa.Table, changed_ids: pa.ChunkedArray) -> list[dict[str, Any]]:
    same = rows.filter(pc.invert(pc.is_in(rows.column("id"), value_set=changed_ids)))
    new = changed.filter(pc.invert(changed.column("removed"))).select(SUBSCRIPTION.names)
    found: list[dict[str, Any]] = pa.concat_tables([same.select(SUBSCRIPTION.names), new]).to_pylist()
    return found
