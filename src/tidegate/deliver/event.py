"""What happened, as rules see it: a post, what it is about, and the subscriptions it satisfies.

In the inbox of a subscriber it is a notification.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.deliver.fields import as_moment, fields, items, microseconds, text, texts
from tidegate.errors import ConfigError

PRESENCE = "presence"
"""The type of topics of which only the last event counts, and nothing is persisted."""


@dataclass(frozen=True)
class Reason:
    """One subscription that a post satisfies: its tags, and when it ends (microseconds)."""

    subscription: str
    tags: frozenset[str] = frozenset()
    expires: int | None = None

    @classmethod
    def from_json(cls, where: str, value: object) -> "Reason":
        """Read {"subscription": ID, "tags": […], "expires": TIME}, or the id alone."""
        if isinstance(value, str):
            return cls(text(where, value))
        given = fields(where, value, ("subscription", "tags", "expires"))
        return cls(
            text(f"{where}.subscription", given.get("subscription")),
            texts(f"{where}.tags", given.get("tags", [])),
            None if given.get("expires") is None else microseconds(f"{where}.expires", given["expires"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Write what `from_json` reads."""
        ends = {} if self.expires is None else {"expires": as_moment(self.expires).isoformat()}
        return {"subscription": self.subscription, "tags": sorted(self.tags), **ends}


@dataclass(frozen=True)
class Event:
    """A post for one subscriber. `at` is when it was written (microseconds); `post` has its columns."""

    topic: str
    topic_type: str
    at: int
    post: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    is_offloaded: bool = False
    """Whether its topic was not served in real time when it came."""

    @classmethod
    def of(
        cls,
        topic: str,
        topic_type: str,
        at: int,
        post: Mapping[str, Any],
        reasons: Iterable[Mapping[str, Any]],
        known: Mapping[str, Reason],
        *,
        is_offloaded: bool = False,
    ) -> "Event":
        """What a notification tells of; `known` has subscriptions of which more than their ids is known."""
        named = [reason.get("subscription") for reason in reasons]
        found = tuple(known.get(name) or Reason(name) for name in named if name is not None)
        return cls(topic, topic_type, at, post, found, is_offloaded)

    @property
    def account(self) -> str | None:
        """Who wrote the post, if that is known."""
        author = self.post.get("author")
        return author if isinstance(author, str) else None

    @classmethod
    def from_json(cls, where: str, value: object) -> "Event":
        """Read the object that `to_json` writes."""
        given = fields(where, value, ("topic", "topic_type", "at", "post", "reasons"))
        post = given.get("post", {})
        if not isinstance(post, dict):
            raise ConfigError(f"{where}.post is {post!r:.80}: give a JSON object, the post's columns")
        return cls(
            text(f"{where}.topic", given.get("topic")),
            text(f"{where}.topic_type", given.get("topic_type")),
            microseconds(f"{where}.at", given.get("at")),
            post,
            tuple(
                Reason.from_json(f"{where}.reasons[{number}]", reason)
                for number, reason in enumerate(items(f"{where}.reasons", given.get("reasons", [])))
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Write it as plain values."""
        return {
            "topic": self.topic,
            "topic_type": self.topic_type,
            "at": as_moment(self.at).isoformat(),
            "post": dict(self.post),
            "reasons": [reason.to_json() for reason in self.reasons],
        }
