"""Who subscribes to what in the demonstration: generated searches, without those that would match all the time."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.index.compiled import Compiled
from tidegate.workload.microblog import Microblog
from tidegate.workload.searches import saved_searches

_SAMPLE = 4_000
# A service would not accept a search that one post in a thousand satisfies; generated words are few, and most do.
_DRAWN_PER_KEPT = 3.2


def interests(n: int, seed: int) -> pa.Table:
    """Return at most `n` searches (id, subscriber, query) that match at most one of some thousand posts."""
    searches = saved_searches(int(n * _DRAWN_PER_KEPT), seed)
    searches = searches.set_column(0, "id", searches.column("id").cast(pa.string()))
    compiled, _ = Compiled.build(searches.column("id"), searches.column("query"))
    # Other posts than the stream's: these were written before it began.
    posts = Microblog(seed + 1, datetime(2000, 1, 1, tzinfo=UTC), 1_000.0).posts(0, _SAMPLE)
    found = compiled.match(pa.Table.from_batches(list(posts)))
    matches = np.bincount(found.subscriptions.values, minlength=len(compiled))
    narrow = compiled.roster.ids(np.flatnonzero(matches <= 1).astype(np.int32))
    return searches.filter(pc.is_in(searches.column("id"), value_set=narrow)).slice(0, n)
