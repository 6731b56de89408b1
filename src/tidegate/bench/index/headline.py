"""The headline: every index on the paper's workload, in time, bytes and building; and the way to subscribers."""

from typing import Final

import numpy as np

from tidegate.bench.index.measure import Matching, require_same, sorted_pairs, timed
from tidegate.bench.index.sizes import Sizes
from tidegate.bench.index.trial import LABELS, Trial
from tidegate.bench.report import Report, Row
from tidegate.csr import Csr, Int32
from tidegate.errors import TidegateError
from tidegate.index.fanout import FanOut

# Microseconds an item in the paper (§4.4.2, with its misprint repaired), by subscriptions and by the
# vocabulary here whose subscribed terms are nearest to the paper's.
_PAPER_MICROSECONDS: Final = {
    (10_000_000, 87_839): {"counting": 4_330, "ranked-key": 550, "patricia-trie": 30},
    (10_000_000, 630_000): {"counting": 6_210, "ranked-key": 890, "patricia-trie": 940},
    (100_000_000, 1_500_000): {"ranked-key": 10_000, "patricia-trie": 7_200},
}
# Megabytes in the paper (§4.4.1): the ends of Figure 8, and the end of Figure 9.
_PAPER_MEGABYTES: Final = {
    (10_000_000, 87_839): {"counting": 250, "ranked-key": 250, "patricia-trie": 710},
    (10_000_000, 1_500_000): {"counting": 280, "ranked-key": 280, "patricia-trie": 925},
    (100_000_000, 1_500_000): {"counting": 2_320, "ranked-key": 2_320, "patricia-trie": 9_200},
}
_PAPER_BUILD_RATIO: Final = {"ranked-key": 0.7, "counting": 1.0, "patricia-trie": 17.0}
_RIVALS: Final = ("counting", "ranked-key", "patricia-trie")


def paper_microseconds(trial: Trial, name: str) -> int | None:
    """The paper's time for one item, where it prints one for such a workload."""
    return _PAPER_MICROSECONDS.get((trial.subscriptions, trial.vocabulary), {}).get(name)


def paper_megabytes(trial: Trial, name: str) -> int | None:
    """The paper's size of an index, where it prints one for such a workload."""
    return _PAPER_MEGABYTES.get((trial.subscriptions, trial.vocabulary), {}).get(name)


def speedup(trial: Trial) -> float:
    """How many times as fast flat is as the best of those that the paper times (it leaves ROT out)."""
    matching = trial.matching
    return min(matching[name].microseconds for name in _RIVALS) / matching["flat"].microseconds


def report_headline(report: Report, trial: Trial) -> None:
    """Add the table of all indexes on one workload."""
    report.section(
        f"Matching: {trial.subscriptions:,} subscriptions over {trial.vocabulary:,} terms, one core",
        [_headline_row(trial, name, trial.matching[name]) for name in LABELS if name in trial.matching],
        note=(
            f"CIL matched the first {trial.matching['counting'].found.sets.rows:,} items only; "
            f"{trial.distinct:,} distinct queries of {trial.subscribed_terms:,} terms; "
            f"flat is {speedup(trial):.1f} × as fast as the best of CIL, RIL and POT; "
            f"peak memory {trial.peak_bytes / 1e9:.1f} GB"
        ),
    )


def summarise(report: Report, trial: Trial) -> None:
    """Set the summary's figures of the headline."""
    matching = trial.matching
    report.summary |= {
        "flat_us_per_item": matching["flat"].microseconds,
        "ril_us_per_item": matching["ranked-key"].microseconds,
        "pot_us_per_item": matching["patricia-trie"].microseconds,
        "cil_us_per_item": matching["counting"].microseconds,
        "flat_bytes_per_subscription": trial.nbytes["flat"] / trial.subscriptions,
        "flat_build_per_s": trial.subscriptions / (trial.distinct_seconds + trial.build_seconds["flat"]),
        "flat_speedup_over_best": speedup(trial),
        "peak_gb": trial.peak_bytes / 1e9,
    }


def report_building(report: Report, trial: Trial) -> None:
    """Add the indexing times (§4.4.3). The paper's unit cannot be right, so its ratios are compared."""
    seconds = trial.build_seconds
    rows = [
        {
            "index": LABELS[name],
            "build, ns a subscription": seconds[name] / trial.subscriptions * 1e9,
            "with finding distinct": (trial.distinct_seconds + seconds[name]) / trial.subscriptions * 1e9,
            "ratio to CIL": seconds[name] / seconds["counting"],
            "paper's ratio": _PAPER_BUILD_RATIO.get(name),
            "subscriptions/s": trial.subscriptions / (trial.distinct_seconds + seconds[name]),
        }
        for name in LABELS
        if name in seconds
    ]
    report.section(
        f"Indexing times: {trial.subscriptions:,} subscriptions",
        rows,
        note="all are built from distinct sets in rarest-first order; tries sort them anew, in their own",
    )


def report_fan_out(report: Report, trial: Trial, sizes: Sizes) -> None:
    """Add what it costs to go on from distinct queries to subscriptions."""
    fanout = FanOut()
    build, _ = timed(lambda: fanout.add(trial.numbers))
    queries = trial.matching["flat"].found.sets
    queries = queries.slice(0, min(sizes.fan_out_items, queries.rows))
    rounds = [timed(lambda: fanout.subscriptions(queries)) for _ in range(sizes.rounds)]
    seconds, subscriptions = min(rounds, key=lambda one: one[0])
    _require_all(subscriptions, queries, trial.numbers)
    notified = len(subscriptions.values)
    report.section(
        "Fan-out of the matched queries to subscriptions, apart from matching",
        [
            {
                "queries an item": len(queries.values) / queries.rows,
                "subscriptions an item": notified / queries.rows,
                "µs an item": seconds / queries.rows * 1e6,
                "ns a subscription": seconds / max(notified, 1) * 1e9,
                "build, s": build,
            }
        ],
    )
    report.summary["fan_out_ns_per_subscription"] = seconds / max(notified, 1) * 1e9


def _require_all(subscriptions: Csr, queries: Csr, numbers: Int32) -> None:
    """Raise unless the subscriptions are, once each, all that ask for the queries; `numbers` says who asks for what."""
    asking = np.bincount(numbers)[queries.values]
    ends = np.concatenate(([0], np.cumsum(asking)))[queries.offsets]
    asked_for = Csr(subscriptions.offsets, numbers[subscriptions.values])
    require_same("fan-out", asked_for, "what was asked for", Csr(ends, np.repeat(queries.values, asking)))
    if not np.diff(sorted_pairs(subscriptions)).all():
        raise TidegateError("wrong answers: the fan-out reports a subscription twice for an item")


def _headline_row(trial: Trial, name: str, matching: Matching) -> Row:
    megabytes = paper_megabytes(trial, name)
    return {
        "index": LABELS[name],
        "µs an item": matching.microseconds,
        "median": matching.median,
        "paper, µs": paper_microseconds(trial, name),
        "visited": matching.visited,
        "candidates": matching.candidates,
        "matched": matching.matched,
        "bytes a subscription": trial.nbytes[name] / trial.subscriptions,
        "paper, bytes": megabytes and 1e6 * megabytes / trial.subscriptions,
        "build, s": trial.build_seconds[name],
        "distinct, s": trial.distinct_seconds,
    }
