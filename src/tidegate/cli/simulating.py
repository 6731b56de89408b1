"""`tidegate overlay simulate`: a swarm made, run and measured, and the picture of a ring."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import Progress

from tidegate.errors import ConfigError, TidegateError
from tidegate.overlay.poldercast.ringcast import LEAST_FAN_OUT
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.dissemination import disseminated
from tidegate.overlay.swarm.latency import Latency, drawn_latency, read_latency
from tidegate.overlay.swarm.ring_page import RingPage
from tidegate.overlay.swarm.sessions import Sessions, always, drawn_sessions, read_sessions
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.overlay.swarm.timed import Pace, Timed
from tidegate.workload.breadth_first import STARTS, breadth_first
from tidegate.workload.follows import FACEBOOK_LIKE, TWITTER_LIKE, Follows, fans, friends, stored_follows

CHURNS: Final = ("none", "skype", "crowd", "departure", "partition")
_HEADS: Final = ("cycle", "peers", "complete", "hit ratio", "missed by", "hops", "copies")


@dataclass(frozen=True)
class Simulation:
    """What is simulated, as it was asked for."""

    peers: int
    """At most: a graph in a file may have fewer users."""
    topics: str
    """`facebook`, `twitter`, or a file of who follows whom."""
    mean: int | None
    cycles: int
    churn: str
    """One of `CHURNS`, or a file of sessions."""
    latency: str
    """`none`, `drawn`, or a file of round trips."""
    fan_out: int
    every: int
    seed: int
    mutual: bool = False
    """Whether the follows of a file go both ways."""

    def follows(self) -> Follows:
        """Who follows what; of a graph in a file, a part."""
        if self.topics == "facebook":
            return self._drawn(friends, self.mean or 2 * FACEBOOK_LIKE)
        if self.topics == "twitter":
            return self._drawn(fans, self.mean or TWITTER_LIKE)
        return self._sampled(_file(self.topics, "topics", ("facebook", "twitter")))

    def _drawn(self, graph: Callable[[int, int, int], Follows], mean: int) -> Follows:
        if self.mutual:
            raise ConfigError("--mutual: it is for a graph in a file, so leave it out or give one to --topics")
        try:
            return graph(self.peers, mean, self.seed)
        except ConfigError as error:
            raise ConfigError(f"--peers {self.peers} --mean {mean}: {error}") from error

    def _sampled(self, path: Path) -> Follows:
        """Take a part of a real graph with all follows inside it, as the thesis does (section 3.5.1)."""
        if self.mean is not None:
            raise ConfigError(f"--mean {self.mean}: of a graph in a file every follow is kept, so leave it out")
        graph = stored_follows(path, mutual=self.mutual)
        if graph.pairs == 0:
            raise ConfigError(f"{path}: nobody follows anybody but itself: give a graph in which somebody does")
        peers = min(self.peers, graph.users)
        # Of a few not all are random ones: these would not know each other.
        sample = breadth_first(graph, peers, self.seed, min(STARTS, (peers + 1) // 2))
        if sample.pairs == 0:
            raise ConfigError(f"{path}: of {peers:,} users nobody follows anybody: give more than --peers {peers}")
        return sample

    def sessions(self, seconds: float) -> Sessions:
        """Who is there when."""
        if self.churn == "skype":
            return drawn_sessions(self.peers, seconds, self.seed)
        everybody = always(self.peers, seconds)
        if self.churn == "crowd":
            return everybody.crowding(seconds / 2, 0.3, self.seed)
        if self.churn == "departure":
            return everybody.leaving(seconds / 2, 0.2, self.seed)
        if self.churn in CHURNS:
            return everybody
        return read_sessions(_file(self.churn, "churn", CHURNS)).tiled(self.peers).between(0.0, seconds)

    def ways(self) -> Latency | None:
        """How long letters take."""
        if self.latency == "none":
            return None
        if self.latency == "drawn":
            return drawn_latency(self.peers, self.seed)
        return read_latency(_file(self.latency, "latency", ("none", "drawn")), self.peers, self.seed)


def simulate(console: Console, what: Simulation, topic: int | None, into: Path | None) -> None:
    """Run it, print a line every so many cycles, and write the picture of a ring if there is a place for it."""
    if what.fan_out < LEAST_FAN_OUT:
        raise ConfigError(f"--fan-out {what.fan_out}: an event goes along its ring both ways, so give at least 2")
    if topic is not None and into is None:
        raise ConfigError(f"--topic {topic}: it is the one that is drawn, so give --show as well")
    follows = what.follows()
    what = replace(what, peers=follows.users)
    pace = Pace()
    seconds = what.cycles * pace.cycle_s
    churn = Churn.of(what.sessions(seconds), seconds)
    swarm = Swarm(follows.followed, seed=what.seed)
    swarm.leave(np.flatnonzero(~churn.first))
    swarm.warm()
    timed = Timed(swarm, what.ways(), pace)
    page = RingPage.of(swarm, topic) if into is not None else None
    _say(console, *_HEADS)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("gossiping", total=what.cycles)
        for cycle in range(what.cycles + 1):
            if cycle > 0:
                _part(timed, what, cycle)
                timed.run(cycle * pace.cycle_s, churn)
            if page is not None:
                page.look(cycle)
            if cycle % what.every == 0 or cycle == what.cycles:
                _measure(console, timed, what.fan_out, cycle)
            progress.update(task, completed=cycle)
    if page is not None and into is not None:
        _write(into, page.html())
        _print(console, f"{into}: the ring of topic {page.topic}, {len(page.peers)} peers, cycle by cycle")


def _part(timed: Timed, what: Simulation, cycle: int) -> None:
    """Cut the network in two after a third of the time, and make it whole again after two."""
    if what.churn == "partition":
        if cycle == what.cycles // 3 + 1:
            timed.part(np.arange(what.peers) % 2 == 1)
        elif cycle == 2 * what.cycles // 3 + 1:
            timed.part(np.zeros(what.peers, np.bool_))


def _measure(console: Console, timed: Timed, fan_out: int, cycle: int) -> None:
    swarm = timed.swarm
    spread = disseminated(swarm, fan_out, side=timed.world.side, seed=cycle)
    _say(
        console,
        str(cycle),
        f"{int(swarm.up.sum()):,}",
        f"{completeness(swarm).complete_share:.2%}",
        f"{spread.hit_ratio:.4f}",
        f"{spread.miss_ratio:.2%}",
        f"{spread.mean_hops:.2f}",
        f"{spread.duplication:.2f}",
    )


def _write(into: Path, page: str) -> None:
    try:
        into.write_text(page, "utf-8")
    except OSError as error:
        raise TidegateError(f"{into}: the page cannot be written: {error.strerror}") from error


def _say(console: Console, *cells: str) -> None:
    _print(console, "".join(f"{cell:>11}" for cell in cells))


def _print(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)


def _file(name: str, option: str, others: tuple[str, ...]) -> Path:
    if not Path(name).is_file():
        raise ConfigError(f"--{option} {name}: give a Parquet file that is there, or one of {', '.join(others)}")
    return Path(name)
