"""From a subscriber's preferences to orders, and from an order to the address that it goes to when it is sent."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from tidegate.deliver.addresses import PushAddress
from tidegate.deliver.outbox import Order
from tidegate.deliver.planning import CONFIRMATION
from tidegate.deliver.preferences import Preferences


def orders(
    subscriber: str, preferences: Preferences, channel: str, key: str, cursors: tuple[int, ...]
) -> tuple[Order, ...]:
    """One order, or one for each device: a device that fails must not have the others told twice."""
    if channel != "push":
        return (Order(subscriber, channel, key, cursors),)
    endpoints = [device.endpoint for device in preferences.addresses.push]
    return tuple(Order(subscriber, channel, f"{key}:{_short(endpoint)}", cursors, endpoint) for endpoint in endpoints)


def target(order: Order, preferences: Preferences, secrets: Sequence[str]) -> Mapping[str, Any] | None:
    """The address as the channel understands it; None if the subscriber does not have or want it any more.

    `secrets` are what its webhooks are signed with.
    """
    if order.channel == CONFIRMATION:
        return {"email": order.device} if _is_to_be_confirmed(order, preferences) else None
    if preferences.lacks(order.channel) is not None or (order.channel == "webhook" and not secrets):
        return None
    addresses = preferences.addresses
    if order.channel == "email":
        return {"email": addresses.email}
    if order.channel == "webhook":
        return {"url": addresses.webhook, "secrets": secrets}
    devices = (device.to_json() for device in addresses.push if device.endpoint == order.device)
    return next(devices, None)


def with_device(preferences: Mapping[str, Any], device: PushAddress) -> dict[str, Any]:
    """Preferences, as JSON, with a device that takes pushes, in the place of what was known of it before."""
    addresses = dict(preferences.get("addresses") or {})
    others = [one for one in addresses.get("push") or () if one["endpoint"] != device.endpoint]
    return {**preferences, "addresses": {**addresses, "push": [*others, device.to_json()]}}


def without(preferences: Mapping[str, Any], channel: str, gone: Mapping[str, Any]) -> dict[str, Any]:
    """Preferences, as JSON, without an address that is no more; another that was given since stays."""
    addresses = dict(preferences.get("addresses") or {})
    if channel == "push":
        addresses["push"] = [one for one in addresses.get("push") or () if one.get("endpoint") != gone["endpoint"]]
    elif addresses.get(channel) in gone.values():
        del addresses[channel]
    return {**preferences, "addresses": addresses}


def refusing(preferences: Mapping[str, Any], channel: str) -> dict[str, Any]:
    """Preferences, as JSON, with a channel turned off."""
    return {**preferences, "refuse": sorted({*(preferences.get("refuse") or ()), channel})}


def _is_to_be_confirmed(order: Order, preferences: Preferences) -> bool:
    """Whether the address that a letter is to be sent to is still the one, and still has to be confirmed."""
    addresses = preferences.addresses
    return addresses.email == order.device and not addresses.is_confirmed and "email" not in preferences.refuse


def _short(endpoint: str) -> str:
    return blake2b(endpoint.encode(), digest_size=8).hexdigest()
