"""Figures 3.9 and 3.10: the letters that keep an overlay, and the traffic that nobody on its way wants."""

from typing import Final

import numpy as np

from tidegate.bench.overlay.scene import classes, settled_forest
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.csr import Csr, Int64
from tidegate.kernels import njit
from tidegate.overlay.poldercast.ringcast import BY_BOTH, pair_of, pass_on
from tidegate.overlay.poldercast.settings import Gossip, Settings
from tidegate.overlay.poldercast.state import Nodes
from tidegate.overlay.scribe.carrying import BY_PASTRY, UNWANTED, WANTED
from tidegate.overlay.scribe.dissemination import disseminated as carried
from tidegate.overlay.scribe.forest import Forest
from tidegate.overlay.swarm.swarm import Flags, Swarm
from tidegate.overlay.swarm.timed import AS_PRINTED, Timed
from tidegate.workload.alias import State, random_state
from tidegate.workload.follows import friends
from tidegate.workload.terms import Floats

_MUCH: Final = 0.8
_NEVER: Final = 1 << 30
_SHARES: Final = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def report_upkeep(report: Report, swarm: Swarm, forest: Forest, sizes: Sizes) -> dict[str, float]:
    """Count letters and messages by peer over some cycles; return who has how much unwanted traffic, and who relays."""
    timed = Timed(swarm, pace=AS_PRINTED)
    timed.run(sizes.kept * AS_PRINTED.cycle_s)
    letters = (timed.posted.sent + timed.posted.got) / sizes.kept
    forest.control[:] = 0
    forest.run(sizes.kept)
    messages = forest.control / sizes.kept
    _by_topics(report, np.diff(swarm.topics.offsets), letters, messages)
    every, of_trees = _unwanted(forest, messages)
    ours, of_topics = _unwanted_letters(swarm, letters, sizes)
    rows: list[Row] = [
        {
            "unwanted, more than": least,
            "Scribe": float((every > least).mean()),
            "PolderCast": float((ours > least).mean()),
            "Scribe, trees alone": float((of_trees > least).mean()),
            "PolderCast, without Cyclon": float((of_topics > least).mean()),
        }
        for least in _SHARES
    ]
    report.section(
        "Figure 3.10: of the peers, those with more than so large a share of unwanted traffic",
        rows,
        "Thesis: for over 90 % of the peers more than 80 % is unwanted, of events and control messages together. One "
        "event of every topic, and the messages of a cycle: those that keep Pastry are about no topic of a peer, nor "
        "are Cyclon's letters: unwanted; or left out, where trees are alone, and without Cyclon.",
    )
    return {
        "much": float((every > _MUCH).mean()),
        "much, trees": float((of_trees > _MUCH).mean()),
        "relayed": float(unwanted_copies(swarm, max(sizes.fan_outs))[0].sum()),
    }


def report_relays(report: Report, sizes: Sizes, seed: int) -> None:
    """How Figure 3.10 depends on how many topics peers follow."""
    rows: list[Row] = []
    for mean in sizes.means:
        forest = settled_forest(friends(sizes.peers, mean, seed).followed, seed)
        forest.control[:] = 0
        forest.run(sizes.kept)
        every, of_trees = _unwanted(forest, forest.control / sizes.kept)
        rows.append(
            {
                "topics of a peer, mean": mean,
                "over 80 % unwanted": float((every > _MUCH).mean()),
                "of trees alone": float((of_trees > _MUCH).mean()),
            }
        )
    report.section(
        "Figure 3.10, by how much peers follow: of Scribe's peers, those with over 80 % unwanted traffic",
        rows,
        "The trace that the thesis samples has 19 friends a user; how many a sample of 10,000 has it does not tell.",
    )


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


def _unwanted(forest: Forest, messages: Floats) -> tuple[Floats, Floats]:
    """By peer, of all its traffic and of that for trees, the share that is about no topic it follows."""
    spread = carried(forest)
    unwanted = messages[:, UNWANTED] + spread.unwanted
    of_trees = messages[:, UNWANTED] + messages[:, WANTED] + spread.received
    every = (unwanted + messages[:, BY_PASTRY]) / np.maximum(of_trees + messages[:, BY_PASTRY], 1)
    return every, unwanted / np.maximum(of_trees, 1)


def _unwanted_letters(swarm: Swarm, letters: Floats, sizes: Sizes) -> tuple[Floats, Floats]:
    """By peer of PolderCast, of all its traffic and of that without Cyclon's letters, the share that is about no topic
    it follows."""
    unwanted, copies = unwanted_copies(swarm, min(sizes.fan_outs))
    cyclon = np.minimum(_cyclon_letters(swarm, sizes.kept), letters)
    every = (unwanted + cyclon) / np.maximum(copies + letters, 1)
    return every, unwanted / np.maximum(copies + letters - cyclon, 1)


def _cyclon_letters(swarm: Swarm, cycles: int) -> Floats:
    """By peer, letters of Cyclon in a cycle: those of peers that do nothing else."""
    settings = Settings(vicinity=Gossip(view=0), rings=Gossip(view=2, period=_NEVER))
    alone = Swarm(swarm.topics, settings, swarm.seed)
    alone.warm()
    timed = Timed(alone, pace=AS_PRINTED)
    timed.run(cycles * AS_PRINTED.cycle_s)
    return (timed.posted.sent + timed.posted.got) / cycles


def unwanted_copies(swarm: Swarm, fan_out: int) -> tuple[Int64, Int64]:
    """Let everybody pass on an event of each topic it follows, as if it had published it; return by peer how many
    copies it got of topics that it does not follow, and of all."""
    counts = np.zeros((2, swarm.topics.rows), np.int64)
    random = random_state([swarm.seed, 15])
    _pass_all_on(swarm.nodes, swarm.subscribers, swarm.up, random, np.zeros(fan_out, np.int64), counts)
    return counts[0], counts[1]


@njit(cache=True)
def _pass_all_on(nodes: Nodes, subscribers: Csr, up: Flags, random: State, out: Int64, counts: Int64) -> None:
    none = np.empty(0, np.int64)
    for topic in range(len(subscribers.offsets) - 1):
        for me in subscribers.values[subscribers.offsets[topic] : subscribers.offsets[topic + 1]]:
            for i in range(pass_on(nodes, me, topic, -1, none, BY_BOTH, up, random, out)):
                counts[0, out[i]] += pair_of(nodes, out[i], topic) < 0
                counts[1, out[i]] += 1
