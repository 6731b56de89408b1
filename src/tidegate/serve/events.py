"""What a live feed carries. An event is encoded once, however many connections it goes to."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tidegate.deliver.event import Event as Fleeting
from tidegate.deliver.notification import Notification

HEARTBEAT: Final = b":\n\n"
"""A comment, in the terms of server-sent events: it says that the connection is alive, and to nobody else anything."""


@dataclass(frozen=True)
class Event:
    """Something that a subscriber is told now; with a cursor if it is in the inbox, too."""

    kind: str
    data: str
    """JSON."""
    cursor: int | None = None

    @cached_property
    def sse(self) -> bytes:
        """As a server-sent event. JSON has no line breaks but between its tokens, and this has none there."""
        id_line = "" if self.cursor is None else f"id: {self.cursor}\n"
        return f"{id_line}event: {self.kind}\ndata: {self.data}\n\n".encode()

    @cached_property
    def message(self) -> str:
        """As a message of a WebSocket."""
        id_member = "" if self.cursor is None else f'"id":{self.cursor},'
        return f'{{{id_member}"event":"{self.kind}","data":{self.data}}}'


def notification_event(notification: Notification) -> Event:
    """A notification as an event."""
    # Not `asdict`, which copies a post, field by field, before it is written.
    return Event("notification", as_json(vars(notification)), notification.cursor)


def presence_event(event: Fleeting) -> Event:
    """What happens to a topic now, as an event; it is in no inbox."""
    return Event("presence", as_json(event.post))


def ready_event(cursor: int) -> Event:
    """The first event of a feed: who comes back with its cursor has missed nothing, even if nothing else came."""
    return Event("ready", as_json({"cursor": cursor}), cursor)


def as_json(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
