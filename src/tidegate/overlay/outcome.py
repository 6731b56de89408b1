"""What becomes of events that peers pass on, whether by rings or by trees: that by which the two are compared."""

from dataclasses import dataclass

import numpy as np

from tidegate.csr import Int64


@dataclass(frozen=True)
class Outcome:
    """Of one event for every topic that somebody who is up follows, by topic unless said otherwise."""

    subscribers: Int64
    """Who should get it: those that are up, whoever publishes it included."""
    reached: Int64
    copies: Int64
    """All that were received, by whomever."""
    hops: Int64
    """Of those that were reached, together."""
    lost: Int64
    """Sent to peers that are not up."""
    missed: Int64
    """By peer, the events that it should have got and did not."""
    received: Int64
    """By peer, the copies that it got."""

    @property
    def hit_ratio(self) -> float:
        """Of all that should be reached, how many were; all of none."""
        wanted = self.subscribers.sum()
        return float(self.reached.sum() / wanted) if wanted else 1.0

    @property
    def mean_hops(self) -> float:
        """From publisher to subscriber, by subscriber."""
        return float(self.hops.sum() / max(self.others_reached, 1))

    @property
    def others_reached(self) -> int:
        """Of all events, how many subscribers got them that did not publish them; whoever publishes one counts."""
        return int(self.reached.sum() - np.count_nonzero(self.subscribers))
