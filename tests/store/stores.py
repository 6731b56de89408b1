"""What tests of the store look at: who is matched at a version, whatever the plan; and processes that use a store."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow as pa

from tidegate.query.semantics import PostView
from tidegate.route.placement import HEAD
from tidegate.route.plan import Plan
from tidegate.store.standing import Part
from tidegate.store.store import Store

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_COLUMNS = {"text": pa.string(), "author": pa.string(), "lang": pa.string(), "lat": pa.float64(), "lon": pa.float64()}


def posts_table(views: Sequence[PostView]) -> pa.Table:
    return pa.table({name: pa.array([getattr(v, name) for v in views], kind) for name, kind in _COLUMNS.items()})


def matches(store: Store, version: int, plan: Plan, posts: pa.Table) -> list[tuple[int, str]]:
    """All matches (post, subscription) at a version, each post seen only by the matchers it is routed to."""
    if "id" not in posts.schema.names:
        posts = posts.append_column("id", pa.array(range(posts.num_rows)))
    opener = store.opener
    if not plan.partitions:
        return sorted(_pairs(opener.standing(version, plan).match(posts)))
    visits, head = opener.routing(version, plan).route(posts)
    found = list(_pairs(head))
    for matcher in range(plan.matchers):
        at_matcher = _pairs(opener.standing(version, plan, matcher).match(posts, visits.matchers))
        found += [(post, id_) for post, id_ in at_matcher if matcher in visits.matchers.row(post)]
    return sorted(found)


def _pairs(parts: Iterable[Part]) -> Iterator[tuple[int, str]]:
    for part in parts:
        for post in range(part.subscriptions.rows):
            yield from ((post, part.compiled.subscription_id(number)) for number in part.subscriptions.row(post))


def compiled_ids(store: Store, version: int, plan: Plan) -> list[str]:
    """The subscriptions that all matchers of a version hold together, each as often as it is held."""
    matchers = [*range(plan.matchers), HEAD]
    levels = [level for m in matchers for level in store.opener.standing(version, plan, m).levels]
    return sorted(
        held.compiled.subscription_id(number)
        for held in levels
        for number in range(len(held.compiled))
        if held.alive is None or held.alive[number]
    )


def matched(store: Store, text: str, version: int | None = None, plan: Plan | None = None) -> list[str]:
    """The subscriptions that a post with this text satisfies."""
    at = store.version if version is None else version
    return [id_ for _, id_ in matches(store, at, plan or store.plans.newest(), pa.table({"text": [text]}))]


def changes(*rows: tuple[str, str, str | None], expires: datetime | None = None) -> pa.Table:
    """Changes for `Store.apply`: operation, id and query."""
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("operation", "id", "query"), map(pa.array, columns), strict=True)))
    holders = pa.repeat(pa.scalar("ana"), len(rows))
    times = pa.repeat(pa.scalar(expires, pa.timestamp("us", tz="UTC")), len(rows))
    return table.append_column("subscriber", holders).append_column("expires", times)


def ids(store: Store, version: int | None = None) -> list[str]:
    return list(store.subscriptions(version).column("id").to_pylist())


def python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start another Python process; its output can be read line by line."""
    command = [sys.executable, "-c", code, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
