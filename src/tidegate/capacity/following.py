"""An allocation that follows its demand: as rates and choices change, as little as possible is moved.

What a machine has it keeps, while there is room. The cost stays within a stated distance of an allocation made from
scratch: where that is not so, the machines with the least to do are given up, and in the end all of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.capacity.machines import machines_of
from tidegate.capacity.packing import Packer, Packing, Parts, check_fit, pack, packed, packing_order
from tidegate.capacity.pricing import Terms
from tidegate.capacity.provisioning import bill
from tidegate.csr import Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.kernels import njit


@dataclass(frozen=True)
class Followed:
    """A new allocation, and what came of the old one."""

    packing: Packing
    moved: int
    """Pairs that were served before, and are now on another machine."""
    over_scratch: float
    """How much dearer it is than one made from scratch, as a share of that."""


def followed(
    previous: Parts, events: Int64, counts: Int64, terms: Terms, *, within: float = 0.05, packer: Packer | None = None
) -> Followed:
    """Return an allocation of this demand that is at most `within` dearer than one from scratch, and moves little.

    Machines keep their numbers; one that has nothing to do any more is not paid for. Topics that are no more are gone.
    """
    if not within >= 0:
        raise ConfigError(f"a distance of {within}: it is a share, 0 or more")
    there = previous.topic < len(events)
    previous = Parts(previous.machine[there], previous.topic[there], previous.pairs[there])
    how = packer or Packer()
    check_fit(events, counts, terms)
    scratch = packed(events, counts, terms, how)
    most = bill(scratch, terms).cost * (1 + within)
    machines = int(previous.machine.max()) + 1 if len(previous.machine) else 0
    traffic = np.bincount(previous.machine, events[previous.topic] * (previous.pairs + 1.0), machines)
    idlest = np.argsort(traffic, kind="stable")
    given_up = 0
    while given_up < machines:
        stays = np.ones(machines, np.bool_)
        stays[idlest[:given_up]] = False
        packing = _repacked(previous, stays, events, counts, terms, how)
        if bill(packing, terms).cost <= most:
            return _compared(previous, packing, scratch, terms, len(events))
        given_up = max(1, 2 * given_up)
    return _compared(previous, scratch, scratch, terms, len(events))


def _compared(previous: Parts, packing: Packing, scratch: Packing, terms: Terms, topics: int) -> Followed:
    cost, least = bill(packing, terms).cost, bill(scratch, terms).cost
    return Followed(packing, moved(previous, packing.parts, topics), cost / least - 1 if least else 0.0)


def moved(before: Parts, after: Parts, topics: int) -> int:
    """Return how many pairs of topics have left a machine, but are served by another one."""
    keys = np.concatenate([parts.machine * np.int64(topics) + parts.topic for parts in (before, after)])
    places, at = np.unique(keys, return_inverse=True)
    n = len(before.machine)
    change = np.bincount(at[n:], after.pairs, len(places)) - np.bincount(at[:n], before.pairs, len(places))
    come = np.bincount(places % topics, np.maximum(change, 0), topics)
    gone = np.bincount(places % topics, np.maximum(-change, 0), topics)
    return int(np.minimum(come, gone).sum())


def _repacked(
    previous: Parts, stays: NDArray[np.bool_], events: Int64, counts: Int64, terms: Terms, packer: Packer
) -> Packing:
    """Keep what is on machines that stay, and pack the rest."""
    order = np.lexsort((-events[previous.topic], previous.machine))
    order = order[stays[previous.machine[order]]]
    machine, topic = previous.machine[order], previous.topic[order]
    offsets = offsets_of(np.bincount(machine, minlength=len(stays)))
    pairs, left, free = _kept(topic, previous.pairs[order], offsets, events, counts, terms.capacity)
    rest, prices = packing_order(events, left, packer.order), (terms.per_machine, terms.per_event)
    new_machine, new_topic, new_pairs, used = pack(
        machines_of(np.where(stays, free, -1)),
        rest,
        events,
        left,
        terms.capacity,
        prices,
        int(packer.spread),
        packer.by_cost,
    )
    used[: len(stays)][~stays] = 0
    has = pairs > 0
    parts = Parts(
        np.concatenate((machine[has], new_machine)),
        np.concatenate((topic[has], new_topic)),
        np.concatenate((pairs[has], new_pairs)),
    )
    return Packing(parts, used)


@njit(cache=True, nogil=True)
def _kept(topics: Int32, pairs: Int64, offsets: Int64, events: Int64, counts: Int64, capacity: int) -> Any:
    """Let machines keep what is still wanted and fits, and give them more of what they have; return what is left."""
    now, left = np.zeros(len(pairs), np.int64), counts.copy()
    free = np.full(len(offsets) - 1, capacity, np.int64)
    for machine in range(len(free)):
        for at in range(offsets[machine], offsets[machine + 1]):
            now[at] = min(pairs[at], left[topics[at]])
            left[topics[at]] -= now[at]
            if now[at] > 0:
                free[machine] -= (now[at] + 1) * events[topics[at]]
        # A pair of a topic with many events makes the most room: these are first, and the fewest have to go.
        for at in range(offsets[machine], offsets[machine + 1]):
            size = events[topics[at]]
            if free[machine] >= 0:
                break
            if now[at] > 0:
                gone = min(now[at], -(free[machine] // size))
                now[at] -= gone
                left[topics[at]] += gone
                free[machine] += gone * size + (size if now[at] == 0 else 0)
    for machine in range(len(free)):
        for at in range(offsets[machine], offsets[machine + 1]):
            if now[at] > 0:
                more = min(left[topics[at]], free[machine] // events[topics[at]])
                now[at] += more
                left[topics[at]] -= more
                free[machine] -= more * events[topics[at]]
    return now, left, free
