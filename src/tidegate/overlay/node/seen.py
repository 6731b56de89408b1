"""Which events came already: the last so many are remembered."""

from collections import OrderedDict
from typing import Final

_MOST: Final = 1 << 16


class Seen:
    """A set of ids, of which the first to come is the first to go."""

    def __init__(self, most: int = _MOST) -> None:
        """Remember so many at most."""
        self._ids: OrderedDict[bytes, None] = OrderedDict()
        self._most = most

    def __contains__(self, id_: bytes) -> bool:
        """Whether it is remembered."""
        return id_ in self._ids

    def add(self, id_: bytes) -> bool:
        """Remember an id; return whether it is new.

        >>> seen = Seen(2)
        >>> [seen.add(id_) for id_ in (b"a", b"b", b"a", b"c", b"a")]
        [True, True, False, True, True]
        """
        if id_ in self._ids:
            return False
        self._ids[id_] = None
        if len(self._ids) > self._most:
            self._ids.popitem(last=False)
        return True
