"""Arrow tables into temporary tables of a connection, from where one statement takes all rows on."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv
from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text

POSITION: Final = "position"
"""The column that numbers staged rows, from 1."""

_CSV: Final = csv.WriteOptions(include_header=False)
_AT_ONCE: Final = 1 << 16


def staged(connection: Connection, name: str, rows: pa.Table) -> Table:
    """Put rows into a temporary table called `name`, with their numbers; return it. It holds them for one transaction.

    The table's columns are texts and integers. On PostgreSQL by COPY, in SQLite by one prepared statement.
    """
    numbered = rows.append_column(POSITION, pa.array(np.arange(1, rows.num_rows + 1)))
    columns = [Column(field.name, BigInteger if pa.types.is_integer(field.type) else Text) for field in numbered.schema]
    table = Table(name, MetaData(), *columns)
    driver: Any = connection.connection.driver_connection
    types = ", ".join(f"{column.name} {column.type}" for column in columns)
    made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} ({types})"
    if connection.dialect.name == "postgresql":
        # Rows that were deleted would stay in the file: nobody tidies up temporary tables.
        connection.exec_driver_sql(f"{made} ON COMMIT DELETE ROWS")
        _copy(driver, name, numbered)
    else:
        connection.exec_driver_sql(made)
        connection.execute(table.delete())
        _insert(driver, name, numbered)
    return table


def _copy(driver: Any, name: str, rows: pa.Table) -> None:
    # Arrow quotes every text and no null, which is how COPY tells an empty text from none.
    with driver.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        for part in rows.to_batches(max_chunksize=_AT_ONCE):
            sink = pa.BufferOutputStream()
            csv.write_csv(part, sink, _CSV)
            copy.write(sink.getvalue().to_pybytes())


def _insert(driver: Any, name: str, rows: pa.Table) -> None:
    marks = ", ".join("?" * rows.num_columns)
    values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    driver.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
