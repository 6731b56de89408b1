"""On which machines the chosen pairs are served (MCSS, stage 2; thesis, §7.2.2).

A machine takes in the events of every topic it has a pair of, once, and sends them out for every pair. Pairs of a topic
are alike, so all that counts is how many of them a machine has: a part.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import numpy as np

from tidegate.capacity.machines import Machines, first_with, free_of, most_free, no_machines, set_free, with_room
from tidegate.capacity.optimisations import Optimisation
from tidegate.capacity.pricing import Terms
from tidegate.csr import Csr, Int32, Int64
from tidegate.errors import ConfigError
from tidegate.kernels import njit


class Order(StrEnum):
    """In which order topics are packed."""

    NUMBER = "number"
    TRAFFIC = "traffic"
    """The one with the most to send first: events times chosen followers."""
    EVENTS = "events"
    """The one with the most events first."""


class Spread(IntEnum):
    """Where topics go that the machine rented last cannot take whole, before new ones are rented."""

    NOWHERE = 0
    FIRST = 1
    """To others, wherever there is room first."""
    MOST_FREE = 2
    """To others, where most is free first."""


@dataclass(frozen=True)
class Packer:
    """How topics are packed: optimisations (b) to (e) of the thesis, all of them unless told otherwise."""

    order: Order = Order.TRAFFIC
    """(c)."""
    spread: Spread = Spread.MOST_FREE
    """(d). What the thesis reports of (b) and (c), more machines with less traffic, says that they spread nowhere."""
    by_cost: bool = True
    """(e): spread only if that is cheaper than new machines (Algorithm 12)."""


def packer_without(these: Collection[Optimisation]) -> Packer:
    """How topics are packed without some of the optimisations; without (b) it is pairs that are packed, by
    `first_fit`."""
    return Packer(
        Order.NUMBER if Optimisation.DEAR_FIRST in these else Order.TRAFFIC,
        Spread.NOWHERE if Optimisation.MOST_FREE_FIRST in these else Spread.MOST_FREE,
        by_cost=Optimisation.BY_COST not in these,
    )


class Parts(NamedTuple):
    """So many pairs of a topic on a machine."""

    machine: Int32
    topic: Int32
    pairs: Int64


@dataclass(frozen=True)
class Packing:
    """Which machine has what, in the order of packing."""

    parts: Parts
    used: Int64
    """By machine: events that come in or go out."""

    @property
    def machines(self) -> int:
        """How many have something to do."""
        return int(np.count_nonzero(self.used))

    @property
    def events(self) -> int:
        """How many come in or go out, at all machines."""
        return int(self.used.sum())


def followers_of(chosen: Csr, topics: int) -> Int64:
    """Return by topic in how many of the chosen pairs it is."""
    return np.bincount(chosen.values, minlength=topics)


def packed(events: Int64, counts: Int64, terms: Terms, packer: Packer = Packer()) -> Packing:  # noqa: B008 - immutable
    """Pack topics with so many events and chosen followers each, topic by topic (CBP, Algorithm 11)."""
    check_fit(events, counts, terms)
    order = packing_order(events, counts, packer.order)
    prices = (terms.per_machine, terms.per_event)
    machine, topic, pairs, used = pack(
        no_machines(), order, events, counts, terms.capacity, prices, int(packer.spread), packer.by_cost
    )
    return Packing(Parts(machine, topic, pairs), used)


def packing_order(events: Int64, counts: Int64, by: Order) -> Int64:
    """Return topics that have chosen followers, in this order."""
    if by is Order.NUMBER:
        order = np.arange(len(events))
    else:
        order = np.argsort(-(events * counts if by is Order.TRAFFIC else events), kind="stable")
    return order[counts[order] > 0]


def first_fit(events: Int64, chosen: Csr, terms: Terms) -> Packing:
    """Pack pair by pair, as subscribers come, each where there is room first (FFBP, Algorithm 10): the naive way."""
    check_fit(events, followers_of(chosen, len(events)), terms)
    machine, topic, pairs, used = _first_fit(chosen.values, events, terms.capacity)
    return Packing(Parts(machine, topic, pairs), used)


def check_fit(events: Int64, counts: Int64, terms: Terms) -> None:
    """Refuse a topic that no machine can take."""
    served = np.where(counts > 0, events, 0)
    largest = int(np.argmax(served)) if len(served) else -1
    if largest >= 0 and 2 * served[largest] > terms.capacity:
        too_large = np.count_nonzero(2 * served > terms.capacity)
        raise ConfigError(
            f"topic {largest:,} has {served[largest]:,} events, which come in and go out once at least, but a "
            f"{terms.machine.name} takes {terms.capacity:,} in {terms.period_s:,g} s, too few for "
            f"{too_large:,} topics: choose a larger machine"
        )


@njit(cache=True, nogil=True)
def pack(
    machines: Machines,
    order: Int64,
    events: Int64,
    counts: Int64,
    capacity: int,
    prices: tuple[float, float],
    spread: int,
    by_cost: bool,
) -> Any:
    """Pack topics on machines that are there, and on new ones; return the parts, and what is used by machine."""
    machine, topics = np.empty(len(order) + 16, np.int32), np.empty(len(order) + 16, np.int32)
    pairs = np.empty(len(order) + 16, np.int64)
    n = 0
    for topic in order:
        size, left = events[topic], counts[topic]
        current = machines.rented[0] - 1
        if current >= 0 and (left + 1) * size <= free_of(machines, current):
            machine, topics, pairs = _with_part(n, machine, topics, pairs)
            machine[n], topics[n], pairs[n] = current, topic, left
            n += 1
            set_free(machines, current, free_of(machines, current) - (left + 1) * size)
            continue
        begin, most = n, capacity // size - 1
        while left > 0 and spread != Spread.NOWHERE:
            where = most_free(machines) if spread == Spread.MOST_FREE else first_with(machines, 2 * size)
            if where < 0 or free_of(machines, where) < 2 * size:
                break
            machine, topics, pairs = _with_part(n, machine, topics, pairs)
            moved = min(left, free_of(machines, where) // size - 1)
            machine[n], topics[n], pairs[n] = where, topic, moved
            n += 1
            left -= moved
            set_free(machines, where, free_of(machines, where) - (moved + 1) * size)
        if by_cost and n > begin:
            # What was spread pays for as many copies as it has parts, and what is left for new machines.
            extra = -(-left // most)
            new = -(-counts[topic] // most)
            spread_cost = prices[0] * extra + prices[1] * (counts[topic] + n - begin + extra) * size
            if spread_cost >= prices[0] * new + prices[1] * (counts[topic] + new) * size:
                for i in range(begin, n):
                    set_free(machines, machine[i], free_of(machines, machine[i]) + (pairs[i] + 1) * size)
                n, left = begin, counts[topic]
        while left > 0:
            machines = with_room(machines)
            current = machines.rented[0]
            machines.rented[0] += 1
            machine, topics, pairs = _with_part(n, machine, topics, pairs)
            moved = min(left, most)
            machine[n], topics[n], pairs[n] = current, topic, moved
            n += 1
            left -= moved
            set_free(machines, current, capacity - (moved + 1) * size)
    leaves = len(machines.free) // 2
    used = capacity - machines.free[leaves : leaves + machines.rented[0]]
    return machine[:n], topics[:n], pairs[:n], used


@njit(cache=True, nogil=True)
def _with_part(n: int, machine: Int32, topics: Int32, pairs: Int64) -> Any:
    """Return the arrays with room for one more part."""
    if n < len(machine):
        return machine, topics, pairs
    more = len(machine)
    return (
        np.concatenate((machine, np.empty(more, np.int32))),
        np.concatenate((topics, np.empty(more, np.int32))),
        np.concatenate((pairs, np.empty(more, np.int64))),
    )


@njit(cache=True, nogil=True)
def _first_fit(chosen: Int32, events: Int64, capacity: int) -> Any:
    """Put pairs one after the other; parts of a topic on machines that are full for it are passed over."""
    machines = no_machines()
    machine, topics = np.empty(1024, np.int32), np.empty(1024, np.int32)
    pairs, following = np.empty(1024, np.int64), np.empty(1024, np.int64)
    # By topic: its first part that may have room. What is free only shrinks: what is full stays so.
    first = np.full(len(events), -1, np.int64)
    n = 0
    for topic in chosen:
        size = events[topic]
        part = first[topic]
        while part >= 0 and free_of(machines, machine[part]) < size:
            part = following[part]
        first[topic] = part
        where = first_with(machines, 2 * size)
        if part >= 0 and (where < 0 or machine[part] <= where):
            pairs[part] += 1
            set_free(machines, machine[part], free_of(machines, machine[part]) - size)
            continue
        if where < 0:
            machines = with_room(machines)
            where = machines.rented[0]
            machines.rented[0] += 1
            set_free(machines, where, capacity)
        if n == len(machine):
            following = np.concatenate((following, np.empty(n, np.int64)))
        machine, topics, pairs = _with_part(n, machine, topics, pairs)
        machine[n], topics[n], pairs[n], following[n] = where, topic, 1, -1
        set_free(machines, where, free_of(machines, where) - 2 * size)
        if part < 0:
            first[topic] = n
        else:
            # Machines of a topic are in order: the new one comes before those that are later.
            _insert(n, topic, machine, following, first)
        n += 1
    leaves = len(machines.free) // 2
    used = capacity - machines.free[leaves : leaves + machines.rented[0]]
    return machine[:n], topics[:n], pairs[:n], used


@njit(cache=True, nogil=True)
def _insert(part: int, topic: int, machine: Int32, following: Int64, first: Int64) -> None:
    at = first[topic]
    if machine[part] < machine[at]:
        following[part], first[topic] = at, part
        return
    while following[at] >= 0 and machine[following[at]] < machine[part]:
        at = following[at]
    following[part], following[at] = following[at], part
