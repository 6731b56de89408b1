"""The store: subscriptions that survive, by version, and everything that is derived from them.

Where it lies, the Delta table is the folder itself, and all else is below `_tidegate`, which Delta leaves alone.
"""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ConfigError, TidegateError
from tidegate.index.refusal import Refusal, nameless
from tidegate.rank.ranking import checked_ranking
from tidegate.rank.score import Scorable, scorable
from tidegate.route.place_map import PlaceMap
from tidegate.route.plan import Plan
from tidegate.route.shedding import By
from tidegate.route.word_map import WordMap
from tidegate.store.checking import checked_query, subscription_errors
from tidegate.store.cover import start_of
from tidegate.store.expiry import Expiry
from tidegate.store.files import Files
from tidegate.store.group_commit import GroupCommit
from tidegate.store.location import Location
from tidegate.store.pins import Pin, Pins
from tidegate.store.plans import Plans
from tidegate.store.post_columns import noted_columns
from tidegate.store.schema import CHANGE, SUBSCRIPTION, Region, conform, row
from tidegate.store.standing import Opener
from tidegate.store.table import Table
from tidegate.text.analyzer import Analyzer
from tidegate.text.utf8 import mended

OPERATIONS = ("subscribe", "change", "unsubscribe")
_ROW = CHANGE.remove(CHANGE.get_field_index("version"))


class Applied(NamedTuple):
    """What became of a batch of changes."""

    version: int
    """From which version on they count."""
    accepted: int
    refused: list[Refusal]


