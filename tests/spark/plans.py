"""Plans of every kind for tests, learned from whatever posts there are."""

import pyarrow as pa

from tidegate.index.asked import Asked
from tidegate.route.costs import Cluster, Costs
from tidegate.route.forecast import Evidence
from tidegate.route.maps import learn
from tidegate.route.place_learning import learn_places
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.store.schema import whole_queries
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

COSTS = Costs(0.5, 0.2, 2.0, (1_000.0, 1_000_000.0), (0.5, 3.0), 60.0)


def publish(store: Store, text: str, posts: pa.Table, head: int = 0, *, gradually: bool = False) -> Plan:
    """Publish a plan as a user writes it; one that is learned, from these posts."""
    plan = Plan.parse(text)
    if not plan.learned:
        return store.publish(plan)
    sample = Sample.of(posts, Analyzer())
    words = learn(plan.kind if plan.kind in ("gfcl", "salb", "refined") else "salb", sample, plan.matchers)
    if plan.has_head:
        plan = Plan(plan.kind, plan.matchers, head=head)
    if not plan.by_place:
        return store.publish(plan, words, gradually=gradually)
    rows = store.subscriptions()
    asked, _ = Asked.read(rows.column("id"), whole_queries(rows), Analyzer())
    evidence = Evidence(sample, asked, len(asked.ids), COSTS, Cluster(plan.matchers))
    return store.publish(plan, words, learn_places(plan, sample, evidence), gradually=gradually)
