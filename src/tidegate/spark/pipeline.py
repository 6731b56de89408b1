"""The stages, receive → route → match → merge, as functions from DataFrame to DataFrame.

Nothing here touches the JVM, so it runs under Spark Connect too.
"""

import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from tidegate.spark import worker
from tidegate.spark.columns import CORRUPT, MATCH, MATCHER, Columns, carried
from tidegate.spark.counts import observed
from tidegate.store.pins import Pin
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
    at: Pin | None = None,
) -> DataFrame:
    """Return one row per match: the post's columns, and `subscription` and `subscriber`.

    Posts may be a batch or a stream. The columns with a post's text, author and so on have the names given, or the
    usual ones if there are such columns. `carry` names the columns of a post that matches keep (default: all); the
    fewer, the faster. Posts that cannot be matched (no id, no text, a place that is not on Earth) are set aside in the
    store's dead letters.

    A micro-batch of a stream sees the subscriptions as they are when it begins, and the same ones if it is replayed.
    A batch sees those of now, or of the versions `at`.
    """
    names = Columns(id, text, author, lang, lat, lon)
    return observed(match_rows(posts, store, names, carry, at))


def match_rows(
    posts: DataFrame,
    store: Store,
    names: Columns,
    carry: Sequence[str] | None = None,
    at: Pin | None = None,
    origin: str | None = None,
) -> DataFrame:
    """Return the matches of posts, as `match` does, and between them the rows that carry counts.

    `origin` says where dead letters come from, and is the same in every replay; a stream knows it by itself.
    """
    columns = names.of(posts.schema)
    keep = carried(posts.schema, columns, carry)
    newest = at or store.newest()
    plan = store.plans.at(newest.plan)
    version = None if posts.isStreaming and at is None else newest.store
    task = worker.Task(store.location, columns, tuple(keep), plan, version, origin or uuid.uuid4().hex)
    corrupt = [CORRUPT] if CORRUPT in posts.schema.names else []
    received = posts.select(*dict.fromkeys([*columns.needed, *keep, *corrupt]))
    matches = StructType([*(posts.schema[name] for name in keep), *MATCH])
    if not plan.partitions:
        return received.mapInArrow(worker.matching(task), _nullable(matches))
    visits = StructType(
        [*received.schema.fields, StructField(MATCHER, IntegerType()), StructField("_counts", StringType())]
    )
    routed = received.mapInArrow(worker.routing(task), _nullable(visits))
    spread = routed.repartitionById(plan.matchers, F.col(MATCHER))
    return spread.mapInArrow(worker.partition_matching(task), _nullable(matches))


def _nullable(schema: StructType) -> StructType:
    """The schema with every column nullable: counts travel in rows that have nothing else."""
    return StructType([StructField(field.name, field.dataType, True, field.metadata) for field in schema.fields])
