"""Matches as a stream would bring them, drawn batch by batch; the same for a seed and a number."""

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.bench.delivery.sizes import Sizes
from tidegate.workload.posts import posts

# A subscriber has some subscriptions, and few of them have most of the matches.
_SUBSCRIPTIONS = 4
_SKEW = 2.0


@dataclass(frozen=True)
class Matches:
    """The matches of numbered batches. Subscribers are not alike: the busiest has some hundred times the median's."""

    sizes: Sizes
    seed: int

    def batch(self, number: int) -> pa.Table:
        """Draw a batch: one row for each match, those of a post together, as the inbox takes them."""
        sizes = self.sizes
        generator = np.random.default_rng([self.seed, number])
        written = posts(sizes.matches // sizes.matches_per_post, self.seed + number)
        ids = [f"{number}-{row}" for row in range(written.num_rows)]
        rows = written.select(["author", "text", "lang"]).to_pylist()
        bodies = [json.dumps({"id": id_, **row}, ensure_ascii=False) for id_, row in zip(ids, rows, strict=True)]
        which = np.repeat(np.arange(written.num_rows), sizes.matches_per_post)
        who = (sizes.subscribers * generator.random(len(which)) ** _SKEW).astype(np.int64)
        why = who * _SUBSCRIPTIONS + generator.integers(_SUBSCRIPTIONS, size=len(which))
        return pa.table(
            {
                "subscriber": pa.array([f"reader{one}" for one in who.tolist()]),
                "subscription": pa.array([f"s{one}" for one in why.tolist()]),
                "id": pa.array(ids).take(which),
                "post": pa.array(bodies).take(which),
                "at": written["ts"].take(which),
            }
        )


def reasons_of(batch: pa.Table) -> dict[tuple[str, str], list[str]]:
    """The reasons of every subscriber and post of a batch, one match after the other in plain Python."""
    told: dict[tuple[str, str], list[str]] = {}
    columns = (batch[name].to_pylist() for name in ("subscriber", "id", "subscription"))
    for subscriber, post, subscription in zip(*columns, strict=True):
        reasons = told.setdefault((subscriber, post), [])
        if subscription not in reasons:
            reasons.append(subscription)
    return told
