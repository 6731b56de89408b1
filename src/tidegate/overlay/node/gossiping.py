"""The protocol of one peer between letters that come and letters that go.

On one side of it are numbers and arrays, on the other profiles. It knows no sockets. Its clock counts ticks, from noon
on, and tells the time: some gossip more often than others, and if clocks counted that, ages would mean something else
to everybody, and who is dead would be taken for young.
"""

import time
from collections.abc import Callable, Collection, Iterable
from typing import Final

import numpy as np

from tidegate.csr import Int64
from tidegate.overlay.node.directory import ME, Directory
from tidegate.overlay.node.messages import OLDEST, Letter
from tidegate.overlay.node.profile import Profile
from tidegate.overlay.poldercast.entries import MET, column_of, entry_of, filled, heard, peer_in
from tidegate.overlay.poldercast.ringcast import BY_BOTH, pass_on
from tidegate.overlay.poldercast.settings import CYCLON, Settings
from tidegate.overlay.poldercast.state import letters
from tidegate.overlay.poldercast.step import answer_gossip, close_gossip, forget, open_gossip
from tidegate.workload.alias import State

TICK_S: Final = 0.001
"""What clocks of peers count, and ages. These stand still while a letter is on its way: from hand to hand news gains as
long as that takes, and the youngest is believed. A tick is shorter than that, and adds next to nothing to it."""
NOON: Final = OLDEST
"""What a clock says at the beginning: nothing is older."""
_NO_VIEW: Final = np.empty(0, np.int64)


