"""Retention that runs by itself: now and then, and by one process of all that share the database."""

from collections.abc import Callable
from typing import Final

from sqlalchemy import select

from tidegate.deliver.clock import SECOND, Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.retention import Forgotten, Retention
from tidegate.deliver.schema import PROGRESS

_TURN: Final = PROGRESS.c.name == "retention"
# How often it is looked whether it is time, which another may have put off.
_LOOK: Final = 60 * SECOND


class Upkeep:
    """Takes turns at forgetting what is too old. To be asked by one thread; figures may be read by others.

    A turn is a time in the database, which whoever finds it past puts off, as it does again and again while it is at
    work. So nobody begins meanwhile; and if it dies, somebody does when the time is past, where it has ended.
    """

    def __init__(
        self, database: Database, retention: Retention, clock: Clock = now, *, every_s: float = 3600.0
    ) -> None:
        """Forget every `every_s` seconds."""
        self._database, self._retention, self._clock = database, retention, clock
        self._every = round(every_s * SECOND)
        self._look_at = 0
        self.forgotten = Forgotten()
        """By this process, since it began."""
        self.is_running = False
        self.finished: int | None = None
        """When this process was last done with all that was too old (microseconds)."""

    def round(self, go_on: Callable[[], bool] = lambda: True) -> Forgotten:
        """Forget what is too old, if it is time and nobody else does; ends early when `go_on` says no."""
        moment = self._clock()
        if moment < self._look_at or not self._take(moment):
            return Forgotten()
        before, self.is_running = self.forgotten, True
        try:
            done = self._retention.run(lambda so_far: self._noted(before + so_far) and go_on())
            is_whole = go_on()
        finally:
            self.is_running = False
        self.forgotten = before + done
        if is_whole:
            self.finished = self._clock()
        self._next_turn(self._every if is_whole else 0)
        return done

    def _take(self, moment: int) -> bool:
        """Whether it is time; then it is this process's turn."""
        with self._database.reading() as connection:
            due = int(connection.execute(select(PROGRESS.c.at).where(_TURN)).scalar_one())
        if moment < due:
            self._look_at = min(due, moment + _LOOK)
            return False
        return self._next_turn(self._every, due)

    def _next_turn(self, after: int, due: int | None = None) -> bool:
        """Let it be so long from now; if it was `due` at a time, only if nobody has put it off since."""
        self._look_at = self._clock() + after
        unchanged = [] if due is None else [PROGRESS.c.at == due]
        with self._database.writing() as connection:
            moved = PROGRESS.update().where(_TURN, *unchanged).values(at=self._look_at)
            return connection.execute(moved).rowcount > 0

    def _noted(self, forgotten: Forgotten) -> bool:
        self.forgotten = forgotten
        if self._clock() > self._look_at - self._every // 2:
            self._next_turn(self._every)
        return True
