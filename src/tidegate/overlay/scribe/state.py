"""What peers know, as flat arrays: a peer is a row, and a step changes no row but its own.

As with PolderCast (`overlay/poldercast/state.py`), a simulation has a row for every peer, and a peer on a socket would
have row 0 and numbers for those that it has heard of.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64
from tidegate.growth import with_room
from tidegate.overlay.scribe.circle import BASE, DIGITS
from tidegate.overlay.scribe.settings import Settings

Ids: TypeAlias = NDArray[np.uint64]
NOBODY: Final = -1

PEER, TOPIC, PARENT, HEARD, NEXT, CHILDREN, FOLLOWS, DEPTH = range(8)
"""The columns of a member: whose it is; of which tree; its parent, `NOBODY` for a root; when that has answered last;
the next member of the same peer, or the next free place; the first of its links; whether its peer follows the topic, or
is a relay; how many steps it is below the rendezvous, by the parent's last answer."""
CHILD, REFRESHED, FURTHER = range(3)
"""The columns of a link: a child; when that has written last; the next link of the same member, or the next free
place."""
MEMBERS, LINKS, USED_MEMBERS, USED_LINKS, FREE_MEMBER, FREE_LINK = range(6)
"""The counts: members and links; places that were ever used; the first of those that are free again."""
FIRST, MANY = range(2)
"""The columns of a peer's list: its first member, and how many it has."""


class Nodes(NamedTuple):
    """Pastry's part."""

    ids: Ids
    """By peer, where on the circle it is."""
    clock: Int64
    """The cycles that a peer has lived through."""
    leaves: Int32
    """The peers next to it: those behind, nearest first, in one half of the columns, those before in the other. A
    network that they go all around has peers in both."""
    table: Int32
    """By level and digit: somebody that shares so many digits with the peer, and has this one next."""


class Trees(NamedTuple):
    """Scribe's part. A member is a peer's place in the tree of a topic, whether it follows it or not."""

    keys: Ids
    """By topic, where on the circle its rendezvous is."""
    topics: Csr
    """By peer, what it follows, rising."""
    lists: Int32
    members: Int32
    links: Int32
    places: Int32
    """A hash table: where the member is of a peer and a topic."""
    counts: Int64


def nodes_of(ids: Ids, rows: int, settings: Settings) -> Nodes:
    """Make the state of the first `rows` of some peers; they know nobody."""
    return Nodes(
        ids=ids,
        clock=np.zeros(rows, np.int64),
        leaves=np.full((rows, settings.leaves), NOBODY, np.int32),
        table=np.full((rows, DIGITS, BASE), NOBODY, np.int32),
    )


def trees_of(keys: Ids, topics: Csr, room: int = 1024) -> Trees:
    """Make the state of peers that are in no tree; `room`, a power of two, is how many members they may have at
    first."""
    counts = np.zeros(6, np.int64)
    counts[[FREE_MEMBER, FREE_LINK]] = NOBODY
    return Trees(
        keys=keys,
        topics=topics,
        lists=np.tile(np.array([NOBODY, 0], np.int32), (topics.rows, 1)),
        members=np.full((room, 8), NOBODY, np.int32),
        links=np.full((room, 3), NOBODY, np.int32),
        places=np.full(2 * room, NOBODY, np.int32),
        counts=counts,
    )


def with_more_room(trees: Trees) -> Trees:
    """Return the same trees with twice the room; the table of places is empty, and has to be filled again."""
    return trees._replace(
        members=with_room(trees.members, 2 * len(trees.members)),
        links=with_room(trees.links, 2 * len(trees.links)),
        places=np.full(2 * len(trees.places), NOBODY, np.int32),
    )
