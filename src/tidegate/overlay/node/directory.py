"""What one peer knows, as the arrays of the protocol, and whom the numbers in them stand for.

The peer itself is number 0, and has the only row; others are numbered from 1 on as they are heard of. A number is given
again once no view has it: so what is remembered is bounded by the sizes of views, whoever writes, and how often.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from tidegate.csr import Int32, Int64, from_rows
from tidegate.deliver.ends import Address
from tidegate.growth import with_room
from tidegate.overlay.node.numbering import Numbering
from tidegate.overlay.node.profile import Digests, Held, Profile, gaps_of, steps_of
from tidegate.overlay.poldercast.entries import heard, peer_in
from tidegate.overlay.poldercast.rings import leave_rings
from tidegate.overlay.poldercast.settings import Settings
from tidegate.overlay.poldercast.state import Nodes, Scratch, Ways, nodes_of, scratch_of

ME: Final = 0
MOST_PLACES: Final = 1 << 18
"""Topics of all peers together that are remembered."""
LONGEST_AHEAD_US: Final = 60_000_000
"""So far ahead of one's own clock a peer may have written its profile."""
_HEARSAY_AHEAD_US: Final = LONGEST_AHEAD_US // 2
"""The same of a profile that another tells of. Its peer may have to outdo it, and is still to be believed by those
whose clocks are behind."""
_WORTH: Final = 16
"""Places are moved together if one in so many is nobody's."""


