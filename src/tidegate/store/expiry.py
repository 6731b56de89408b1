"""Expiry: finding the subscriptions whose time has come, without reading the table when none has."""

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Int64
from tidegate.store.schema import CHANGE, INSTANT
from tidegate.store.table import File, Table

_NEVER = np.iinfo(np.int64).min


class Expiry:
    """Watches one table; remembers when the rows of each file expire, and up to when it has looked."""

    def __init__(self, table: Table) -> None:
        """Have looked at nothing yet."""
        self._table = table
        self._times: dict[str, Int64] = {}
        self._looked: dict[str, int] = {}

    def due(self, version: int, now: datetime) -> pa.Table:
        """The subscriptions living at `version` that expire at `now` or before (`CHANGE` rows)."""
        moment = pa.scalar(now, INSTANT).value
        files = [file for file in self._table.files(version) if file.expires_from is not None]
        passed = [file for file in files if self._passes(file, moment)]
        if not passed:
            return CHANGE.empty_table()
        rows = pa.concat_tables([self._table.rows(file) for file in passed])
        suspects = rows.filter(_due(rows, moment)).column("id").combine_chunks()
        newest = self._table.newest(suspects, version, CHANGE.names)
        living = newest.filter(pc.invert(newest.column("removed")))
        return living.filter(_due(living, moment))

    def looked(self, version: int, now: datetime) -> None:
        """What was due is dealt with: do not look at it again."""
        moment = pa.scalar(now, INSTANT).value
        names = {file.path for file in self._table.files(version) if file.expires_from is not None}
        self._times = {name: times for name, times in self._times.items() if name in names}
        self._looked = dict.fromkeys(names & self._times.keys(), moment)

    def _passes(self, file: File, moment: int) -> bool:
        """Whether a row of the file expires after the last look and up to the moment."""
        if file.expires_from is None or file.expires_from > moment:
            return False
        if file.path not in self._times:
            times = self._table.rows(file, ["expires"]).column("expires").drop_null().cast(pa.int64())
            self._times[file.path] = np.sort(times.to_numpy())
        times = self._times[file.path]
        start, stop = np.searchsorted(times, [self._looked.get(file.path, _NEVER), moment], side="right")
        return bool(stop > start)


def _due(rows: pa.Table, moment: int) -> pa.ChunkedArray:
    expires = rows.column("expires").cast(pa.int64())
    return pc.fill_null(pc.less_equal(expires, moment), False)
