"""Closing digests: what has waited for one until its time becomes an order to send it, once."""

from tidegate.deliver.addressing import orders
from tidegate.deliver.audience import stored_preferences
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.digest_queue import DigestQueue
from tidegate.deliver.outbox import Order, Outbox
from tidegate.deliver.planning import DIGESTING


class Digesting:
    """Closes digests that are due. Any number of processes may."""

    def __init__(self, database: Database, channels: frozenset[str], clock: Clock = now, at_once: int = 500) -> None:
        """Hand them to those of `DIGESTING` that are served; a digest of more than `at_once` comes in several."""
        self._database, self._channels, self._clock, self._at_once = database, channels, clock, at_once
        self._queue, self._outbox = DigestQueue(database), Outbox(database, clock)

    def round(self) -> int:
        """Close some; return how many. They leave the queue and become orders in one transaction.

        A digest takes the first channel that its subscriber has by now. For who has none any more, all is in the inbox.
        """
        digests = self._queue.due(self._clock(), self._at_once)
        if not digests:
            return 0
        closed, ordered = 0, list[Order]()
        with self._database.writing() as connection:
            preferences = stored_preferences(connection, {digest.subscriber for digest in digests}, hold=True)
            for digest in digests:
                taken = self._queue.take_within(connection, digest)
                if taken is None:
                    continue
                closed += 1
                wishes = preferences.get(taken.subscriber)
                served = (channel for channel in DIGESTING if channel in self._channels)
                channel = next((one for one in served if wishes is not None and wishes.lacks(one) is None), None)
                if wishes is not None and channel is not None:
                    ordered += orders(taken.subscriber, wishes, channel, taken.key, taken.cursors)
            self._outbox.add_within(connection, ordered)
        return closed
