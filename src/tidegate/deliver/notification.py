"""What a subscriber is told: a post, and why."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A post about a topic, as the history of the topic keeps it."""

    cursor: int
    """Later entries have greater ones."""
    topic: str
    topic_type: str
    at: int
    """When the post was written: microseconds since 1970, UTC."""
    id: str
    """The post's."""
    post: dict[str, Any]
    """The post's columns."""


@dataclass(frozen=True)
class Notification(Entry):
    """An entry that a subscriber is told of, once, whatever number of reasons there are."""

    subscriber: str
    reasons: tuple[dict[str, Any], ...]
    """`subscription` of each, and of a ranked feed `window` and `rank`."""
    is_read: bool


def entry_of(row: Any) -> Entry:
    """The entry in a row of the history, joined with its post."""
    return Entry(row.cursor, row.topic, row.topic_type, row.at, row.post, json.loads(row.body))


def notification_of(row: Any) -> Notification:
    """The notification in a row of the inbox, joined with its post."""
    reasons = tuple(json.loads(row.reasons))
    post = json.loads(row.body)
    return Notification(
        row.cursor, row.topic, row.topic_type, row.at, row.post, post, row.subscriber, reasons, bool(row.is_read)
    )
