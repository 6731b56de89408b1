"""The last event of topics of presence, kept while a site is down. What came in its last moment is lost."""

import json
from collections.abc import Iterable

from sqlalchemy import or_, select

from tidegate.deliver.database import Database
from tidegate.deliver.event import Event
from tidegate.deliver.schema import LAST_EVENTS


class LastEvents:
    """Those of one site in a database. May be shared by threads."""

    def __init__(self, database: Database, site: str) -> None:
        """Use a database."""
        self._database, self._site = database, site

    def read(self, limit: int) -> list[Event]:
        """The newest of them, the oldest first."""
        newest = select(LAST_EVENTS.c.body).where(LAST_EVENTS.c.site == self._site).order_by(LAST_EVENTS.c.at.desc())
        with self._database.reading() as connection:
            bodies = connection.execute(newest.limit(limit)).scalars().all()
        return [Event.from_json("event", json.loads(body)) for body in reversed(bodies)]

    def keep(self, events: Iterable[Event]) -> None:
        """Let these be the last of their topics, unless a later one is known."""
        rows = [
            {"site": self._site, "topic": event.topic, "at": event.at, "body": json.dumps(event.to_json())}
            for event in sorted(events, key=lambda event: event.topic)  # so that no two wait for each other
        ]
        if not rows:
            return
        made = self._database.insert(LAST_EVENTS)
        later = {
            "set_": {"at": made.excluded.at, "body": made.excluded.body},
            "where": LAST_EVENTS.c.at <= made.excluded.at,
        }
        with self._database.writing() as connection:
            connection.execute(made.on_conflict_do_update(index_elements=["site", "topic"], **later), rows)

    def tidy(self, most: int) -> None:
        """Forget all but the newest; those of one moment go together."""
        own, at = LAST_EVENTS.c.site == self._site, LAST_EVENTS.c.at
        oldest = select(at).where(own).order_by(at.desc()).offset(most - 1).limit(1).scalar_subquery()
        with self._database.writing() as connection:
            connection.execute(LAST_EVENTS.delete().where(own, at < oldest))

    def forget(self, owner: str) -> None:
        """Forget the topics of a subscriber: the one that is called so, and those that begin with that and a slash."""
        # Texts compare by their bytes, and 0 comes after the slash.
        topic = LAST_EVENTS.c.topic
        own = or_(topic == owner, (topic >= f"{owner}/") & (topic < f"{owner}0"))
        with self._database.writing() as connection:
            connection.execute(LAST_EVENTS.delete().where(LAST_EVENTS.c.site == self._site, own))
