"""What one peer knows, as the arrays of the protocol, and whom the numbers in them stand for.

The peer itself is number 0, and has the only row; others are numbered from 1 on as they are heard of. A number is given
again once no view has it: so what is remembered is bounded by the sizes of views, whoever writes, and how often.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Int32, Int64, from_rows
from tidegate.deliver.ends import Address
from tidegate.growth import with_room
from tidegate.overlay.node.numbering import Numbering
from tidegate.overlay.node.profile import Digests, Held, Profile
from tidegate.overlay.poldercast.entries import peer_in, remove
from tidegate.overlay.poldercast.ringcast import pair_of
from tidegate.overlay.poldercast.settings import Settings
from tidegate.overlay.poldercast.state import Nodes, Scratch, nodes_of, scratch_of

ME: Final = 0
MOST_PLACES: Final = 1 << 18
"""Topics of all peers together that are remembered."""


class Directory:
    """Owned by one peer: kernels change `nodes`, and nothing else does but the methods here."""

    def __init__(self, me: int, address: Address, settings: Settings) -> None:
        """The peer with this id follows nothing and knows nobody."""
        self.id, self.address = me, address
        self._peers, self._topics = Numbering(1), Numbering()
        self._own: dict[int, int] = {}
        self._digests: Digests = np.zeros(0, np.uint64)
        self._profiles: dict[int, Profile] = {}
        self.crowded = 0
        """Profiles whose topics there was no room for."""
        self.nodes: Nodes = nodes_of(np.array([me], np.uint64), from_rows([[]]), 1, settings)
        self.scratch: Scratch = scratch_of(1, 1)
        self._end = 0
        self.own = Profile.of(me, 0, address, self._digests, np.zeros(0, np.int8))
        """The peer's own profile."""

    def __len__(self) -> int:
        """How many others have a number."""
        return len(self._peers)

    def follow(self, digests: Iterable[int]) -> None:
        """Follow these topics and no others; rings that were kept are kept on."""
        before, rings, held = self._own, self.nodes.rings, self.nodes.held
        numbers = sorted((self._topics.of(digest), digest) for digest in set(digests))
        self._own = {number: place for place, (number, _) in enumerate(numbers)}
        self._digests = np.array([digest for _, digest in numbers], np.uint64)
        self.nodes = self.nodes._replace(rings=np.full((len(numbers), rings.shape[1]), -1, np.int64))
        self._arrange()
        self.nodes.held[: len(numbers)] = 0
        for number, place in self._own.items():
            if number in before:
                self.nodes.rings[place] = rings[before[number]]
                self.nodes.held[place] = held[before[number]]
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
        """Let the peer's own profile say what is so now; if that has changed, it is one of a later version."""
        order = np.argsort(self._digests)
        digests, held = self._digests[order], self.nodes.held[: len(order)][order]
        if not (_same(self.own.topics, digests) and _same(self.own.held, held)):
            version = max(int(self.nodes.clock[ME]), self.own.version + 1)
            self.own = Profile.of(self.id, version, self.address, digests, held)

    def make_room(self, many: int) -> None:
        """See to it that so many profiles can be learned with none of them forgotten before it is in a view."""
        if len(self._peers) + many > self._most_peers():
            self._forget_unused()

    def learn(self, profile: Profile) -> int:
        """Return the number of a peer, with its profile known, unless a later one is."""
        known = self.number(profile.id)
        if known is not None and (known == ME or self._profiles[known].version >= profile.version):
            return known
        number = self._peers.of(profile.id)
        if number >= len(self.nodes.ids):
            self._grow(number)
        self.nodes.ids[number] = profile.id
        self._profiles[number] = profile
        self._place(number, profile)
        if known is not None:
            self._leave_rings(number)
        return number

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
        self._arrange()

    def _grow(self, number: int) -> None:
        ids, bounds = with_room(self.nodes.ids, number + 1), self.nodes.bounds
        more = np.zeros((len(ids), 2), np.int64)
        more[: len(bounds)] = bounds
        self.nodes = self.nodes._replace(ids=ids, bounds=more)
        self._fit_scratch()

    def _place(self, number: int, profile: Profile) -> None:
        """Write the topics of a peer where there is room for them; if there is none anywhere, it follows nothing."""
        count = len(profile.topics)
        begin, end = self.nodes.bounds[number]
        if end - begin < count:
            self.nodes.bounds[number] = 0
            if self._end + count > len(self.nodes.topics):
                self._arrange(count)
            if self._end + count > len(self.nodes.topics):
                self.crowded += 1
                return
            begin, self._end = self._end, self._end + count
        numbers, held = self._numbered(profile)
        self.nodes.topics[begin : begin + count] = numbers
        self.nodes.held[begin : begin + count] = held
        self.nodes.bounds[number] = begin, begin + count

    def _leave_rings(self, number: int) -> None:
        """Take a peer out of the rings of topics that it has ceased to follow."""
        rings, held, half = self.nodes.rings, self.nodes.held, self.nodes.rings.shape[1] // 2
        for place in np.unique(np.nonzero((rings >= 0) & (peer_in(rings) == number))[0]).tolist():
            if pair_of(self.nodes, number, self.nodes.topics[place]) < 0:
                held[place] -= remove(rings[place, :half], number) + remove(rings[place, half:], number)

    def _numbered(self, profile: Profile) -> tuple[Int32, Held]:
        numbers = np.array([self._topics.of(digest) for digest in profile.topics.tolist()], np.int32)
        if self._topics.end > len(self.scratch.wanted):
            self._fit_scratch()
        order = np.argsort(numbers)
        return numbers[order], profile.held[order]

    def _arrange(self, more: int = 0) -> None:
        """Move the topics of all together, one's own first, with room for `more` and as much again."""
        nodes = self.nodes
        many = len(self._own) + int((nodes.bounds[1:, 1] - nodes.bounds[1:, 0]).sum())
        room = max(min(2 * (many + more) + 256, MOST_PLACES), many)
        topics, held = np.zeros(room, np.int32), np.zeros(room, np.int8)
        bounds: Int64 = np.zeros_like(nodes.bounds)
        end = len(self._own)
        topics[:end], bounds[ME] = list(self._own), (0, end)
        kept = min(end, len(nodes.held))
        held[:kept] = nodes.held[:kept]
        for _, number in self._peers:
            begin, count = nodes.bounds[number, 0], nodes.bounds[number, 1] - nodes.bounds[number, 0]
            topics[end : end + count] = nodes.topics[begin : begin + count]
            held[end : end + count] = nodes.held[begin : begin + count]
            bounds[number] = end, end + count
            end += count
        self._end = end
        self.nodes = nodes._replace(bounds=bounds, topics=topics, held=held)
        self._topics.keep(set(topics[:end].tolist()))
        self._fit_scratch()

    def _fit_scratch(self) -> None:
        self.scratch = scratch_of(len(self.nodes.ids), with_room_for(self._topics.end))


def with_room_for(many: int) -> int:
    """Return the next power of two, so that what grows one by one seldom does.

    >>> with_room_for(5), with_room_for(8)
    (8, 16)
    """
    return 1 << int(many).bit_length()


def _same(one: NDArray[np.generic] | Digests, other: NDArray[np.generic]) -> bool:
    return len(one) == len(other) and bool((one == other).all())