class Store:
    """Subscriptions in a folder or an object store. Any number of processes may use one store at once.

    >>> import tempfile
    >>> store = Store.open(tempfile.mkdtemp())
    >>> storms = store.subscribe(subscriber="ana", query="storm (coast OR harbour)")
    >>> store.subscriptions().column("subscriber").to_pylist()
    ['ana']
    >>> store.unsubscribe(storms)
    >>> store.subscriptions().num_rows
    0
    """

    def __init__(self, location: Location) -> None:
        """Open the store at `location`; it must exist."""
        self.location = location
        self.table = Table(location)
        beside = location.within("_tidegate")
        self.beside = beside
        self.files = Files(beside, self.table.identity)
        self.plans = Plans(beside, self.files)
        self.pins = Pins(beside)
        self._analyzer = Analyzer()
        self._expiry = Expiry(self.table)
        self._group = GroupCommit(self._commit)

    @classmethod
    def open(
        cls, where: str | os.PathLike[str], options: Mapping[str, str] | None = None, *, create: bool = True
    ) -> "Store":
        """Open the store in a folder or at an address such as s3://bucket/prefix; make one where there is none.

        `options` are for the object store, as `deltalake` takes them; without them the environment counts.
        """
        location = Location.of(where, options)
        if create:
            Table.create(location)
        return cls(location)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the location alone; whoever receives it opens it."""
        return (type(self), (self.location,))

    @property
    def version(self) -> int:
        """The newest version; every change makes one."""
        return self.table.version

    @property
    def scorable(self) -> Scorable:
        """What rankings can score by now: the functions of this process, and the columns that jobs say posts have."""
        return scorable(noted_columns(self.beside))

    @cached_property
    def opener(self) -> Opener:
        """What this process has opened for matching. Not for several threads at once."""
        return Opener(self.table, self.files)

    def subscribe(
        self,
        subscriber: str,
        query: str,
        *,
        id: str | None = None,  # noqa: A002
        region: Region = None,
        ranking: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        expires: datetime | None = None,
    ) -> str:
        """Make a subscription, or replace the one of this id; return its id when it is durable.

        A query that cannot be accepted is a `QueryError` with position and remedy, a ranking a `ConfigError`. Calls
        from several threads share commits; for many at once, `apply` is faster.
        """
        change = row(subscriber, query, subscription=id, region=region, ranking=ranking, tags=tags, expires=expires)
        checked_query(query, change["region"], self._analyzer)
        if change["ranking"] is not None:
            checked_ranking(change["ranking"], self.scorable)
        self._group.submit(_as_row({**change, "removed": False}))
        return str(change["id"])

    def unsubscribe(self, id: str) -> None:  # noqa: A002
        """Remove a subscription; return when that is durable. That there is none of this id is no error."""
        if not id:
            raise ConfigError("id is empty: give the id of the subscription to remove")
        self._group.submit(_as_row({"id": id, "removed": True}))

    def apply(self, changes: pa.Table, *, batch: tuple[str, int] | None = None, checked: bool = False) -> Applied:
        """Make many changes in one commit; what cannot be accepted is refused with its reason, row by row.

        Columns: those of a subscription, and `operation`: subscribe or change (the row is the whole subscription from
        now on), or unsubscribe (the id is enough); without it all rows subscribe. Of several rows with one id the last
        counts. With `batch`, an application and a number, a batch that comes again changes nothing. With `checked`,
        subscribers and queries are known to be good and not looked at again.
        """
        rows, refused = self._checked(changes, checked)
        if rows.num_rows == 0:
            return Applied(self.version, 0, refused)
        return Applied(self.table.append(rows, batch=batch), rows.num_rows, refused)

    def subscriptions(self, version: int | None = None) -> pa.Table:
        """All subscriptions at a version, by rising id."""
        return self.table.living(self.version if version is None else version, SUBSCRIPTION.names)

    def get(self, id: str, version: int | None = None) -> dict[str, Any] | None:  # noqa: A002
        """One subscription as it is at a version, or None."""
        at = self.version if version is None else version
        newest = self.table.newest(pa.array([id]), at, [*SUBSCRIPTION.names, "removed"])
        living = newest.filter(pc.invert(newest.column("removed"))).select(SUBSCRIPTION.names).to_pylist()
        return living[0] if living else None

    def expire(self, now: datetime | None = None) -> int:
        """Remove the subscriptions whose time has come, in one commit; return how many."""
        now = now or datetime.now(UTC)
        looked = at = self.version
        due = self._expiry.due(looked, now).column("id")
        while len(due) and self.table.append_after(at, _removals(due)) is None:
            # What others have changed meanwhile is no longer what was found to be due.
            newer = self.version
            changed = self.table.changes(at, newer, ["id"]).column("id")
            due, at = due.filter(pc.invert(pc.is_in(due, value_set=changed))), newer
        self._expiry.looked(looked, now)
        return len(due)

    def pin(
        self, query: str, batch: int, plan: int | None = None, *, most: float = inf, by: By = "subscriptions"
    ) -> Pin:
        """Return the versions that a batch of a streaming query is matched against: the newest, when first asked.

        A query that cannot change its plan names it. `most` says how many matchers a post may visit, and `by` what
        decides which; both are as first asked, too.
        """
        found = self.pins.at(query, batch)
        if found is not None:
            return found
        self.expire()
        newest = self.newest()._replace(most=most, by=by)
        return self.pins.pin(query, batch, newest if plan is None else newest._replace(plan=plan))

    def newest(self) -> Pin:
        """The newest versions of subscriptions and plan."""
        return Pin(self.version, self.plans.newest().version)

    def publish(
        self, plan: Plan, words: WordMap | None = None, places: PlaceMap | None = None, *, gradually: bool = False
    ) -> Plan:
        """Let the micro-batches from now on follow a plan, with what it has learned; return it with its version.

        With `gradually`, older subscriptions live on by the plan before until upkeep, which has to be running, gets
        to them; else the next batch waits until all are compiled.
        """
        return self.plans.publish(plan, words, places, gradually=gradually)

    def follows(self, plan: Plan) -> bool:
        """Whether the subscriptions of the newest version live by a plan, and not still by one it takes over from."""
        cover = start_of(self.table, self.files, self.version, plan)
        return cover is None or all(level.plan == plan.version for level in cover.levels)

    def _commit(self, changes: list[pa.Table]) -> int:
        last = {change.column("id")[0].as_py(): change for change in changes}
        return self.table.append(pa.concat_tables(list(last.values())))

    def _checked(self, changes: pa.Table, checked: bool) -> tuple[pa.Table, list[Refusal]]:
        """Return the changes as rows of the table, the last of each id, and what is wrong with the others."""
        operations, changes = _operations(changes)
        rows = conform(changes, SUBSCRIPTION)
        ids = rows.column("id").combine_chunks().fill_null("")
        removed = np.array(pc.equal(operations, "unsubscribe").to_numpy(zero_copy_only=False))
        no_id = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
        refused: dict[int, TidegateError] = {int(i): nameless() for i in no_id}
        unknown = pc.invert(pc.is_in(operations, value_set=pa.array(OPERATIONS))).to_numpy(zero_copy_only=False)
        for i in np.flatnonzero(unknown):
            problem = f"operation is {operations[int(i)].as_py()!r}: allowed are {', '.join(OPERATIONS)}"
            refused[int(i)] = ConfigError(problem)
        asked = np.flatnonzero(~removed & ~unknown)
        errors = {} if checked else subscription_errors(rows.take(pa.array(asked)), self._analyzer, self.scorable)
        refused |= {int(asked[i]): error for i, error in errors.items() if int(asked[i]) not in refused}
        accepted = np.setdiff1d(np.arange(len(ids)), np.fromiter(refused, np.int64, len(refused)))
        codes = ids.dictionary_encode().indices.to_numpy()[accepted]
        last = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
        last[codes] = accepted
        kept = pa.array(np.sort(last[last >= 0]))
        now = pa.repeat(pa.scalar(datetime.now(UTC), SUBSCRIPTION.field("created").type), len(kept))
        taken = rows.take(kept)
        created = pc.coalesce(taken.column("created"), now)
        taken = taken.set_column(taken.schema.get_field_index("created"), SUBSCRIPTION.field("created"), created)
        taken = taken.append_column(CHANGE.field("removed"), pa.array(removed).take(kept))
        names = mended(ids)
        refusals = [Refusal(i, names[i].as_py(), refused[i]) for i in sorted(refused)]
        return taken, refusals


def _operations(changes: pa.Table) -> tuple[pa.Array, pa.Table]:
    if "operation" not in changes.schema.names:
        return pa.repeat(pa.scalar("subscribe"), changes.num_rows), changes
    operations = changes.column("operation").combine_chunks().fill_null("")
    return operations, changes.drop_columns(["operation"])


def _removals(ids: pa.ChunkedArray) -> pa.Table:
    rows = conform(pa.table({"id": ids}), SUBSCRIPTION)
    return rows.append_column(CHANGE.field("removed"), pa.array(np.ones(len(ids), np.bool_)))


def _as_row(change: dict[str, Any]) -> pa.Table:
    """A change as a table of one row; what does not fit is refused before anybody waits for it."""
    try:
        return pa.Table.from_pylist([change], schema=_ROW)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"the subscription cannot be stored: {error}") from error
