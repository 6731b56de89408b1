"""Matches as a Delta table: the files that Spark has written for a batch become part of it in one commit, once."""

import json
import time
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from tidegate.errors import StoreError
from tidegate.store.location import Location


class MatchTable:
    """Batches are known by query and number; the table remembers the last number of each query."""

    def __init__(self, location: Location) -> None:
        """Use the table at `location`; the first commit makes it."""
        self.location = location

    def has(self, query: str, batch: int) -> bool:
        """Whether a batch was committed."""
        table = self._table()
        last = None if table is None else table.transaction_version(query)
        return last is not None and last >= batch

    def commit(self, folder: str, query: str, batch: int) -> None:
        """Make the Parquet files below `folder`, inside the table's own, part of the table, unless the batch is."""
        if self.has(query, batch):
            return
        files = [name for name in self.location.names(folder) if _is_data(name.removeprefix(folder))]
        actions: list[AddAction | RemoveAction] = []
        schema = None
        for name in files:
            rows, schema, size = self._footer(name)
            if rows:
                stats = json.dumps({"numRecords": rows})
                actions.append(AddAction(name, size, {}, int(time.time() * 1000), True, stats))
        if schema is None:
            raise StoreError(f"{self.location.url}/{folder}: Spark has left no Parquet file there")
        self._check(schema)
        table = self._table() or self._created(schema)
        properties = CommitProperties(app_transactions=[Transaction(query, batch)])
        try:
            table.create_write_transaction(actions, "append", schema, commit_properties=properties)
        except (DeltaError, OSError) as error:
            raise StoreError(f"{self.location.url}: batch {batch} cannot be committed: {error}") from error

    def _check(self, schema: pa.Schema) -> None:
        """Refuse what readers of the table would not see, or see wrongly."""
        for field in schema:
            if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
                raise StoreError(
                    f"column {field.name!r}: Spark writes times in an old form that Delta does not have: set "
                    "spark.sql.parquet.outputTimestampType to TIMESTAMP_MICROS"
                )
        table = self._table()
        known = schema if table is None else pa.schema(table.schema().to_arrow())
        if {(f.name, str(f.type)) for f in known} != {(f.name, str(f.type)) for f in schema}:
            raise StoreError(
                f"{self.location.url}: the matches have the columns {', '.join(schema.names)}, the table "
                f"{', '.join(known.names)}, or other types: write them to a table of their own"
            )

    def sample(self, rows: int) -> pa.Table:
        """Some matches: at most so many, from one of the files."""
        table = self._table()
        if table is None or not (files := table.file_uris()):
            raise StoreError(f"{self.location.url}: there are no matches yet")
        name = files[0].removeprefix("file://").removeprefix(f"{self.location.url}/")
        content = self.location.read(name)
        return pq.read_table(pa.BufferReader(content or b"")).slice(0, rows)

    def of_subscription(self, subscription: str, columns: list[str]) -> pa.Table:
        """All matches of one subscription, with these columns of their posts. Reads the whole table."""
        table = self._table()
        if table is None:
            raise StoreError(f"{self.location.url}: there are no matches yet")
        wanted = ("subscription", "=", subscription)
        return pa.table(table.to_pyarrow_table(columns=columns, filters=[wanted]))

    def _footer(self, name: str) -> tuple[int, pa.Schema, int]:
        folder = self.location.folder
        content = None if folder else self.location.read(name)
        source = folder / name if folder else pa.BufferReader(content)
        metadata = pq.read_metadata(source)
        schema = metadata.schema.to_arrow_schema().remove_metadata()
        return metadata.num_rows, schema, (folder / name).stat().st_size if folder else len(content or b"")

    def _table(self) -> DeltaTable | None:
        with suppress(TableNotFoundError):
            return DeltaTable(self.location.url, storage_options=dict(self.location.options) or None)
        return None

    def _created(self, schema: pa.Schema) -> DeltaTable:
        return DeltaTable.create(
            self.location.url,
            schema,
            mode="ignore",
            name="matches",
            storage_options=dict(self.location.options) or None,
        )


def _is_data(name: str) -> bool:
    """Whether a file below a batch's folder is Spark's output, and not what an attempt has left in hidden folders."""
    return name.endswith(".parquet") and not any(part.startswith(("_", ".")) for part in name.split("/"))
