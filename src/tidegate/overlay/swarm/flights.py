"""What is under way: turns that come up, letters and copies of events, in a heap by time; what is due at the same time
in the order of being sent."""

from typing import Any, Final, NamedTuple

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.workload.terms import Floats

TURN, CHECK, REQUEST, ANSWER, COPY = range(5)
"""A peer's own cycle; a look at whether all have answered; a letter that opens a gossip, and one that answers; an
event."""
_KIND, _TO, _SENDER, _ABOUT, _NUMBER = range(5)
_FIRST_ROOM: Final = 1 << 12


class Flights(NamedTuple):
    """Arrays by slot, and a heap of slots; slots that are free are behind it."""

    counts: Int64
    """How many are under way, and how many ever were."""
    heap: Int32
    when: Floats
    order: Int64
    what: Int64
    """Kind, to whom, from whom, module or topic, and a number: the turn's or the event's, with its hops."""
    letter: Int64


class Flight(NamedTuple):
    """One that has arrived."""

    when: float
    slot: int
    kind: int
    to: int
    sender: int
    about: int
    number: int


def flights_of(longest: int, room: int = _FIRST_ROOM) -> Flights:
    """Nothing is under way; letters have up to so many entries."""
    return Flights(
        counts=np.zeros(2, np.int64),
        heap=np.arange(room, dtype=np.int32),
        when=np.zeros(room),
        order=np.zeros(room, np.int64),
        what=np.zeros((room, 5), np.int64),
        letter=np.full((room, longest), -1, np.int64),
    )


def with_more_room(flights: Flights) -> Flights:
    """Return the same with twice the room."""
    more = flights_of(flights.letter.shape[1], 2 * len(flights.heap))
    more.counts[:] = flights.counts
    for grown, old in (
        (more.heap, flights.heap),
        (more.when, flights.when),
        (more.order, flights.order),
        (more.what, flights.what),
        (more.letter, flights.letter),
    ):
        grown[: len(old)] = old
    return more


@njit(cache=True)
def room_for(flights: Flights, more: int) -> Any:
    """Return whether so many more can be under way."""
    return flights.counts[0] + more <= len(flights.heap)


@njit(cache=True)
def send(flights: Flights, when: float, kind: int, to: int, sender: int, about: int, number: int) -> Any:
    """Let something be due at a time; return its slot, whose letter is the caller's to fill. There has to be room."""
    heap, at = flights.heap, flights.counts[0]
    slot = heap[at]
    flights.when[slot], flights.order[slot] = when, flights.counts[1]
    what = flights.what[slot]
    what[_KIND], what[_TO], what[_SENDER], what[_ABOUT], what[_NUMBER] = kind, to, sender, about, number
    flights.counts[0] += 1
    flights.counts[1] += 1
    while at > 0:
        parent = (at - 1) // 2
        if _before(flights, heap[parent], slot):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = slot
    return slot


@njit(cache=True)
def due(flights: Flights, end: float) -> Any:
    """Return whether something is due before some time."""
    return flights.counts[0] > 0 and flights.when[flights.heap[0]] < end


@njit(cache=True)
def arrive(flights: Flights) -> Any:
    """Take out what is due next. Its letter stays until something else is sent."""
    heap, slot = flights.heap, flights.heap[0]
    n = flights.counts[0] - 1
    flights.counts[0] = n
    last, at = heap[n], 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _before(flights, heap[child + 1], heap[child]):
            child += 1
        if _before(flights, last, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    heap[n] = slot
    what = flights.what[slot]
    return Flight(flights.when[slot], slot, what[_KIND], what[_TO], what[_SENDER], what[_ABOUT], what[_NUMBER])


@njit(cache=True)
def _before(flights: Flights, one: int, other: int) -> Any:
    if flights.when[one] != flights.when[other]:
        return flights.when[one] < flights.when[other]
    return flights.order[one] < flights.order[other]