class Directory:
    """Owned by one peer: kernels change `nodes`, and nothing else does but the methods here."""

    def __init__(self, me: int, address: Address, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        """The peer with this id follows nothing and knows nobody; `clock` tells the time in seconds."""
        self.id, self.address, self._clock = me, address, clock
        self._latest = 0
        self._peers, self._topics = Numbering(1), Numbering()
        self._own: dict[int, int] = {}
        self._digests: Digests = np.zeros(0, np.uint64)
        self._profiles: dict[int, Profile] = {}
        self._crowded: set[int] = set()
        self.nodes: Nodes = nodes_of(np.array([me], np.uint64), from_rows([[]]), 1, settings)
        self.scratch: Scratch = scratch_of(1, 1)
        self._end = 0
        self.own = Profile.of(me, 0, address, self._digests, self.nodes.held, steps_of(self.nodes.gaps))
        """The peer's own profile."""

    def __len__(self) -> int:
        """How many others have a number."""
        return len(self._peers)

    @property
    def crowded(self) -> int:
        """Of how many that are known there is no room for the topics; they are given some when they are named again."""
        return len(self._crowded)

    def follow(self, digests: Iterable[int]) -> None:
        """Follow these topics and no others; rings that were kept are kept on."""
        before, (rings, held, gaps) = self._own, self.rings()
        numbers = sorted((self._topics.of(digest), digest) for digest in set(digests))
        self._own = {number: place for place, (number, _) in enumerate(numbers)}
        self._digests = np.array([digest for _, digest in numbers], np.uint64)
        self.nodes = self.nodes._replace(rings=np.full((len(numbers), rings.shape[1]), -1, np.int64))
        self._arrange()
        self.nodes.held[: len(numbers)], self.nodes.gaps[: len(numbers)] = 0, np.inf
        for number, place in self._own.items():
            if number in before:
                was = before[number]
                self.nodes.rings[place], self.nodes.held[place] = rings[was], held[was]
                self.nodes.gaps[place] = gaps[was]
        self.renew_profile()

    def topic(self, digest: int) -> int | None:
        """Return the number of a topic, if any peer that is known follows it."""
        return self._topics.get(digest)

    def own_place(self, digest: int) -> int | None:
        """Return where the ring of a topic is, if the peer follows it."""
        number = self._topics.get(digest)
        return None if number is None else self._own.get(number)

    def number(self, peer: int) -> int | None:
        """Return the number of the peer with an id, if it is known."""
        return ME if peer == self.id else self._peers.get(peer)

    def profile(self, number: int) -> Profile:
        """Return the profile behind a number."""
        return self.own if number == ME else self._profiles[number]

    def renew_profile(self) -> None:
        """Let the peer's own profile say what is so now; if that has changed, it is one of a later version.

        It is after a minute in any case: so whatever false profile of the peer is believed, it is not for longer.
        """
        order = np.argsort(self._digests)
        _, held, gaps = self.rings()
        topics, held, steps, last = self._digests[order], held[order], steps_of(gaps[order]), self.own
        is_same = np.array_equal(topics, last.topics) and np.array_equal(held, last.held)
        is_old = last.version < max(self._latest, self._now() - LONGEST_AHEAD_US)
        if is_old or not (is_same and np.array_equal(steps, last.steps)):
            version = max(self._now(), last.version + 1, self._latest)
            self.own = Profile.of(self.id, version, self.address, topics, held, steps)

    def rings(self) -> tuple[Int64, Held, Ways]:
        """Return copies of the peer's rings, and of what it says of them."""
        nodes, many = self.nodes, len(self._own)
        return nodes.rings.copy(), nodes.held[:many].copy(), nodes.gaps[:many].copy()

    def restore(self, rings: Int64, held: Held, gaps: Ways) -> None:
        """Let rings be as they were."""
        nodes, many = self.nodes, len(held)
        nodes.rings[:], nodes.held[:many], nodes.gaps[:many] = rings, held, gaps

    def set_back(self, ticks: int) -> None:
        """Let all times in views and notes be so much earlier; none is before 0."""
        nodes = self.nodes
        for part in (nodes.cyclon, nodes.vicinity, nodes.rings, nodes.gone):
            part[part >= 0] -= np.minimum(heard(part[part >= 0]), ticks) << 32

    def make_room(self, profiles: Sequence[Profile]) -> None:
        """See to it that these can be learned with none of them forgotten before it is in a view."""
        places = sum(len(profile.topics) for profile in profiles)
        if len(self._peers) + len(profiles) > self._most_peers() or self._end + places > MOST_PLACES:
            self._forget_unused()

    def can_be(self, profile: Profile, *, is_hearsay: bool = True) -> bool:
        """Whether a profile is of now or before, as clocks of peers agree: others could never be replaced."""
        return profile.version <= self._now() + (_HEARSAY_AHEAD_US if is_hearsay else LONGEST_AHEAD_US)

    def learn(self, profile: Profile, *, is_hearsay: bool = True) -> int:
        """Return the number of a peer, with its profile known, unless a later one is.

        What a peer says of itself counts more than what others say of it, however late they claim that to be.
        """
        known = self.number(profile.id)
        if known == ME:
            self._outdo(profile)
            return ME
        if known is not None and not _is_news(profile, self._profiles[known], is_hearsay=is_hearsay):
            if known in self._crowded:
                self._place(known, self._profiles[known])
            return known
        if known is not None and not np.isin(self._profiles[known].topics, profile.topics).all():
            self._leave_but(known, profile.topics)
        number = self._peers.of(profile.id)
        if number >= len(self.nodes.ids):
            self._grow(number)
        self.nodes.ids[number] = profile.id
        self._profiles[number] = profile
        self._place(number, profile)
        return number

    def _outdo(self, profile: Profile) -> None:
        """See to it that the peer's next profile is later than one that others have of it, and is not its own."""
        if profile.version >= self.own.version and profile.packed != self.own.packed:
            self._latest = max(self._latest, profile.version + 1)

    def _now(self) -> int:
        return int(self._clock() * 1e6)

    def _leave_but(self, number: int, topics: Digests) -> None:
        """Take a peer out of the rings of topics other than these. Nothing else may place it in the others again."""
        rings, held, gaps = self.rings()
        leave_rings(self.nodes, ME, number)
        kept = np.flatnonzero(np.isin(self._digests, topics))
        self.nodes.rings[kept], self.nodes.held[kept], self.nodes.gaps[kept] = rings[kept], held[kept], gaps[kept]

    def _most_peers(self) -> int:
        """Twice as many as views and notes of the peer can have, so that it is seldom looked through."""
        nodes = self.nodes
        return 2 * sum(part.size for part in (nodes.cyclon, nodes.vicinity, nodes.rings, nodes.gone, nodes.sent)) + 64

    def _forget_unused(self) -> None:
        """Release the numbers that no array has, and those of topics that nobody follows any more."""
        nodes = self.nodes
        entries = [part[part >= 0] for part in (nodes.cyclon, nodes.vicinity, nodes.rings, nodes.gone)]
        used = {int(number) for part in entries for number in np.unique(peer_in(part))}
        used |= set(nodes.asked.ravel().tolist()) | set(nodes.sent.ravel().tolist())
        for number in self._peers.keep(used):
            del self._profiles[number]
            nodes.bounds[number] = 0
            self._crowded.discard(number)
        self._arrange_if_worth(0)

    def _grow(self, number: int) -> None:
        ids, bounds = with_room(self.nodes.ids, number + 1), self.nodes.bounds
        more = np.zeros((len(ids), 2), np.int64)
        more[: len(bounds)] = bounds
        self.nodes = self.nodes._replace(ids=ids, bounds=more)
        self._fit_scratch()

    def _place(self, number: int, profile: Profile) -> None:
        """Write the topics of a peer where there is room for them; if there is none, it follows nothing for now."""
        count = len(profile.topics)
        begin, end = self.nodes.bounds[number]
        if end - begin < count:
            self.nodes.bounds[number] = 0
            if self._end + count > len(self.nodes.topics):
                self._arrange_if_worth(count)
            if self._end + count > len(self.nodes.topics):
                self._crowded.add(number)
                return
            begin, self._end = self._end, self._end + count
        self._crowded.discard(number)
        numbers, order = self._numbered(profile)
        self.nodes.topics[begin : begin + count] = numbers[order]
        self.nodes.held[begin : begin + count] = profile.held[order]
        self.nodes.gaps[begin : begin + count] = gaps_of(profile.steps[order])
        self.nodes.bounds[number] = begin, begin + count
        if len(self._topics) > 2 * self._end + 256:
            # Peers whose topics change in place need no room, but each topic has a number.
            self._arrange()

    def _numbered(self, profile: Profile) -> tuple[Int32, Int64]:
        """Return the numbers of a peer's topics, and in what order they rise."""
        numbers = np.array([self._topics.of(digest) for digest in profile.topics.tolist()], np.int32)
        if self._topics.end > len(self.scratch.wanted):
            self._fit_scratch()
        return numbers, np.argsort(numbers)

    def _used(self) -> int:
        """How many places are somebody's."""
        bounds = self.nodes.bounds
        return len(self._own) + int((bounds[1:, 1] - bounds[1:, 0]).sum())

    def _arrange_if_worth(self, more: int) -> None:
        """Find room for `more`, if there may be so much; not for a few places time and again: it takes its time."""
        used, now = self._used(), len(self.nodes.topics)
        grows = more > 0 and now < MOST_PLACES
        if used + more <= MOST_PLACES and (grows or self._end - used >= now // _WORTH):
            self._arrange(more)

    def _arrange(self, more: int = 0) -> None:
        """Move the topics of all together, one's own first, with room for `more` and as much again."""
        nodes, many = self.nodes, self._used()
        room = max(min(2 * (many + more) + 256, MOST_PLACES), many)
        topics, held = np.zeros(room, np.int32), np.zeros(room, np.int8)
        gaps: Ways = np.full((room, 2), np.inf, np.float32)
        bounds: Int64 = np.zeros_like(nodes.bounds)
        end = len(self._own)
        topics[:end], bounds[ME] = list(self._own), (0, end)
        kept = min(end, len(nodes.held))
        held[:kept], gaps[:kept] = nodes.held[:kept], nodes.gaps[:kept]
        for number in np.flatnonzero(nodes.bounds[:, 1] > nodes.bounds[:, 0]).tolist():
            if number == ME:
                continue
            begin, count = nodes.bounds[number, 0], nodes.bounds[number, 1] - nodes.bounds[number, 0]
            topics[end : end + count] = nodes.topics[begin : begin + count]
            held[end : end + count] = nodes.held[begin : begin + count]
            gaps[end : end + count] = nodes.gaps[begin : begin + count]
            bounds[number] = end, end + count
            end += count
        self._end = end
        self.nodes = nodes._replace(bounds=bounds, topics=topics, held=held, gaps=gaps)
        self._topics.keep(set(topics[:end].tolist()))
        self._fit_scratch()

    def _fit_scratch(self) -> None:
        self.scratch = scratch_of(len(self.nodes.ids), with_room_for(self._topics.end))


def _is_news(profile: Profile, last: Profile, *, is_hearsay: bool) -> bool:
    return profile.version > last.version if is_hearsay else profile.packed != last.packed


def with_room_for(many: int) -> int:
    """Return the next power of two, so that what grows one by one seldom does.

    >>> with_room_for(5), with_room_for(8)
    (8, 16)
    """
    return 1 << int(many).bit_length()
