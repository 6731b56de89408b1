"""The stages, receive → route → match → merge, as functions from DataFrame to DataFrame.

Nothing here touches the JVM, so it runs under Spark Connect too.
"""

import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, ShortType, StructField, StructType

from tidegate.errors import ConfigError
from tidegate.route.plan import Plan
from tidegate.route.shedding import Shedding
from tidegate.spark import worker
from tidegate.spark.columns import CORRUPT, MATCHER, VISITS, Columns, Shape, carried
from tidegate.spark.counts import observed
from tidegate.store.pins import JOB, Pin
from tidegate.store.store import Store


def match(
    posts: DataFrame,
    store: Store,
    *,
    id: str = "id",  # noqa: A002
    text: str = "text",
    author: str | None = None,
    lang: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    carry: Sequence[str] | None = None,
    subscribers: bool = True,
    per: str = "match",
    ranked: bool = False,
    at: Pin | None = None,
) -> DataFrame:
    """Return one row per match: the post's columns, and `subscription` and `subscriber`.

    Posts may be a batch or a stream. The columns with a post's text, author and so on have the names given, or the
    usual ones if there are such columns. `carry` names the columns of a post that matches keep (default: all), and
    `subscribers` says whether subscribers are named: the less, the faster. With `per="post"`, a post that matches is
    one row, with arrays `subscriptions` and `subscribers` (one row for each matcher it visits, where a plan
    partitions): much faster where posts have many matches. With `ranked`, only the matches are there of subscriptions
    that are ranked, each with its `ranking`. Posts that cannot be matched (no id, no text, a place that is not on
    Earth) are set aside in the store's dead letters.

    A micro-batch of a stream sees the subscriptions as they are when it begins, and the same ones if it is replayed.
    A batch sees those of now, or of the versions `at`.
    """
    if per not in ("match", "post"):
        raise ConfigError(f"per is {per!r}: allowed are 'match' and 'post'")
    names = Columns(id, text, author, lang, lat, lon)
    shape = Shape(per == "post", subscribers, ranked)
    rows = match_rows(posts, store, names, carry, shape=shape, at=at)
    return merged(observed(rows, id, shape), shape)


def match_rows(
    posts: DataFrame,
    store: Store,
    names: Columns,
    carry: Sequence[str] | None = None,
    *,
    shape: Shape = Shape(),  # noqa: B008
    at: Pin | None = None,
    plan: Plan | None = None,
    origin: str | None = None,
    draws: int = 0,
) -> DataFrame:
    """Return one row for every post that matches, with lists of its matches, and between them rows that carry counts.

    `plan` is the one to follow, if not that of `at` or the newest. `origin` says where dead letters come from, and is
    the same in every replay; a stream knows it by itself. `draws` is how many posts each part draws for a glimpse.
    """
    columns = names.of(posts.schema)
    keep = carried(posts.schema, columns, carry, shape)
    newest = at or store.newest()
    plan = plan or store.plans.at(newest.plan)
    version = None if posts.isStreaming and at is None else newest.store
    task = worker.Task(
        store.location,
        store.table.identity,
        columns,
        tuple(keep),
        shape,
        plan,
        version,
        origin or uuid.uuid4().hex,
        Shedding(newest.most, newest.by),
        draws,
    )
    if plan.partitions and version is not None and origin is None:
        # Routing and matching must see one cover, however long the job takes: upkeep leaves alone what is pinned.
        store.pins.pin(f"{JOB}{task.origin}", 0, newest)
    corrupt = [CORRUPT] if CORRUPT in posts.schema.names else []
    received = posts.select(*dict.fromkeys([*columns.needed, *keep, *corrupt]))
    matches = StructType([*(posts.schema[name] for name in keep), *shape.together])
    if not plan.partitions:
        return received.mapInArrow(worker.matching(task), _nullable(matches))
    ways = [StructField(MATCHER, IntegerType())]
    if plan.makes_copies:
        ways.append(StructField(VISITS, ArrayType(ShortType())))
    visits = StructType([*received.schema.fields, *shape.together, *ways])
    routed = received.mapInArrow(worker.routing(task), _nullable(visits))
    spread = routed.repartitionById(plan.matchers, F.col(MATCHER).bitwiseAND(worker.MATCHER_MASK))
    return spread.mapInArrow(worker.partition_matching(task), _nullable(matches))


def merged(rows: DataFrame, shape: Shape) -> DataFrame:
    """Return matches in the shape that was asked for.

    Until here a post is one row, so that what it carries, and what is observed, is not multiplied by its matches.
    """
    if shape.per_post:
        return rows
    together = shape.together[0].name
    post = [name for name in rows.columns if name != together]
    if shape.paired:
        return rows.select(*post, F.inline(together))
    return rows.select(*post, F.explode(together).alias("subscription"))


def _nullable(schema: StructType) -> StructType:
    """The schema with every column nullable: counts travel in rows that have nothing else."""
    return StructType([StructField(field.name, field.dataType, True, field.metadata) for field in schema.fields])