class Gossiping:
    """Steps of the peer whose directory it is."""

    def __init__(
        self, directory: Directory, settings: Settings, random: State, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Draw from a generator that nobody else draws from; `clock` tells the time in seconds, since whenever."""
        self.directory, self._random, self._clock = directory, random, clock
        self._noon, self._cycles = clock(), 0
        self._settings, self._outs = settings, letters(settings)
        self.most_named = max(part.letter for part in settings.parts)
        self._taken_out = [-1] * len(settings.parts)
        """By module, the entry of its view that its last letter went to, if that was taken out."""

    def pass_cycle(self) -> list[int]:
        """Let a cycle go by; return the modules whose turn it is."""
        self._cycles += 1
        self.directory.renew_profile()
        return [module for module, part in enumerate(self._settings.parts) if self._cycles % part.period == 0]

    def open(self, module: int) -> tuple[Profile, Letter] | None:
        """Return to whom a letter goes, and the letter, if anybody is known. No answer is awaited by this module.

        Whoever is written to stays in its rings meanwhile: letters take their time here, and events that come before
        the answer does are for it as well.
        """
        self._tell_time()
        own, out = self.directory, self._outs[module]
        own.renew_profile()
        before, view = own.rings(), self._view(module).copy()
        target = open_gossip(own.nodes, ME, module, own.scratch, self._random, out)
        own.restore(*before)
        at = int(column_of(view, target)) if target >= 0 else -1
        self._taken_out[module] = int(view[at]) if at >= 0 else -1
        return None if target < 0 else (own.profile(target), self._written(module, out))

    def awaits(self, module: int) -> bool:
        """Whether the answer to the last letter of a module has not come."""
        return bool(self.directory.nodes.asked[ME, module] >= 0)

    def give_up(self, module: int, is_excused: Callable[[int], bool]) -> bool:
        """Wait no longer for an answer; whoever it was to come from is forgotten, unless its id is excused. Then it is
        where it was before it was written to.

        Return whether somebody was forgotten.
        """
        if not self.awaits(module):
            return False
        silent = self.directory.profile(int(self.directory.nodes.asked[ME, module])).id
        self.directory.nodes.asked[ME, module] = -1
        if is_excused(silent):
            self._bring_back(module)
            return False
        self.forget(silent)
        return True

    def answer(self, letter: Letter) -> Letter:
        """Take in a letter that opens a gossip, and return the answer."""
        sender, named = self._numbered(letter)
        own, out = self.directory, self._outs[letter.module]
        answer_gossip(own.nodes, ME, letter.module, sender, named, own.scratch, self._random, out)
        return self._written(letter.module, out)

    def close(self, letter: Letter) -> bool:
        """Take in an answer; return whether it was one that was awaited."""
        sender, named = self._numbered(letter)
        own = self.directory
        return bool(close_gossip(own.nodes, ME, letter.module, sender, named, own.scratch, self._random))

    def introduce(self, letter: Letter) -> None:
        """Take in whom somebody names who was asked for some; if there is no room, in place of the oldest ones."""
        sender, named = self._numbered(letter)
        clock, view = self.directory.nodes.clock[ME], self.directory.nodes.cyclon[ME]
        entries = [(sender, 0), *((int(peer_in(entry)), int(heard(entry))) for entry in named if entry >= 0)]
        for peer, age in entries:
            if peer == ME or column_of(view, peer) >= 0:
                continue
            at = filled(view)
            if at == len(view):
                at = int((view & ~np.int64(MET)).argmin())
            view[at] = entry_of(peer, clock - age)

    def forget(self, peer: int) -> None:
        """Let nothing remember the peer with an id: it has left, or is silent."""
        number = self.directory.number(peer)
        if number is not None and number != ME:
            self._tell_time()
            forget(self.directory.nodes, ME, number)

    def receivers(self, topic: int, sender: int | None, without: Collection[int], fan_out: int) -> list[Profile]:
        """Return to whom an event of a topic, by its digest, goes next (RingCast), by way of nobody in `without`.

        `sender` is the id of whoever it came from, None where it begins.
        """
        own = self.directory
        number = own.topic(topic)
        if number is None:
            return []
        came_from = -1 if sender is None else own.number(sender)
        reachable = np.ones(len(own.nodes.ids), np.bool_)
        reachable[self._known(without)] = False
        out = np.full(fan_out, -1, np.int64)
        # Messages do not name who is served: here copies may be lost, and whoever is next to one that is gone has to
        # find that out by itself.
        arguments = (-1 if came_from is None else came_from, np.empty(0, np.int64), BY_BOTH, reachable)
        many = pass_on(own.nodes, ME, number, *arguments, self._random, out)
        return [own.profile(int(peer)) for peer in out[:many] if reachable[peer]]

    def neighbours(self, topic: int) -> tuple[list[int], list[int]]:
        """Return the ids of successors and predecessors in the ring of a topic, nearest first."""
        place, nodes = self.directory.own_place(topic), self.directory.nodes
        if place is None:
            return [], []
        half = nodes.rings.shape[1] // 2
        row = nodes.rings[place]
        return self._ids(row[:half]), self._ids(row[half:])

    def everybody(self) -> list[Profile]:
        """Return all who are in some view."""
        nodes = self.directory.nodes
        entries = np.concatenate([part[part >= 0] for part in (nodes.cyclon, nodes.vicinity, nodes.rings)])
        return [self.directory.profile(int(number)) for number in np.unique(peer_in(entries))]

    @property
    def is_alone(self) -> bool:
        """Whether no view of Cyclon's leads to anybody."""
        return bool(self.directory.nodes.cyclon[ME, 0] < 0)

    def joining(self) -> Letter:
        """Return the letter of somebody who wants to be introduced."""
        return Letter(CYCLON, self.directory.own)

    def _view(self, module: int) -> Int64:
        """Return what a module takes out whom it writes to of: of Rings nothing, since rings are restored."""
        nodes = self.directory.nodes
        return (nodes.cyclon[ME], nodes.vicinity[ME], _NO_VIEW)[module]

    def _bring_back(self, module: int) -> None:
        view, entry = self._view(module), self._taken_out[module]
        at = int(filled(view))
        if entry >= 0 and at < len(view) and column_of(view, peer_in(entry)) < 0:
            # Of no later than now: the clock may have been set back meanwhile.
            view[at] = entry_of(peer_in(entry), min(int(heard(entry)), int(self.directory.nodes.clock[ME])))

    def _tell_time(self) -> None:
        """Let the peer's clock say how late it is."""
        ticks = int((self._clock() - self._noon) / TICK_S)
        if ticks >= NOON:
            # Times have room for twice as much: after six days it is noon again.
            self.directory.set_back(ticks)
            self._noon += ticks * TICK_S
            ticks = 0
        self.directory.nodes.clock[ME] = NOON + ticks

    def _numbered(self, letter: Letter) -> tuple[int, Int64]:
        """Return a letter as kernels read it: its sender's number, and entries. It is read now."""
        self._tell_time()
        self.directory.make_room([letter.sender, *(profile for _, profile in letter.named)])
        sender = self.directory.learn(letter.sender, is_hearsay=False)
        named = np.full(len(self._outs[letter.module]), -1, np.int64)
        believed = [one for one in letter.named if self.directory.can_be(one[1])]
        for at, (age, profile) in enumerate(believed[: len(named)]):
            named[at] = entry_of(self.directory.learn(profile), age)
        return sender, named

    def _written(self, module: int, entries: Int64) -> Letter:
        named = [
            (int(heard(entry)), self.directory.profile(int(peer_in(entry))))
            for entry in entries[: int(filled(entries))].tolist()
        ]
        return Letter(module, self.directory.own, named)

    def _known(self, peers: Iterable[int]) -> list[int]:
        return [number for peer in peers if (number := self.directory.number(peer)) is not None]

    def _ids(self, side: Int64) -> list[int]:
        return [self.directory.profile(int(peer_in(entry))).id for entry in side.tolist() if entry >= 0]
