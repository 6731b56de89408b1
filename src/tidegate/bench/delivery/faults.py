"""What came beside what had to come."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tidegate.errors import TidegateError


class Faults(NamedTuple):
    """How many things are missing, are there more often than they should be, and have no greater cursor than before."""

    lost: int = 0
    doubled: int = 0
    misplaced: int = 0

    @classmethod
    def of(cls, wanted: Iterable[str], found: Iterable[str], cursors: Sequence[int] = ()) -> "Faults":
        """Compare what was found, at cursors in the order in which it was.

        >>> Faults.of(["a", "b"], ["b", "b"], [4, 4])
        Faults(lost=1, doubled=1, misplaced=1)
        """
        # A mapping would be taken for counts.
        due, came = Counter(iter(wanted)), Counter(found)
        turns = sum(later <= earlier for earlier, later in pairwise(cursors))
        return cls((due - came).total(), (came - due).total(), turns)

    @classmethod
    def all(cls, faults: Iterable["Faults"]) -> "Faults":
        """Add them up."""
        return cls(*map(sum, zip(cls(), *faults, strict=True)))

    def demand_none(self, where: str) -> None:
        """Raise `TidegateError` if there are any."""
        if any(self):
            said = ", ".join(f"{count:,} {what}" for what, count in self._asdict().items() if count)
            raise TidegateError(f"wrong answers: {where}: {said}")
