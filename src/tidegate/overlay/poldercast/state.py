"""What peers know, as flat arrays: a peer is a row, and kernels change no row but its own.

A simulated swarm has a row for every peer; a peer on a socket has one row, its own, and numbers the others that it has
heard of from 1 on. Either way a peer's row is its number among the profiles, so that one set of kernels serves both.
The arrays are few because kernels take them all: each costs Numba a count of references at every call.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.overlay.poldercast.settings import LONGEST_RING_VIEW, MODULES, Settings

Ids: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.int8]
Ways: TypeAlias = NDArray[np.float32]
BEGINNING: Final = 1 << 20
"""What a new peer's clock says: nobody was ever heard of before 0, however old the news."""
_GONE: Final = 32
"""How many that were found silent a peer remembers."""


class Nodes(NamedTuple):
    """The state of peers. It changes by kernels alone, which read no clock and draw no numbers but those they are
    given.

    The first five are profiles, by peer: whoever is known has one. The rest is by row. Addresses are no business of the
    protocol.
    """

    ids: Ids
    """Where on the circle of 64 bits a peer is."""
    bounds: Int64
    """Where its topics begin and end."""
    topics: Int32
    """Of every peer rising."""
    held: Counts
    """The priority of each of these topics: how many ring neighbours the peer has said that it has there. The fewer,
    the more it wants them."""
    gaps: Ways
    """By the same place, how far along the circle the next ones are, on either side, as far as the peer has said; all
    around the circle where there is nobody. It may be shorter than `topics`: of the rest nothing was said."""
    clock: Int64
    """The cycles that the peer has lived through, from `BEGINNING` on; or the time in ticks, where some make haste."""
    visits: Int64
    """How often Vicinity was to write: every other time to strangers. Clocks may count what they like."""
    cyclon: Int64
    vicinity: Int64
    """Views: rows of entries, in no order."""
    rings: Int64
    """By place of a topic, of those peers that have rows: entries of successors, nearest first, in one half of the
    columns, and of predecessors in the other."""
    asked: Int32
    """By module, whose answer is awaited."""
    sent: Int32
    """Whom the last Cyclon letter named: they make room for those of the answer."""
    gone: Int64
    """Entries of those last found silent, with the time of it: older news of them is none."""
    as_printed: bool
    """Whether all do what the thesis says and no more."""


class Scratch(NamedTuple):
    """Room to work in: nothing in it outlives a step."""

    marks: Int64
    """By peer, in which count and where it was found; the last one counts, so that marks need not be wiped."""
    found: Int64
    """Entries, each peer once."""
    keys: Int64
    order: Int32
    """Where the best of `found` are, by falling keys."""
    wanted: Int32
    """By topic, what a step wants to know of it; 0 between steps."""
    counted: Int32
    """By topic that is wanted, how many were counted; 0 between steps."""
    hits: Int32
    """Which of the wanted topics a peer follows."""
    along: Int32
    """By topic that is wanted, where in `found` its first and its last followers along the circle are."""
    reach: Ids
    """By topic that is wanted, how far along the circle its ring view goes, on either side."""
    weights: Int64
    """By topic, what it adds to the tally of a peer that follows it; 0 between steps."""


def nodes_of(ids: Ids, topics: Csr, rows: int, settings: Settings) -> Nodes:
    """Make the state of the first `rows` of some peers; they know nobody. The topics of a peer rise."""
    owned = int(topics.offsets[rows])
    return Nodes(
        ids=ids,
        bounds=np.stack((topics.offsets[:-1], topics.offsets[1:]), axis=1),
        topics=topics.values,
        held=np.zeros(len(topics.values), np.int8),
        gaps=np.full((len(topics.values), 2), np.inf, np.float32),
        clock=np.full(rows, BEGINNING, np.int64),
        visits=np.zeros(rows, np.int64),
        cyclon=np.full((rows, settings.cyclon.view), -1, np.int64),
        vicinity=np.full((rows, settings.vicinity.view), -1, np.int64),
        rings=np.full((owned, settings.rings.view), -1, np.int64),
        asked=np.full((rows, len(MODULES)), -1, np.int32),
        sent=np.full((rows, settings.cyclon.letter), -1, np.int32),
        gone=np.full((rows, _GONE), -1, np.int64),
        as_printed=settings.as_printed,
    )


def letters(settings: Settings) -> tuple[Int64, Int64, Int64]:
    """Return an empty letter for every module.

    A letter is a row of entries with ages for times: peers that one peer names to another. Whoever sends it is not
    among them; the receiver knows it, with an age of 0.
    """
    one, two, three = (np.full(part.letter, -1, np.int64) for part in settings.parts)
    return one, two, three


def scratch_of(peers: int, topics: int) -> Scratch:
    """Room to work in among so many peers and topics."""
    return Scratch(
        marks=np.zeros(peers + 1, np.int64),
        found=np.zeros(peers, np.int64),
        keys=np.zeros(peers, np.int64),
        order=np.zeros(peers, np.int32),
        wanted=np.zeros(topics, np.int32),
        counted=np.zeros(topics, np.int32),
        # One more than there can be: the place after the last hit is written too.
        hits=np.zeros(topics + 1, np.int32),
        along=np.zeros(topics * LONGEST_RING_VIEW, np.int32),
        reach=np.zeros((topics, 2), np.uint64),
        weights=np.zeros(topics, np.int64),
    )
