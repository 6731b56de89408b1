"""Figures 3.9 and 3.10: the letters that keep an overlay, and the traffic that nobody on its way wants."""

from typing import Final

import numpy as np

from tidegate.bench.overlay.scene import classes
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.csr import Int64
from tidegate.overlay.scribe.carrying import BY_PASTRY, UNWANTED, WANTED
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Timed
from tidegate.workload.terms import Floats

_MUCH: Final = 0.8
_SHARES: Final = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def report_upkeep(report: Report, swarm: Swarm, forest: Forest, sizes: Sizes) -> dict[str, float]:
    """Count letters and messages by peer over some cycles; return what a cycle takes in the mean, and who relays."""
    timed = Timed(swarm, pace=AS_PRINTED)
    timed.run(sizes.kept * AS_PRINTED.cycle_s)
    letters = (timed.posted.sent + timed.posted.got) / sizes.kept
    forest.control[:] = 0
    forest.run(sizes.kept)
    messages = forest.control / sizes.kept
    _by_topics(report, np.diff(swarm.topics.offsets), letters, messages)
    shares = _unwanted(forest, messages)
    rows: list[Row] = [
        {"unwanted, more than": least, "Scribe": float((shares > least).mean()), "PolderCast": 0.0} for least in _SHARES
    ]
    much = float((shares > _MUCH).mean())
    report.section(
        "Figure 3.10: of the peers, those with more than so large a share of unwanted traffic",
        rows,
        "Thesis: for over 90 % of the peers more than 80 % is unwanted. Events, one of every topic, and messages of a "
        "cycle for trees; what keeps Pastry itself is of no topic, and left out. PolderCast sends events to followers "
        "alone.",
    )
    return {"letters": float(letters.mean()), "messages": float(messages.sum(axis=1).mean()), "much unwanted": much}


def _by_topics(report: Report, sizes: Int64, letters: Floats, messages: Floats) -> None:
    report.section(
        "Figure 3.9: messages sent and received in a cycle, by topics that a peer follows",
        [
            {
                "topics": name,
                "from": int(sizes[inside].min()),
                "peers": len(inside),
                "PolderCast": float(letters[inside].mean()),
                "Scribe": float(messages[inside].sum(axis=1).mean()),
                "of these for Pastry": float(messages[inside, BY_PASTRY].mean()),
                "for others' topics": float(messages[inside, UNWANTED].mean()),
            }
            for name, inside in classes(sizes)
        ],
        "Thesis: Scribe's are in proportion to the topics, and more; peers of PolderCast with over 100 are asked more "
        "often than others. A letter of PolderCast names up to ten peers, a heartbeat is small.",
    )


def _unwanted(forest: Forest, messages: Floats) -> Floats:
    spread = carried(forest)
    unwanted = messages[:, UNWANTED] + spread.unwanted
    traffic = messages[:, UNWANTED] + messages[:, WANTED] + spread.received
    return np.asarray(unwanted / np.maximum(traffic, 1e-9))
