"""What tests of delivery share: matches, and a clock that stands still until it is turned."""

import json
from typing import Any

from tidegate.deliver.notification import Notification

DAY = 86_400_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now


def match(subscriber: str | None, post: str, subscription: str | None = "storms", **more: Any) -> dict[str, Any]:
    """A match as it arrives at the inbox."""
    body = json.dumps({"id": post, "text": f"of {post}"})
    return {"subscriber": subscriber, "subscription": subscription, "id": post, "post": body, **more}


def posts(notifications: list[Notification]) -> list[str]:
    return [notification.id for notification in notifications]


def subscriptions(notification: Notification) -> list[str]:
    return [reason["subscription"] for reason in notification.reasons]
