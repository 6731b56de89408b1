"""Machines by what they have free: the first with enough, and the one with the most, in logarithmic time."""

from typing import NamedTuple

import numpy as np

from tidegate.csr import Int64
from tidegate.kernels import njit


class Machines(NamedTuple):
    """A tree over machines in the order in which they were rented; a node has the most that is free below it."""

    free: Int64
    """By node: the root is 1, below `n` are `2n` and `2n + 1`; machines are the leaves. What is not rented has -1."""
    rented: Int64
    """How many are rented."""


@njit(cache=True, nogil=True)
def no_machines() -> Machines:
    """Return room for the first ones."""
    return Machines(np.full(2, -1, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def machines_of(free: Int64) -> Machines:
    """Return machines that are rented already and have so much free."""
    machines = no_machines()
    for one in free:
        machines = with_room(machines)
        machines.rented[0] += 1
        set_free(machines, machines.rented[0] - 1, one)
    return machines  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def with_room(machines: Machines) -> Machines:
    """Return the same with room for one more."""
    leaves = len(machines.free) // 2
    if machines.rented[0] < leaves:
        return machines
    free = np.full(4 * leaves, -1, np.int64)
    free[2 * leaves : 3 * leaves] = machines.free[leaves:]
    for node in range(2 * leaves - 1, 0, -1):
        free[node] = max(free[2 * node], free[2 * node + 1])
    return Machines(free, machines.rented)


@njit(cache=True, nogil=True)
def free_of(machines: Machines, machine: int) -> int:
    """Return what a machine has free."""
    return machines.free[len(machines.free) // 2 + machine]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def set_free(machines: Machines, machine: int, free: int) -> None:
    """Say what a machine has free."""
    node = len(machines.free) // 2 + machine
    machines.free[node] = free
    while node > 1:
        node //= 2
        most = max(machines.free[2 * node], machines.free[2 * node + 1])
        if machines.free[node] == most:
            break
        machines.free[node] = most


@njit(cache=True, nogil=True)
def first_with(machines: Machines, enough: int) -> int:
    """Return the first machine that has so much free, -1 if there is none."""
    if machines.free[1] < enough:
        return -1
    node, leaves = 1, len(machines.free) // 2
    while node < leaves:
        node = 2 * node if machines.free[2 * node] >= enough else 2 * node + 1
    return node - leaves


@njit(cache=True, nogil=True)
def most_free(machines: Machines) -> int:
    """Return the machine that has the most free, of equal ones the first; -1 if there is none."""
    return first_with(machines, machines.free[1]) if machines.rented[0] > 0 else -1
