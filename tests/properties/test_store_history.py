"""Whatever happens to a store, and whenever it is tidied: at every version that may still be read, its subscriptions
and their matches are those of a dictionary."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.properties.plans import Planned, plans
from tests.store.stores import LONG_AGO, compiled_ids, matches, posts_table
from tests.strategies import PLACES, posts, query_texts
from tidegate.errors import QueryError
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.route.plan import Plan
from tidegate.store.schema import SUBSCRIPTION, whole_query
from tidegate.store.store import Store
from tidegate.store.upkeep import Policy, Upkeep
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
ONE_DAY = datetime(2200, 1, 1, tzinfo=UTC)
# Everything is due at once, and nothing is kept but what a pin needs.
EAGER = Policy(retention_hours=0, grace_s=0, tail_rows=1, data_files=2, spent_rows=1)


class Subscription(NamedTuple):
    query: str
    region: str | None
    expires: datetime | None

    @property
    def text(self) -> str:
        return whole_query(self.query, self.region)

    @property
    def is_accepted(self) -> bool:
        try:
            parse(self.text, ANALYZER)
        except QueryError:
            return False
        return True


Model = dict[str, Subscription]


@dataclass
class World:
    """A store, what it should hold, and the same for every version that was pinned."""

    store: Store
    upkeep: Upkeep
    followed: list[Plan]
    successors: list[Planned] = field(default_factory=list)
    """Plans that are to take over, one after the other."""
    model: Model = field(default_factory=dict)
    pinned: dict[int, Model] = field(default_factory=dict)
    queries: Iterator[int] = field(default_factory=count)

    def expire(self) -> None:
        self.model = {key: value for key, value in self.model.items() if value.expires != LONG_AGO}


Step = Callable[[World], None]


def subscribing(key: str, made: Subscription) -> Step:
    def subscribe(world: World) -> None:
        try:
            world.store.subscribe("ana", made.query, id=key, region=made.region, expires=made.expires)
        except QueryError:
            assert not made.is_accepted
        else:
            world.model[key] = made

    return subscribe


def unsubscribing(key: str) -> Step:
    def unsubscribe(world: World) -> None:
        world.store.unsubscribe(key)
        world.model.pop(key, None)

    return unsubscribe


def applying(changes: list[tuple[str, str, Subscription]]) -> Step:
    def apply(world: World) -> None:
        rows = [
            {"operation": operation, "id": key, "subscriber": "ana", **made._asdict()}
            for operation, key, made in changes
        ]
        schema = SUBSCRIPTION.append(pa.field("operation", pa.string()))
        applied = world.store.apply(pa.Table.from_pylist(rows, schema=schema))
        good = [change for change in changes if change[0] == "unsubscribe" or change[2].is_accepted]
        assert len(applied.refused) == len(changes) - len(good)
        for operation, key, made in good:
            world.model.pop(key, None)
            if operation != "unsubscribe":
                world.model[key] = made

    return apply


def pinning(world: World) -> None:
    # A query of its own, for only the newest pin of a query holds anything.
    pin = world.store.pin(f"query-{next(world.queries)}", 0)
    world.expire()
    world.pinned[pin.store] = dict(world.model)


def covering(world: World) -> None:
    for plan in world.followed:
        world.store.opener.cover(world.store.version, plan)


def expiring(world: World) -> None:
    world.store.expire()
    world.expire()


def compacting(world: World) -> None:
    world.upkeep.compact_segments()


def merging(world: World) -> None:
    world.upkeep.merge_files()


def folding(world: World) -> None:
    world.upkeep.fold_table()


def vacuuming(world: World) -> None:
    world.upkeep.vacuum()


def replanning(world: World) -> None:
    if world.successors:
        successor = world.store.publish(*world.successors.pop(), gradually=True)
        world.followed = [Plan.replicate(), successor]


def reopening(world: World) -> None:
    world.store = Store(world.store.location)
    world.upkeep = Upkeep(world.store, EAGER)


keys = st.sampled_from("abcde")
subscriptions = st.builds(
    Subscription,
    query_texts(),
    st.sampled_from([None, None, *PLACES]),
    st.sampled_from([None, None, LONG_AGO, ONE_DAY]),
)
changes = st.tuples(st.sampled_from(["subscribe", "change", "unsubscribe"]), keys, subscriptions)
changing = st.one_of(
    st.builds(subscribing, keys, subscriptions),
    st.builds(unsubscribing, keys),
    st.builds(applying, st.lists(changes, min_size=1, max_size=6)),
)
tidying = st.sampled_from([pinning, covering, expiring, compacting, merging, folding, vacuuming, replanning, reopening])
# Changes and what else may happen take turns, so that every step has something to work on.
turns = st.tuples(changing, tidying, tidying)


def expected(model: Model, views: list[PostView]) -> list[tuple[int, str]]:
    asked = {key: parse(made.text, ANALYZER) for key, made in model.items()}
    return sorted(
        (post, key)
        for post, view in enumerate(views)
        for key, query in asked.items()
        if satisfies(query, view, ANALYZER)
    )


@given(
    history=st.lists(turns, min_size=3, max_size=9),
    views=st.lists(posts(), min_size=3, max_size=6),
    planned=plans(),
    successors=st.lists(plans(), max_size=3),
)
@settings(max_examples=40)
def test_any_history_leaves_the_subscriptions_and_matches_of_a_dictionary(
    history: list[tuple[Step, ...]], views: list[PostView], planned: Planned, successors: list[Planned]
) -> None:
    with TemporaryDirectory() as folder:
        store = Store.open(Path(folder))
        followed = [Plan.replicate(), store.publish(*planned)]
        world = World(store, Upkeep(store, EAGER), followed, successors)
        for step in chain.from_iterable(history):
            note(step.__name__)
            step(world)
        table = posts_table(views)
        for version, model in {**world.pinned, world.store.version: world.model}.items():
            found = world.store.subscriptions(version).to_pylist()
            rows = {row["id"]: Subscription(row["query"], row["region"], row["expires"]) for row in found}
            assert [row["id"] for row in found] == sorted(model)
            assert rows == model
            for plan in world.followed:
                # What only hot words lead to has copies.
                assert sorted(set(compiled_ids(world.store, version, plan))) == sorted(model)
                assert world.store.opener.cover(version, plan).rows == len(model)
                assert matches(world.store, version, plan, table) == expected(model, views)
