"""What a subscriber needs to be reached: the secret of its webhooks, and its devices that take pushes."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidegate.deliver.addresses import PushAddress
from tidegate.deliver.addressing import with_device, without
from tidegate.serve.authentication import Anyone, Serving
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.routes.subscribers import Whom, known_subscriber
from tidegate.serve.service import Service

router = APIRouter(tags=["channels"])

_MOST_DEVICES: Final = 20
Endpoint = Annotated[str, StringConstraints(min_length=1, max_length=2048, pattern=r"^[^\x00]+$")]
_KEY: Final = "In URL-safe base64, as the browser gives it."


class WebhookSecret(BaseModel):
    """What webhooks are signed with, in the form of Standard Webhooks."""

    secret: str = Field(description="What to check signatures with.", examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La…"])


class PushKey(BaseModel):
    """Whom pushes are from (VAPID, RFC 8292)."""

    key: str = Field(description="What a browser is given as `applicationServerKey`: URL-safe base64.")


class DeviceKeys(BaseModel):
    """What is encrypted for: the device, and nobody on the way."""

    model_config = ConfigDict(extra="forbid")

    p256dh: Annotated[str, StringConstraints(max_length=200)] = Field(description=_KEY)
    auth: Annotated[str, StringConstraints(max_length=100)] = Field(description=_KEY)


class PushSubscription(BaseModel):
    """A device's subscription at its push service: `PushSubscription.toJSON()` of a browser."""

    # A browser may say more of it than is needed here.
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"endpoint": "https://push.example/x7f", "keys": {"p256dh": "B" + "A" * 86, "auth": "A" * 22}}]
        }
    )

    endpoint: Endpoint = Field(description="Where pushes for the device are handed in.")
    keys: DeviceKeys


class Devices(BaseModel):
    """The devices of a subscriber that take pushes."""

    endpoints: list[str] = Field(description="Where pushes for each are handed in.")


@router.get(
    "/subscribers/{name}/webhook-secret",
    summary="Read the secret of webhooks",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def webhook_secret(name: Whom, caller: Anyone, service: Serving) -> WebhookSecret:
    """What the receiver of a subscriber's webhooks checks their signatures with."""
    known_subscriber(name, caller, service)
    return _shown(name, service.webhook_secrets.current(name))


@router.post(
    "/subscribers/{name}/webhook-secret/rotate",
    status_code=201,
    summary="Change the secret of webhooks",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def rotate(name: Whom, caller: Anyone, service: Serving) -> WebhookSecret:
    """Draw another secret. For a day webhooks are signed with both, so that no receiver misses one."""
    known_subscriber(name, caller, service)
    return _shown(name, service.webhook_secrets.rotate(name))


@router.get("/push/key", summary="Read the key that pushes are signed with", responses=answers())
def push_key(_: Anyone, service: Serving) -> PushKey:
    """The public half of the key, which browsers ask for when they subscribe to pushes."""
    return PushKey(key=service.signing_keys.push_public)


@router.post(
    "/subscribers/{name}/push",
    status_code=201,
    summary="Have a device take pushes",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND, Kind.CONFLICT),
)
def add_device(name: Whom, device: PushSubscription, caller: Anyone, service: Serving) -> Devices:
    """Register a device. One that is there already, by its endpoint, gets the keys that are given now."""
    known_subscriber(name, caller, service)
    new = PushAddress.from_json("subscription", device.model_dump(include={"endpoint", "keys"}))

    def added(preferences: dict[str, Any]) -> dict[str, Any]:
        after = with_device(preferences, new)
        if len(after["addresses"]["push"]) > _MOST_DEVICES:
            raise ProblemError(Kind.CONFLICT, f"{_MOST_DEVICES} devices take pushes, as many as can be: remove one")
        return after

    return _changed(service, name, added)


@router.delete(
    "/subscribers/{name}/push",
    summary="Have a device take pushes no longer",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def remove_device(
    name: Whom,
    endpoint: Annotated[Endpoint, Query(description="Where its pushes are handed in.")],
    caller: Anyone,
    service: Serving,
) -> Devices:
    """Forget a device. To do so again changes nothing."""
    known_subscriber(name, caller, service)
    return _changed(service, name, lambda preferences: without(preferences, "push", {"endpoint": endpoint}))


def _changed(service: Service, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Devices:
    after = service.subscribers.change(name, change)
    if after is None:
        raise ProblemError(Kind.NOT_FOUND, f"there is no subscriber {name!r}")
    return Devices(endpoints=[device["endpoint"] for device in after["addresses"]["push"]])


def _shown(name: str, secret: str | None) -> WebhookSecret:
    if secret is None:
        raise ProblemError(Kind.NOT_FOUND, f"there is no subscriber {name!r}")
    return WebhookSecret(secret=secret)
