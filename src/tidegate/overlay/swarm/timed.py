"""The event-driven simulator: letters and events take time, every peer has its own phase, and some die meanwhile.

The steps of a peer are those that the cycle-driven simulator and sockets call. A letter to a peer that is gone when it
arrives, or beyond a partition, is lost; one that is back by then reads it, at the address it had before,
but awaits no answer from before. A seed determines all that happens.
"""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from tidegate.csr import Int64
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.ringcast import BY_BOTH, LEAST_FAN_OUT, NAMED
from tidegate.overlay.swarm.churn import Churn
from tidegate.overlay.swarm.copies import missing, publish
from tidegate.overlay.swarm.dissemination import Dissemination
from tidegate.overlay.swarm.flights import TURN, Flights, flights_of, room_for, send, with_more_room
from tidegate.overlay.swarm.flying import go_on
from tidegate.overlay.swarm.gossiping import Posted, tell_time
from tidegate.overlay.swarm.latency import Latency, longest_round_trip, no_latency
from tidegate.overlay.swarm.misses import begin_anew
from tidegate.overlay.swarm.spreading import Spreading, spreading_of
from tidegate.overlay.swarm.swarm import Flags, Swarm
from tidegate.overlay.swarm.world import World

_SPARE: Final = 1.5


@dataclass(frozen=True)
class Pace:
    """How often peers gossip: every minute under churn, as in the thesis, which makes it 60 times as fast."""

    cycle_s: float = 60.0
    patience_s: float = 1.0
    """Who has not answered after so long is silent, or after half as long again as the longest answer takes."""
    hasty_letters: int = 30
    """Who has just come is in haste: by every module it writes again as soon as it is answered, or patience is over, so
    many letters long. It knows next to nobody, and nobody knows it."""
    wary_letters: int = 5
    """Who has found somebody silent is in haste, too, for so many: if one has gone others may have. It looks
    for that when patience is over, and writes at once to who is new next to it; with 0, both in its next turn."""
    again_turns: int = 20
    """After so many turns each a peer writes to whom it came by: parts of a network that was cut find each other so,
    where no sample leads from one to the other any more. 0 for never."""

    def __post_init__(self) -> None:
        """Refuse a time that does not pass."""
        if not (self.cycle_s > 0 and self.patience_s > 0):
            raise ConfigError(f"a cycle every {self.cycle_s:g} s, silent after {self.patience_s:g} s: give more than 0")


AS_PRINTED: Final = Pace(hasty_letters=0, wary_letters=0, again_turns=0)
"""One gossip a minute, whatever happens."""


