"""What becomes of one event for one subscriber: mutes, tags, rules, quiet hours and caps, one after the other.

Pure: the clock and the times of recent notifications are given, what is to be kept is returned.
"""

from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple

from tidegate.deliver.caps import admit
from tidegate.deliver.event import Event, Reason
from tidegate.deliver.fields import as_microseconds, as_moment
from tidegate.deliver.local_time import time_zone
from tidegate.deliver.preferences import Preferences
from tidegate.deliver.rules import Rules
from tidegate.deliver.subscriber import Subscriber

SENT = ("push", "email", "webhook")
"""The channels that caps count: what goes out. The live feed and the inbox are looked at, not sent."""

RINGING = ("push", "email")
"""The channels that quiet hours hold back: what reaches a person. A program behind a webhook does not sleep."""

DIGESTING = ("email", "push", "webhook")
"""The channels that a digest may take; it takes the first of them that the subscriber has."""


class Send(NamedTuple):
    """One channel, not before a moment (microseconds)."""

    channel: str
    at: int


@dataclass(frozen=True)
class Plan:
    """What to do with an event: where it goes, the subscriptions that count, why, and the times that caps remember."""

    sends: tuple[Send, ...]
    reasons: tuple[Reason, ...]
    why: tuple[str, ...]
    recent: tuple[int, ...]
    is_ruled: bool = True
    """False where it never came to the rules: it is muted, or no subscription counts."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Where it goes."""
        return tuple(send.channel for send in self.sends)


def plan(event: Event, subscriber: Subscriber, rules: Rules, recent: tuple[int, ...], now: int) -> Plan:
    """Decide at `now` (microseconds); `recent` is what the plan before had as such for this subscriber.

    Nothing persisted is lost on the way: what quiet hours, a cap or offloading hold back is in the inbox, and in the
    digest if the subscriber has one. Without one, what came in quiet hours is sent together when they end.
    Several channels of one event are one notification.
    """
    preferences = subscriber.preferences
    objections = [preferences.objection(reason, now) for reason in event.reasons]
    reasons = tuple(reason for reason, objection in zip(event.reasons, objections, strict=True) if objection is None)
    why = [objection for objection in objections if objection is not None]
    silenced = preferences.mute.silences(event)
    if silenced is not None or (event.reasons and not reasons):
        told = (*why, silenced) if silenced else (*why, "no subscription is left as a reason")
        return Plan((), (), told, recent, is_ruled=False)

    decision = rules.decide(event, subscriber)
    why += decision.why
    sends = {
        channel: _digest_due(preferences, now) if channel == "digest" else now
        for channel in decision.channels
        if channel != "nothing"
    }
    if event.is_offloaded and not sends.keys().isdisjoint((*SENT, "live")):
        due = None if preferences.lacks("digest") else _digest_due(preferences, now)
        _withhold(sends, (*SENT, "live"), due, now)
        why.append(f"its topic is offloaded, not served in real time: {_instead(sends)}")
    if "digest" in sends and (way := _digest_way(preferences)) in sends:
        del sends["digest"]
        why.append(f"no digest: it would repeat what goes by {way} already")
    if not sends.keys().isdisjoint(RINGING):
        why += _keep_quiet(preferences, sends, now)
    if not sends.keys().isdisjoint(SENT):
        admission = admit(preferences.caps, recent, now)
        recent = admission.recent
        if admission.reached is not None:
            _withhold(sends, SENT, None if preferences.lacks("digest") else _digest_due(preferences, now), now)
            why.append(f"the cap of {admission.reached} is reached: {_instead(sends)}")
    return Plan(tuple(starmap(Send, sends.items())), reasons, tuple(why), recent)


def _digest_way(preferences: Preferences) -> str | None:
    """The channel that a digest takes."""
    return next((channel for channel in DIGESTING if preferences.lacks(channel) is None), None)


def _keep_quiet(preferences: Preferences, sends: dict[str, int], now: int) -> list[str]:
    """Hold back what rings in quiet hours."""
    until = preferences.quiet_until(now)
    if until is None:
        return []
    _withhold(sends, RINGING, until if preferences.lacks("digest") else _digest_due(preferences, now), now)
    wall = as_moment(until).astimezone(time_zone(preferences.zone))
    return [f"quiet hours until {wall:%Y-%m-%d %H:%M} in {preferences.zone}: {_instead(sends)}"]


def _withhold(sends: dict[str, int], channels: tuple[str, ...], due: int | None, now: int) -> None:
    """Take channels away, and leave the event in the inbox, and in a digest if one is due."""
    for channel in channels:
        sends.pop(channel, None)
    sends.setdefault("inbox", now)
    if due is not None:
        sends.setdefault("digest", due)


def _instead(sends: dict[str, int]) -> str:
    return "it waits for the digest" if "digest" in sends else "it is in the inbox only"


def _digest_due(preferences: Preferences, now: int) -> int:
    """When the next digest is sent; one that falls into quiet hours waits for their end."""
    assert preferences.digest is not None
    due = as_microseconds(preferences.digest.after(time_zone(preferences.zone), as_moment(now)))
    return preferences.quiet_until(due) or due
