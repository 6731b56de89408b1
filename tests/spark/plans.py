"""Plans of every kind for tests, learned from whatever posts there are."""

import pyarrow as pa

from tidegate.route.maps import learn
from tidegate.route.plan import Plan
from tidegate.route.sample import Sample
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer


def publish(store: Store, text: str, posts: pa.Table, head: int = 0) -> Plan:
    """Publish a plan as a user writes it; one that is learned, from these posts."""
    plan = Plan.parse(text)
    if not plan.learned:
        return store.publish(plan)
    kind = "salb" if plan.kind == "headtail" else plan.kind
    words = learn(kind, Sample.of(posts, Analyzer()), plan.matchers)
    if plan.kind == "headtail":
        plan = Plan("headtail", plan.matchers, head=head)
    return store.publish(plan, words)
