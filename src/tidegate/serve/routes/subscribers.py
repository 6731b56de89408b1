"""Subscribers, and the keys by which they are known."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidegate.deliver.preferences import Preferences
from tidegate.deliver.subscribers import Record
from tidegate.serve.authentication import Anyone, Caller, Operator, Serving
from tidegate.serve.events import as_json
from tidegate.serve.first_key import OPERATOR
from tidegate.serve.pages import After, Limit, Page
from tidegate.serve.post import Name
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.service import Service

router = APIRouter(tags=["subscribers"])

Tag = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]
Whom = Annotated[Name, Path(description="The name of a subscriber.", examples=["ana"])]
_MOST_PREFERENCES = 16_384


class NewSubscriber(BaseModel):
    """A subscriber to be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "ana"}]})

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$")] = Field(
        description="What it is called: ASCII letters, digits and . _ @ + -"
    )
    preferences: dict[str, Any] = Field(default={}, description="How it wants to be told.")
    tags: list[Tag] = Field(default=[], max_length=100, description="What restricts which posts it is told of.")


class Wishes(BaseModel):
    """How a subscriber wants to be told."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"preferences": {"zone": "UTC"}}]})

    preferences: dict[str, Any] = Field(default={}, description="How it wants to be told.")
    tags: list[Tag] = Field(default=[], max_length=100, description="What restricts which posts it is told of.")


class Subscriber(Wishes):
    """A subscriber."""

    name: str
    made: datetime = Field(description="When it was made.")
    email_confirmed: bool | None = Field(
        description="Whether its e-mail address is confirmed: else no letters are sent there. Null: it has none."
    )
    online: bool = Field(description="Whether a live feed of it is open here.")


class Key(BaseModel):
    """A key. It is shown once, and only its hash is kept."""

    subscriber: str = Field(description="Whose it is.")
    is_operator: bool
    key: str = Field(description="What to send as Authorization: Bearer KEY.", examples=["tide_…"])


class Holder(BaseModel):
    """Whose a key is."""

    name: str
    is_operator: bool


@router.get("/me", summary="Whose key this is", responses=answers())
def me(caller: Anyone) -> Holder:
    """Tell who the key that is shown was issued to."""
    return Holder(name=caller.name, is_operator=caller.is_operator)


@router.post("/keys/rotate", status_code=201, summary="Replace the key that is shown", responses=answers())
def rotate(caller: Anyone, service: Serving) -> Key:
    """Issue a key in place of the one that is shown, which is no longer valid then."""
    key = service.keys.issue(caller.name, is_operator=caller.is_operator)
    service.keys.revoke(caller.key)
    return Key(subscriber=caller.name, is_operator=caller.is_operator, key=key)


@router.delete("/keys/current", status_code=204, summary="Revoke the key that is shown", responses=answers())
def revoke(caller: Anyone, service: Serving) -> None:
    """Make the key that is shown invalid."""
    service.keys.revoke(caller.key)


@router.post(
    "/subscribers", status_code=201, summary="Sign up a subscriber", responses=answers(Kind.FORBIDDEN, Kind.CONFLICT)
)
def sign_up(asked: NewSubscriber, _: Operator, service: Serving) -> Key:
    """Make a subscriber, and its first key."""
    version = service.store.version
    wishes = _checked(asked.preferences)
    if asked.name == OPERATOR or not service.subscribers.make(asked.name, wishes, asked.tags, version=version):
        raise ProblemError(
            Kind.CONFLICT, f"there is a subscriber {asked.name!r}: choose another name, or make it a key"
        )
    service.confirmations.ask(asked.name)
    return Key(subscriber=asked.name, is_operator=False, key=service.keys.issue(asked.name))


@router.get("/subscribers", summary="List subscribers", responses=answers(Kind.FORBIDDEN))
def listed(_: Operator, service: Serving, after: After = "", limit: Limit = 100) -> Page[Subscriber]:
    """All subscribers, by name."""
    found = service.subscribers.page(after, limit)
    following = found[-1].name if len(found) == limit else None
    return Page(items=[_shown(service, each) for each in found], next=following)


@router.get("/subscribers/{name}", summary="Look up a subscriber", responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND))
def one(name: Whom, caller: Anyone, service: Serving) -> Subscriber:
    """What is known of a subscriber: of oneself, or as an operator of anyone."""
    return _shown(service, known_subscriber(name, caller, service))


@router.put(
    "/subscribers/{name}", summary="Say how one wants to be told", responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND)
)
def change(name: Whom, wishes: Wishes, caller: Anyone, service: Serving) -> Subscriber:
    """Replace a subscriber's preferences and tags."""
    known_subscriber(name, caller, service)
    # Who is removed meanwhile must not come back: it is not found then.
    service.subscribers.replace(name, _checked(wishes.preferences), wishes.tags)
    service.confirmations.ask(name)
    return _shown(service, known_subscriber(name, caller, service))


@router.delete(
    "/subscribers/{name}",
    status_code=204,
    summary="Remove a subscriber",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def remove(name: Whom, caller: Operator, service: Serving) -> None:
    """Forget a subscriber with its keys, subscriptions and inbox."""
    known_subscriber(name, caller, service)
    # First of all, so that it makes no subscription meanwhile, which would match on for nobody.
    service.keys.revoke_all(name)
    had: list[str] = []
    while found := service.catalogue.of(name):  # some may have been asked for before
        for subscription in found:
            service.catalogue.remove(subscription)
        had += [subscription.id for subscription in found]
    # Jobs that do not know of that yet bring matches still, and somebody else may be called so by then.
    service.subscribers.remove(name, had, service.store.version)
    service.hub.soon(service.hub.site.forget, name)
    service.last_events.forget(name)


@router.post(
    "/subscribers/{name}/keys",
    status_code=201,
    summary="Issue a further key",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def issue(name: Whom, caller: Operator, service: Serving) -> Key:
    """Issue a key beside those that a subscriber has, as for another device."""
    known_subscriber(name, caller, service)
    return Key(subscriber=name, is_operator=False, key=service.keys.issue(name))


@router.delete(
    "/subscribers/{name}/keys",
    status_code=204,
    summary="Revoke all keys of a subscriber",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND),
)
def revoke_all(name: Whom, caller: Operator, service: Serving) -> None:
    """Make all keys of a subscriber invalid; its subscriptions and its inbox stay."""
    known_subscriber(name, caller, service)
    service.keys.revoke_all(name)


def known_subscriber(name: str, caller: Caller, service: Service) -> Record:
    """A subscriber that the caller may know of; whether there are others is no concern of its own."""
    record = service.subscribers.get(caller.acting_for(name))
    if record is None:
        raise ProblemError(Kind.NOT_FOUND, f"there is no subscriber {name!r}")
    return record


def _shown(service: Service, record: Record) -> Subscriber:
    return Subscriber(
        name=record.name,
        preferences=record.preferences,
        tags=sorted(record.tags),
        made=datetime.fromtimestamp(record.made / 1_000_000, UTC),
        email_confirmed=record.is_confirmed,
        online=service.hub.is_online(record.name),
    )


def _checked(preferences: dict[str, Any]) -> dict[str, Any]:
    """Preferences as they were given, of which every field can be."""
    if len(as_json(preferences)) > _MOST_PREFERENCES:
        raise ProblemError(Kind.INVALID, f"preferences have more than {_MOST_PREFERENCES:,} characters: say less")
    Preferences.from_json(preferences)
    return preferences
