"""Of what those who are online are told at once: what they have not muted, tagged as they want, as the rules decide.

All of it is in the inbox. By mutes, tags and rules the engine of delivery decides alike about what is sent.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tidegate.deliver.audience import stored_preferences
from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.deciding import Known
from tidegate.deliver.event import Event, Reason
from tidegate.deliver.fields import as_microseconds
from tidegate.deliver.notification import Notification
from tidegate.deliver.planning import plan
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.subscriber import Subscriber
from tidegate.deliver.watched_rules import WatchedRules
from tidegate.serve.standing_rows import StandingRows


class Wishes:
    """Asked by threads, as it reads the database."""

    def __init__(
        self,
        database: Database,
        rules: WatchedRules,
        known: Known,
        kinds_of: Callable[[str], frozenset[str]],
        clock: Clock = now,
    ) -> None:
        """Of subscriptions `known` tells the tags; `kinds_of` tells on what kinds of devices a subscriber is here."""
        self._database, self._rules, self._known, self._kinds_of = database, rules, known, kinds_of
        self._clock = clock

    def heard(self, notifications: Sequence[Notification]) -> list[Notification]:
        """Those that their subscribers are to be told live, in their order."""
        if not notifications:
            return []
        rules, moment = self._rules.current(), self._clock()
        with self._database.reading() as connection:
            wishes = stored_preferences(connection, {each.subscriber for each in notifications})
        known = self._known_of(notifications, wishes)
        heard = []
        for each in notifications:
            kinds = self._kinds_of(each.subscriber)
            subscriber = Subscriber(each.subscriber, kinds, kinds, wishes.get(each.subscriber, Preferences()))
            event = Event.of(each.topic, each.topic_type, each.at, each.post, each.reasons, known)
            if "live" in plan(event, subscriber, rules, (), moment).channels:
                heard.append(each)
        return heard

    def _known_of(
        self, notifications: Sequence[Notification], wishes: Mapping[str, Preferences]
    ) -> Mapping[str, Reason]:
        restricted = [each for each in notifications if each.subscriber in wishes and wishes[each.subscriber].tags]
        names = {reason["subscription"] for each in restricted for reason in each.reasons} - {None}
        return self._known(names) if names else {}


def known_from(rows: StandingRows) -> Known:
    """What a store knows of subscriptions."""

    def known(ids: Collection[str]) -> Mapping[str, Reason]:
        return {row["id"]: _reason(row) for row in rows.some(ids)}

    return known


def _reason(row: Mapping[str, Any]) -> Reason:
    ends = None if row["expires"] is None else as_microseconds(row["expires"])
    return Reason(row["id"], frozenset(row["tags"] or ()), ends)
