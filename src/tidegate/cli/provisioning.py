"""What `tidegate provision` finds out about a demand on disk, as figures to be told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tidegate.capacity.allocation import MadeFor, read_made_for, read_parts, write_parts, write_placed
from tidegate.capacity.following import followed
from tidegate.capacity.optimisations import Optimisation
from tidegate.capacity.packing import Packing, first_fit, packed, packer_without
from tidegate.capacity.pair_files import PairFiles
from tidegate.capacity.pricing import Pricing, Terms
from tidegate.capacity.provisioning import Bill, bill, cheapest_kinds, filled_up, filled_up_by_any, mixed, steps
from tidegate.capacity.streamed import Chosen, Stage, chosen_pairs, kept_in_memory, placed_pairs
from tidegate.errors import ConfigError
from tidegate.rank.duration import duration


@dataclass(frozen=True)
class Wanted:
    """What was asked for, as options have it."""

    demand: Path
    threshold: int
    prices: str
    machine: str
    period: str
    billed: str
    traffic_billed: str | None
    message_bytes: int
    into: Path | None
    pairs_into: Path | None
    previous: Path | None
    within: float
    fewest: bool
    """Pairs with the fewest events there can be, instead of greedy ones."""
    without: frozenset[Optimisation]
    compared_with: int | None
    """The seed of the random choice to compare with; None: nothing is compared."""

    def kinds(self) -> list[Terms]:
        """The kinds of machines that may be rented."""
        listed = Pricing.read(self.prices)
        period, billed = (duration(name, getattr(self, name)) / 1e6 for name in ("period", "billed"))
        paid = None if self.traffic_billed is None else duration("traffic-billed", self.traffic_billed) / 1e6
        any_kind = self.machine in ("cheapest", "mixed")
        machines = listed.machines if any_kind else (listed.machine(self.machine),)
        return [Terms(machine, listed, period, self.message_bytes, billed, paid) for machine in machines]


def provisioned(wanted: Wanted) -> tuple[dict[str, Any], str]:
    """Do it, and write what is to be written; return the figures, and what was left out of the demand."""
    kinds, files = wanted.kinds(), PairFiles(wanted.demand)
    chosen = chosen_pairs(files, wanted.threshold, least=wanted.fewest)
    packing, terms, figures = _allocated(wanted, files, kinds, chosen)
    ours, least = bill(packing, terms), _least(wanted, kinds, terms, chosen.least_events)
    cost = ours.cost
    if wanted.machine == "mixed":
        names, cost = cheapest_kinds(packing, _able(kinds, chosen))
        figures["kinds"] = {name: names.count(name) for name in sorted(set(names))}
    figures = {
        "machine": terms.machine.name,
        "prices": terms.pricing.name,
        "rates": f"events in {wanted.period}",
        "machine_takes": terms.capacity,
        "threshold": wanted.threshold,
        "own_thresholds": int(np.count_nonzero(files.own_thresholds)),
        "subscribers": chosen.subscribers,
        "pairs": chosen.pairs,
        "chosen_pairs": int(chosen.counts.sum()),
        "machines": ours.machines,
        "events": ours.events,
        "mbit_per_s": ours.events * wanted.message_bytes * 8 / terms.period_s / 1e6,
        "cost_machines": cost - terms.per_event * ours.events,
        "cost_traffic": terms.per_event * ours.events,
        "cost": cost,
        "currency": terms.pricing.currency,
        "billed": wanted.billed,
        "least_machines": least.machines,
        "least_cost": least.cost,
        "over_lower_bound_pct": 100 * (cost / least.cost - 1) if least.cost else 0.0,
        **figures,
        "left_out": chosen.mended._asdict(),
    }
    if wanted.into is not None:
        write_parts(packing.parts, wanted.into, MadeFor.of(terms))
    if wanted.pairs_into is not None:
        stage = Stage(files, wanted.threshold, least=wanted.fewest)
        placed = placed_pairs(stage, packing.parts, len(chosen.events))
        write_placed(placed, wanted.pairs_into)
    if wanted.compared_with is not None:
        figures["steps"] = _compared(files, wanted.threshold, terms, wanted.compared_with)
    return figures, str(chosen.mended)


def _allocated(
    wanted: Wanted, files: PairFiles, kinds: list[Terms], chosen: Chosen
) -> tuple[Packing, Terms, dict[str, Any]]:
    """Pack what was chosen, from scratch or from an allocation there is, and say for which kind of machine."""
    if wanted.previous is not None:
        if wanted.without:
            raise ConfigError("--without and --from: what goes on from an allocation is packed with all optimisations")
        return _followed(wanted, kinds, chosen, wanted.previous)
    able = _able(kinds, chosen)
    if Optimisation.BY_TOPIC in wanted.without:
        pairs = kept_in_memory(Stage(files, wanted.threshold, least=wanted.fewest))
        packings = [(first_fit(chosen.events, pairs, kind), kind) for kind in able]
    else:
        packer = packer_without(wanted.without)
        packings = [(packed(chosen.events, chosen.counts, kind, packer), kind) for kind in able]
    best = mixed(packings, able) if wanted.machine == "mixed" else min(packings, key=lambda one: bill(*one).cost)
    return *best, {}


def _followed(
    wanted: Wanted, kinds: list[Terms], chosen: Chosen, previous: Path
) -> tuple[Packing, Terms, dict[str, Any]]:
    made_for = read_made_for(previous)
    # Where any kind will do, machines stay of the kind they are.
    terms = next((kind for kind in kinds if kind.machine.name == made_for.machine), kinds[0])
    made_for.check(previous, MadeFor.of(terms))
    follows = followed(read_parts(previous), chosen.events, chosen.counts, terms, within=wanted.within)
    figures = {"moved_pairs": follows.moved, "over_scratch_pct": 100 * follows.over_scratch}
    return follows.packing, terms, figures


def _least(wanted: Wanted, kinds: list[Terms], terms: Terms, events: int) -> Bill:
    """What no allocation on machines that may be rented falls below."""
    if wanted.machine == "mixed":
        return filled_up_by_any(events, kinds)
    # Machines that are there stay of their kind.
    may_be = kinds if wanted.previous is None else [terms]
    bills = [filled_up(events, kind) for kind in may_be if kind.capacity or not events]
    return Bill(min(one.machines for one in bills), events, min(one.cost for one in bills))


def _able(kinds: list[Terms], chosen: Chosen) -> list[Terms]:
    """The kinds that can take the largest topic; the largest, which is refused then, if none can."""
    largest = int(chosen.events[chosen.counts > 0].max(initial=0))
    return [kind for kind in kinds if kind.capacity >= 2 * largest] or [max(kinds, key=lambda kind: kind.capacity)]


def _compared(files: PairFiles, threshold: int, terms: Terms, seed: int) -> list[dict[str, Any]]:
    greedy, naive = (kept_in_memory(Stage(files, threshold, of)) for of in (None, seed))
    rows: list[dict[str, Any]] = []
    fewest = kept_in_memory(Stage(files, threshold, least=True))
    for name, one in steps(files.events, greedy, naive, terms, fewest):
        first, last = (rows[0]["cost"], rows[-1]["cost"]) if rows else (one.cost, one.cost)
        rows.append(
            {
                "step": name,
                "machines": one.machines,
                "events": one.events,
                "cost": one.cost,
                "saved_pct": 100 * (1 - one.cost / last) if last else 0.0,
                "saved_in_all_pct": 100 * (1 - one.cost / first) if first else 0.0,
            }
        )
    return rows
