"""Rules in the database: every change is a version, and the newest is in force. A source for `WatchedRules`."""

import json

from sqlalchemy import func, select

from tidegate.deliver.clock import Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.rules import Rules, hybrid_rules
from tidegate.deliver.schema import RULES


class RuleTable:
    """The versions of the rules."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database; `clock` says when a version is made."""
        self._database, self._clock = database, clock

    def publish(self, rules: Rules) -> int:
        """Put rules into force; return their version."""
        newest = select(func.coalesce(func.max(RULES.c.version), 0) + 1).scalar_subquery()
        made = RULES.insert().values(version=newest, body=json.dumps(rules.to_json()), made=self._clock())
        with self._database.writing() as connection:
            connection.execute(made)
            return int(connection.execute(select(func.max(RULES.c.version))).scalar_one())

    def version(self) -> int:
        """The version in force; 0: none was ever published, and the usual rules are."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.coalesce(func.max(RULES.c.version), 0))).scalar_one())

    def text(self) -> str:
        """The rules in force."""
        query = select(RULES.c.body).order_by(RULES.c.version.desc()).limit(1)
        with self._database.reading() as connection:
            body = connection.execute(query).scalar()
        return json.dumps(hybrid_rules().to_json()) if body is None else str(body)