@dataclass
class Timed:
    """A swarm in time; `swarm` may be looked at between any two runs, and is changed by nobody else."""

    swarm: Swarm
    latency: Latency | None = None
    pace: Pace = field(default_factory=Pace)
    shortcuts: int = BY_BOTH
    now: float = 0.0

    def __post_init__(self) -> None:
        """Give every peer that is up a phase of its own, and somebody by whom it came."""
        present = np.flatnonzero(self.world.up)
        if len(present):
            self.world.contacts[:] = self._contacts.choice(present, self.swarm.topics.rows)
        phases = np.random.default_rng([self.swarm.seed, 12]).random(self.swarm.topics.rows) * self.pace.cycle_s
        self._come_up(np.flatnonzero(self.swarm.up), phases)

    @cached_property
    def world(self) -> World:
        """What is so: who is up, how far it is."""
        peers = self.swarm.topics.rows
        parts, pace, latency = self.swarm.settings.parts, self.pace, self.latency or no_latency(peers)
        patience = max(pace.patience_s, _SPARE * longest_round_trip(latency))
        return World(
            up=self.swarm.up,
            side=np.zeros(peers, np.int8),
            reachable=np.stack((self.swarm.up, np.zeros(peers, np.bool_))),
            turns=np.zeros(peers, np.int64),
            came=np.full(peers, -np.inf),
            contacts=np.full(peers, -1, np.int64),
            gossiped=np.zeros(peers, np.int64),
            haste=np.zeros((peers, len(parts)), np.int64),
            wrote=np.full((peers, len(parts)), -np.inf),
            latency=latency,
            periods=np.array([part.period for part in parts], np.int32),
            lengths=np.array([part.letter for part in parts], np.int64),
            pace=np.array([pace.cycle_s, patience, pace.wary_letters, pace.again_turns]),
        )

    @cached_property
    def spreading(self) -> Spreading:
        """The events; `fan_outs` may be changed between any two runs, to 2 at least."""
        swarm = self.swarm
        return spreading_of(swarm.topics.rows, swarm.many_topics, len(swarm.topics.values), swarm.seed)

    @cached_property
    def posted(self) -> Posted:
        """Letters so far."""
        peers = self.swarm.topics.rows
        return Posted(np.zeros(peers, np.int64), np.zeros(peers, np.int64))

    @cached_property
    def _flying(self) -> list[Flights]:
        """One: another takes its place where it has no room."""
        return [flights_of(max(NAMED, *(part.letter for part in self.swarm.settings.parts)))]

    def twin(self, spreading: Spreading | None = None) -> "Timed":
        """Return the same on its own, to try other fan-outs on: with its events, or with those of a twin that was tried
        before, whose peers go on from what they know."""
        twin = deepcopy(self)
        if spreading is not None:
            vars(twin)["spreading"] = spreading
        return twin

    def run(self, until: float, churn: Churn | None = None) -> None:
        """Let all happen that is due before some time, with peers that come and go."""
        if churn is not None:
            times, who, comes = churn.between(self.now, until)
            for change in np.split(np.arange(len(times)), np.flatnonzero(np.diff(times)) + 1):
                if len(change):
                    self._go_on(float(times[change[0]]))
                    self.leave(who[change][~comes[change]])
                    self.join(who[change][comes[change]])
        self._go_on(until)

    def leave(self, peers: Iterable[int] | Int64) -> None:
        """Let peers go without a word, now."""
        self.swarm.leave(peers)
        self._reach()

    def join(self, peers: Iterable[int] | Int64) -> None:
        """Let peers come, or come back with all they knew, now, one after the other: each writes to one of those that
        are there by then, and is welcomed. Their first turn is at once."""
        here = np.fromiter(peers, np.int64)
        here = here[~self.world.up[here]]
        for peer in here.tolist():
            self._come(peer)
        self.world.came[here] = self.now
        self.world.haste[here] = self.pace.hasty_letters
        begin_anew(self.swarm.nodes, self.spreading.misses, here, self.now + self.pace.cycle_s)
        self._reach()
        self.world.turns[here] += 1
        self._come_up(here, np.full(self.swarm.topics.rows, self.now))

    def part(self, beyond: Flags) -> None:
        """Let no letter pass between these peers and the others from now on; if nobody is beyond, all do again."""
        self.world.side[:] = beyond
        self._reach()

    def publish(self) -> None:
        """Publish one event for every topic that somebody who is up follows, now. The one before is over."""
        self._check_fan_outs()
        self._make_room(self.swarm.many_topics * int(self.spreading.fan_outs.max()))
        publish(
            self.swarm.nodes,
            self.swarm.subscribers,
            self.world,
            self._flying[0],
            self.spreading,
            self.shortcuts,
            self.now,
        )

    def outcome(self) -> Dissemination:
        """What has become of the last event of every topic by now.

        Those count that are up, and have been since before it was published, without a pause.
        """
        return self._count()[0]

    def mean_delay_s(self) -> float:
        """How late the last events came to those that should get them, in the mean."""
        outcome, late_s = self._count()
        return late_s / max(outcome.others_reached, 1)

    def _count(self) -> tuple[Dissemination, float]:
        """Return what has become of the last events, and how late they were, together."""
        swarm, spread = self.swarm, self.spreading
        by_topic, missed = np.zeros((4, swarm.many_topics), np.int64), np.zeros(swarm.topics.rows, np.int64)
        late_s = float(missing(swarm.nodes, swarm.subscribers, self.world, spread, by_topic, missed))
        subscribers, reached, hops, published = by_topic
        outcome = Dissemination(
            subscribers=subscribers,
            reached=reached,
            copies=spread.copies.copy(),
            hops=hops,
            lost=spread.lost.copy(),
            missed=missed,
            received=spread.received.copy(),
            published=published,
        )
        return outcome, late_s

    def _check_fan_outs(self) -> None:
        least = int(self.spreading.fan_outs.min(initial=LEAST_FAN_OUT))
        if least < LEAST_FAN_OUT:
            raise ConfigError(f"a fan-out of {least}: an event goes along its ring both ways, so give at least 2")

    def _go_on(self, until: float) -> None:
        self._check_fan_outs()
        while not go_on(
            self.swarm.nodes,
            self.world,
            self._flying[0],
            self.spreading,
            self.posted,
            self.shortcuts,
            self.swarm.scratch,
            self.swarm.random,
            until,
        ):
            self._make_room(len(self._flying[0].heap))
        self.now = max(self.now, until)

    def _make_room(self, more: int) -> None:
        while not room_for(self._flying[0], more):
            self._flying[0] = with_more_room(self._flying[0])

    @cached_property
    def _contacts(self) -> np.random.Generator:
        """Draws by whom peers come."""
        return np.random.default_rng([self.swarm.seed, 15])

    def _come(self, peer: int) -> None:
        """Let a peer come by one of those that are up on its side: it asks, and that one answers."""
        world, nodes = self.world, self.swarm.nodes
        tell_time(nodes, peer, self.now)
        present = np.flatnonzero(world.up & (world.side == world.side[peer]))
        if len(present) == 0:
            # If it was there before it goes on writing to whom it came by then.
            self.swarm.come(peer)
            return
        contact = int(self._contacts.choice(present))
        tell_time(nodes, contact, self.now)
        self.swarm.come(peer, contact)
        world.contacts[peer] = contact
        for counts in self.posted:
            counts[[peer, contact]] += 1

    def _come_up(self, peers: Int64, times: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        self._make_room(len(peers))
        for peer in peers.tolist():
            send(self._flying[0], float(times[peer]), TURN, peer, peer, 0, int(self.world.turns[peer]))

    def _reach(self) -> None:
        for side in range(2):
            self.world.reachable[side] = self.world.up & (self.world.side == side)
