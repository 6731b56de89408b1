"""Offloading of a running job: which rows for the inbox are told in real time, and who takes the others.

A row is a match for a subscriber; its topic is the column that was named, or what the inbox says it is about: the topic
that the post names, or else the subscription.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.capacity.live_topics import LiveTopics
from tidegate.capacity.offloading import Goal, Rule
from tidegate.errors import ConfigError
from tidegate.spark.peers import Peers, PeerSettings

Report = Callable[[Mapping[str, int]], None]


class Elsewhere(Protocol):
    """Takes what is not told in real time. Made with the settings of a job, by the driver."""

    handed_over: int
    """Rows that somebody else has taken since the start, whether or not they wait in the inbox as well."""

    def open(self) -> None:
        """Be ready, or refuse what cannot be; once or more, before the first batch or with it."""
        ...

    def hand_over(self, rows: pa.Table, query: str, batch: int) -> pa.Table:
        """Take rows as the inbox takes them, each with its topic's name in `served_by`; return those for the inbox.

        They wait there, and are told nobody. Nothing may be lost: what is not surely taken is returned. A batch may
        come again after a crash, with the same rows, though not necessarily the same choice of them.
        """
        ...

    def close(self) -> None:
        """End, when the job does."""
        ...


class InInbox:
    """Lets all of them wait in the inbox."""

    handed_over = 0

    def open(self) -> None:
        """There is nothing to be done."""

    def hand_over(self, rows: pa.Table, query: str, batch: int) -> pa.Table:
        """Return all rows."""
        return rows

    def close(self) -> None:
        """There is nothing to be done."""


_POSITION: Final = "position"
INBOX, OVERLAY = TO = ("inbox", "overlay")
"""Who can take what is offloaded."""


@dataclass(frozen=True)
class OffloadSettings:
    """When and where to a job offloads."""

    to: str
    """One of `TO`."""
    capacity: int
    """Notifications that can be told in real time in a window."""
    window_s: float = 3600.0
    satisfied_by: int = 20
    """So many in a window satisfy a subscriber (τ)."""
    goal: str = Goal.SATISFACTION
    by: str | None = None
    """The column of posts that says their topic."""
    peers: PeerSettings | None = None
    """By whom the overlay is joined, if that takes what is offloaded."""

    def __post_init__(self) -> None:
        """Refuse what nobody can do."""
        if self.to not in TO:
            raise ConfigError(f"nothing can be offloaded to {self.to!r}: choose one of {', '.join(TO)}")
        if self.to == OVERLAY and self.peers is None:
            raise ConfigError("to offload to the overlay, name a peer that is there by --overlay-join HOST:PORT")
        if self.goal not in list(Goal):
            raise ConfigError(f"no goal is called {self.goal!r}: choose one of {', '.join(Goal)}")

    def elsewhere(self) -> Elsewhere:
        """Return who takes what is offloaded."""
        return InInbox() if self.to == INBOX or self.peers is None else Peers(self.peers)


class Offload:
    """Belongs to the driver of one job; a job that is started again begins without statistics."""

    def __init__(
        self, settings: OffloadSettings, elsewhere: Elsewhere | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Hand what is offloaded to `elsewhere`, unless the settings name who takes it."""
        self.settings, self._elsewhere = settings, elsewhere or settings.elsewhere()
        self.report: Report | None = None
        """Is told what stands after every batch."""
        rule = Rule(settings.satisfied_by, settings.capacity, Goal(settings.goal))
        self._topics = LiveTopics(rule, settings.window_s, clock)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without statistics and without who is told."""
        return Offload, (self.settings,)

    def open(self) -> None:
        """Be ready to offload, or refuse what cannot be."""
        self._elsewhere.open()

    def close(self) -> None:
        """End, when the job does."""
        self._elsewhere.close()

    def marked(self, rows: pa.Table, query: str, batch: int) -> pa.Table:
        """Return the rows of a batch for the inbox, with a column `offloaded`."""
        named = rows.drop_columns("served_by") if "served_by" in rows.column_names else rows
        named = named.append_column("served_by", _topics_of(rows)).append_column(_POSITION, pa.array(range(len(rows))))
        seen = named.select(["served_by", "subscriber", "id"]).rename_columns(["topic", "subscriber", "id"])
        is_live = pa.array(self._topics.batch(seen))
        later = self._elsewhere.hand_over(named.filter(pc.invert(is_live)), query, batch)
        if self.report is not None:
            self.report({**asdict(self._topics.standing), "handed_over": self._elsewhere.handed_over})
        marked = pa.concat_tables([_marked(named.filter(is_live), offloaded=False), _marked(later, offloaded=True)])
        return marked.sort_by(_POSITION).drop_columns(["served_by", _POSITION])


def _topics_of(rows: pa.Table) -> pa.ChunkedArray:
    """Return what each row is about, as a name."""
    named = [rows[name].cast(pa.string()) for name in ("served_by", "topic") if name in rows.column_names]
    own = [
        pc.binary_join_element_wise(f"{name}:", rows[name].cast(pa.string()), "")
        for name in ("subscription", "subscriber")
    ]
    return pc.coalesce(*named, *own, "")


def _marked(rows: pa.Table, *, offloaded: bool) -> pa.Table:
    return rows.append_column("offloaded", pa.array([offloaded] * len(rows), pa.bool_()))
