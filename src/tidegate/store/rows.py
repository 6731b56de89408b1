"""Rows of the table as they are read: the last of each id, and any order, however large they are.

An Arrow array of strings holds 2 GiB at most, and so does what `take` first makes of the pieces of a column: a hundred
million subscriptions are more. Filtering goes piece by piece, and has no such limit.
"""

import numpy as np
import pyarrow as pa

from tidegate.csr import Int64

_ARRAY_BYTES = 2**31
# Rows of a piece of a reordered table: it fits an array as long as they have 8 KiB of strings each, on the average.
_PIECE = 2**18
_WIDE = {pa.string(): pa.large_string(), pa.list_(pa.string()): pa.large_list(pa.large_string())}


def last_of_each(rows: pa.Table) -> pa.Table:
    """Of rows in any order, keep the one with the highest version for each id; return them by rising version."""
    if rows.num_rows == 0:
        return rows
    versions = rows.column("version").to_numpy()
    order = np.argsort(versions, kind="stable")
    codes = rows.column("id").cast(pa.large_string()).combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.empty(int(codes.max()) + 1, np.int64)
    last[codes[order]] = order
    if len(last) < len(codes):
        kept = np.zeros(len(codes), np.bool_)
        kept[last] = True
        rows, versions = rows.filter(pa.array(kept)), versions[kept]
    if np.any(versions[1:] < versions[:-1]):
        rows = reordered(rows, np.argsort(versions, kind="stable"))
    return rows


def reordered(rows: pa.Table, order: Int64) -> pa.Table:
    """Return rows in another order, of one piece if they fit."""
    if rows.nbytes < _ARRAY_BYTES:
        return rows.take(pa.array(order))
    wide = rows.cast(pa.schema([field.with_type(_WIDE.get(field.type, field.type)) for field in rows.schema]))
    whole = wide.combine_chunks()
    pieces = [pa.array(order[begin : begin + _PIECE]) for begin in range(0, len(order), _PIECE)]
    return pa.concat_tables([whole.take(piece).cast(rows.schema) for piece in pieces])
