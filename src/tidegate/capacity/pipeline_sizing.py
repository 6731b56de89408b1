"""How large a cluster for the pipeline has to be: posts a second and subscriptions in, machines and their cost out.

On paper: costs are measured on few cores, and a cluster is held to be as fast as its cores together. A host maps what
it holds of the subscriptions once, for all of its workers. Where it cannot hold all of them, those that most posts have
to do with stay on every host (*head and tail*), and posts visit the matchers of the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.capacity.pipeline_costs import PipelineCosts
from tidegate.capacity.pricing import Machine, Pricing
from tidegate.errors import ConfigError

_HOUR_S = 3600.0
# Of a machine's memory, what is left to the system and to pages of files.
_SPARE = 0.1
_MOST_MACHINES = 10_000_000
# Shares of the subscriptions that are tried as the head.
_STEPS = 40


@dataclass(frozen=True)
class Load:
    """What the pipeline is to do."""

    posts_per_s: float
    subscriptions: float
    matches_per_post: float = 10.0
    post_bytes: int = 300
    """As posts come in, and travel."""
    match_bytes: int = 200
    """As matches go out."""
    headroom: float = 0.3
    """What share of every resource is to be left free."""
    cores_per_executor: int = 8
    to_inbox: bool = False
    """Whether matches go into the inbox of a database."""

    def __post_init__(self) -> None:
        """Refuse what nobody can ask for."""
        for name, least in (("posts_per_s", 0.0), ("subscriptions", 0.0), ("post_bytes", 0), ("match_bytes", 0)):
            value = getattr(self, name)
            if not least < value < math.inf:
                raise ConfigError(f"{name.replace('_', ' ')} is {value}: it is above {least:g}")
        if not 0 <= self.matches_per_post < math.inf:
            raise ConfigError(f"matches per post are {self.matches_per_post}: 0 or more")
        if not 0 <= self.headroom < 1:
            raise ConfigError(f"a headroom of {self.headroom}: it is a share from 0 to below 1")
        if self.cores_per_executor < 1:
            raise ConfigError(f"{self.cores_per_executor} cores per executor: 1 or more")

    @property
    def matches_per_s(self) -> float:
        """How many there are."""
        return self.posts_per_s * self.matches_per_post


@dataclass(frozen=True)
class Sizing:
    """A cluster of one kind of machine that does it."""

    machine: Machine
    machines: int
    plan: str
    """replicate, headtail, or, where no host has a subscription that another one has, hash."""
    head: float
    """The share of the subscriptions that every host has."""
    visits: float
    """That a post makes for the others."""
    post_us: float
    """What a post costs, in microseconds of a core."""
    host_bytes: float
    """What a host holds."""
    mbit_per_s: float
    """Of a machine."""
    used: dict[str, float]
    """By resource: what share of it is used."""
    headroom: float
    """What share of cores and network is to be left free; of memory, what the system needs is taken off before."""
    databases: int
    """For inboxes, each on a machine of its own."""
    cores_per_executor: int
    hourly: float
    """Of all machines."""
    traffic_hourly: float

    @property
    def cores(self) -> int:
        """All that match."""
        return self.machines * (self.machine.cores or 0)

    @property
    def executors(self) -> int:
        """Some to a machine, each with so many cores at most."""
        return self.machines * -(-(self.machine.cores or 0) // self.cores_per_executor)

    @property
    def binds(self) -> str:
        """The resource that is nearest to its limit."""
        return max(self.used, key=lambda name: self.used[name] / self.limit(name))

    @property
    def does(self) -> bool:
        """Whether no resource is beyond its limit."""
        # Hosts are filled to the brim, and rounding must not make them spill.
        return all(used <= self.limit(name) * (1 + 1e-9) for name, used in self.used.items())

    def limit(self, resource: str) -> float:
        """Return what share of a resource may be used."""
        return 1.0 if resource == "memory" else 1 - self.headroom

    @property
    def cost_per_hour(self) -> float:
        """Machines and traffic."""
        return self.hourly + self.traffic_hourly


def cheapest(load: Load, costs: PipelineCosts, pricing: Pricing, kinds: Sequence[Machine]) -> list[Sizing]:
    """Return a cluster of each of these kinds that can do it, the cheapest first; `ConfigError` if none can."""
    for kind in kinds:
        if kind.cores is None or kind.memory_gb is None:
            raise ConfigError(
                f"{pricing.name}: machine {kind.name!r} has no cores or no memory_gb: a pipeline needs to know them"
            )
    found = [one for kind in kinds if (one := sized(load, costs, pricing, kind)) is not None]
    if not found:
        raise ConfigError(
            f"no kind of machine of {pricing.name} has the memory for its own workers: choose larger ones"
        )
    return sorted(found, key=lambda one: one.cost_per_hour)


def sized(load: Load, costs: PipelineCosts, pricing: Pricing, kind: Machine) -> Sizing | None:
    """Return the fewest machines of a kind that do it; None if however many of them do not."""
    enough = 1
    while not (found := cluster(load, costs, pricing, kind, enough)).does:
        enough *= 2
        if enough > _MOST_MACHINES:
            return None
    too_few = enough // 2
    while enough - too_few > 1:
        between = (too_few + enough) // 2
        one = cluster(load, costs, pricing, kind, between)
        too_few, enough, found = (too_few, between, one) if one.does else (between, enough, found)
    return found


def cluster(load: Load, costs: PipelineCosts, pricing: Pricing, kind: Machine, machines: int) -> Sizing:
    """Return how so many machines of a kind would fare."""
    assert kind.cores is not None
    assert kind.memory_gb is not None
    cores = machines * kind.cores
    apart = kind.cores * costs.worker_bytes + -(-kind.cores // load.cores_per_executor) * costs.executor_bytes
    memory = kind.memory_gb * 1e9 * (1 - _SPARE)
    whole = load.subscriptions * costs.subscription_bytes
    most = _head(max(memory - apart, 0.0) / whole, machines)
    # Where all of them fit, nothing travels. Else more of them on every host save visits, and cost more matching there.
    heads = [1.0] if most == 1 else [most * step / _STEPS for step in range(_STEPS + 1)]
    head = min(heads, key=lambda one: _post_us(load, costs, one, cores))
    visits = _visits(costs, head)
    post_us = _post_us(load, costs, head, cores)
    host_bytes = apart + whole * (head + (1 - head) / machines)
    outside = load.posts_per_s * load.post_bytes + load.matches_per_s * load.match_bytes
    mbit_per_s = 8e-6 * (outside + 2 * visits * load.posts_per_s * load.post_bytes) / machines
    databases = math.ceil(load.matches_per_s / (costs.inbox_rows_per_s * (1 - load.headroom))) if load.to_inbox else 0
    return Sizing(
        kind,
        machines,
        _plan(head),
        head,
        visits,
        post_us,
        host_bytes,
        mbit_per_s,
        {
            "cores": load.posts_per_s * post_us / 1e6 / cores,
            "memory": host_bytes / memory,
            "network": mbit_per_s / kind.mbit_per_s,
        },
        load.headroom,
        databases,
        load.cores_per_executor,
        (machines + databases) * kind.per_hour,
        pricing.per_gb * outside * _HOUR_S / 1e9,
    )


def _post_us(load: Load, costs: PipelineCosts, head: float, cores: int) -> float:
    """Return what a post costs if every host has this share of the subscriptions, and cores share the others."""
    here = costs.post(head * load.subscriptions) + load.matches_per_post * costs.row_us
    # Reading the post again is in the cost of a visit; matching the few subscriptions there is not.
    each = costs.visit_us + costs.post((1 - head) * load.subscriptions / cores) - costs.post(1.0)
    return here + _visits(costs, head) * costs.imbalance * each


def _plan(head: float) -> str:
    return "replicate" if head == 1 else "headtail" if head > 0 else "hash"


def _visits(costs: PipelineCosts, head: float) -> float:
    return 0.0 if head == 1 else costs.visits_beside(head)


def _head(share: float, machines: int) -> float:
    """Return how many subscriptions every host has, if it has room for this share, its part of the others included."""
    if share >= 1 or machines == 1:
        return 1.0
    return max((share - 1 / machines) / (1 - 1 / machines), 0.0)
