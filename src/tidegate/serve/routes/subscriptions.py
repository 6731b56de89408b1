"""Subscriptions: made, listed, changed, paused, resumed and removed by whoever they belong to."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tidegate.deliver.breadth import refuse_too_broad
from tidegate.errors import QueryError
from tidegate.serve.authentication import Anyone, Caller, Serving
from tidegate.serve.catalogue import Subscription
from tidegate.serve.pages import After, Limit, Page
from tidegate.serve.post import Name
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.routes.queries import Asked, Expected, QueryText, Region, expected, read_query
from tidegate.serve.routes.subscribers import Tag
from tidegate.serve.service import Service
from tidegate.serve.trial import tried
from tidegate.store.checking import checked_query
from tidegate.store.schema import in_utc, region_text

router = APIRouter(tags=["subscriptions"])

Which = Annotated[Name, Path(description="The id of a subscription.")]
Whose = Annotated[Name | None, Query(description="Whose; only an operator may name another subscriber.")]
Tags = Annotated[list[Tag], Field(max_length=100, description="What to find it by, or to restrict it by.")]
Ranking = Annotated[
    dict[str, Any] | None,
    Field(description="How it is to be ranked, if only the best are wanted.", examples=[{"k": 3, "window": "1h"}]),
]
State = Literal["active", "paused", "expired"]
Expires = Annotated[AwareDatetime | None, Field(description="When it ends by itself.")]


class NewSubscription(Asked):
    """A subscription to be."""

    subscriber: Name | None = Field(
        default=None, description="Whose it is; only an operator may name another subscriber."
    )
    ranking: Ranking = None
    tags: Tags = Field(default_factory=list)
    expires: Expires = None


class Changes(BaseModel):
    """What is to be different; what is not named stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"query": "storm (coast OR port)"}]})

    query: QueryText | None = None
    region: Region = None
    ranking: Ranking = None
    tags: Tags | None = None
    expires: Expires = None


class Shown(BaseModel):
    """A subscription."""

    id: str
    subscriber: str
    query: str
    canonical: str | None = Field(description="What all spellings of it share; null if it cannot be read any more.")
    region: str | None = Field(description="Only posts from here.")
    ranking: dict[str, Any] | None
    tags: list[str]
    created: datetime
    expires: datetime | None
    state: State


class Made(BaseModel):
    """A subscription that was made or changed, and what to expect of it."""

    subscription: Shown
    expected: Expected


@router.post("/subscriptions", status_code=201, summary="Subscribe", responses=answers(Kind.FORBIDDEN, Kind.CONFLICT))
def subscribe(asked: NewSubscription, caller: Anyone, service: Serving) -> Made:
    """Make a subscription. When this answers it is durable, and posts after the next micro-batch are matched by it.

    One that would match too many posts a day is refused, with the estimate.
    """
    subscriber = caller.acting_for(asked.subscriber)
    most = service.settings.limits.subscriptions
    if len(service.catalogue.of(subscriber)) >= most:
        raise ProblemError(
            Kind.CONFLICT, f"{subscriber!r} has {most:,} subscriptions, as many as are allowed: remove some"
        )
    estimate = _estimated(service, asked.query, asked.region)
    made = service.catalogue.make(
        {
            "subscriber": subscriber,
            "query": asked.query,
            "region": region_text(asked.region),
            "ranking": asked.ranking,
            "tags": asked.tags,
            "expires": asked.expires,
        }
    )
    # Whoever removes a subscriber revokes its keys, and then looks for what it has: one of both finds this.
    if service.keys.holder(caller.key) is None:
        service.catalogue.remove(made)
        raise ProblemError(Kind.NO_KEY, "the key was revoked meanwhile: nothing was subscribed to")
    return Made(subscription=_shown(service, made), expected=estimate)


@router.get("/subscriptions", summary="List subscriptions", responses=answers(Kind.FORBIDDEN))
def listed(
    caller: Anyone, service: Serving, subscriber: Whose = None, after: After = "", limit: Limit = 100
) -> Page[Shown]:
    """One's own subscriptions, by id; an operator's key lists those of all."""
    everybody = caller.is_operator and subscriber is None
    found = service.catalogue.page(None if everybody else caller.acting_for(subscriber), after, limit)
    following = found[-1].id if len(found) == limit else None
    return Page(items=[_shown(service, each) for each in found], next=following)


@router.get("/subscriptions/{id}", summary="Look up a subscription", responses=answers(Kind.NOT_FOUND))
def one(id: Which, caller: Anyone, service: Serving) -> Shown:  # noqa: A002
    """A subscription as it is now."""
    return _shown(service, _own(id, caller, service))


@router.patch("/subscriptions/{id}", summary="Change a subscription", responses=answers(Kind.NOT_FOUND, Kind.CONFLICT))
def change(id: Which, changes: Changes, caller: Anyone, service: Serving) -> Made:  # noqa: A002
    """Change what is named; the rest stays as it is."""
    subscription = _own(id, caller, service)
    row = {**subscription.row, **_as_columns(changes)}
    estimate = _estimated(service, row["query"], row["region"])
    changed = service.catalogue.change(subscription, row)
    return Made(subscription=_shown(service, changed), expected=estimate)


@router.post(
    "/subscriptions/{id}/pause", summary="Pause a subscription", responses=answers(Kind.NOT_FOUND, Kind.CONFLICT)
)
def pause(id: Which, caller: Anyone, service: Serving) -> Shown:  # noqa: A002
    """Keep a subscription from matching until it is resumed. What is paused already stays so."""
    return _shown(service, service.catalogue.pause(_own(id, caller, service)))


@router.post(
    "/subscriptions/{id}/resume",
    summary="Resume a subscription",
    responses=answers(Kind.NOT_FOUND, Kind.CONFLICT),
)
def resume(id: Which, caller: Anyone, service: Serving) -> Shown:  # noqa: A002
    """Let a subscription match again, from the next micro-batch on. What was not paused goes on."""
    subscription = _own(id, caller, service)
    if subscription.has_expired():
        raise ProblemError(Kind.CONFLICT, f"subscription {id!r} has expired: give it another time to expire first")
    return _shown(service, service.catalogue.resume(subscription))


@router.delete("/subscriptions/{id}", status_code=204, summary="Unsubscribe", responses=answers(Kind.NOT_FOUND))
def unsubscribe(id: Which, caller: Anyone, service: Serving) -> None:  # noqa: A002
    """Remove a subscription; what it has brought stays in the inbox."""
    service.catalogue.remove(_own(id, caller, service))


def _own(id: str, caller: Caller, service: Service) -> Subscription:  # noqa: A002
    """A subscription of the caller's; to others there is none of this id."""
    found = service.catalogue.get(id)
    if found is None or not (caller.is_operator or found.subscriber == caller.name):
        raise ProblemError(Kind.NOT_FOUND, f"there is no subscription {id!r}")
    return found


def _estimated(service: Service, query: str, region: list[float] | str | None) -> Expected:
    """What to expect of a query that can be accepted, and is not over-broad."""
    trial = tried(read_query(service, query, region), service.recent)
    refuse_too_broad(trial.estimate, service.settings.limits.matches_per_day)
    return expected(service, trial)


def _as_columns(changes: Changes) -> dict[str, Any]:
    """The changes as columns of the store."""
    given = changes.model_dump(exclude_unset=True)
    if given.get("query", "") is None:
        raise ProblemError(Kind.INVALID, "query is null: give a text, or leave it out")
    if "region" in given:
        given["region"] = region_text(given["region"])
    if given.get("ranking") is not None:
        given["ranking"] = json.dumps(given["ranking"], sort_keys=True)
    if given.get("expires") is not None:
        given["expires"] = in_utc("expires", given["expires"])
    if "tags" in given:
        given["tags"] = given["tags"] or []
    return given


def _shown(service: Service, subscription: Subscription) -> Shown:
    row = subscription.row
    ranking = None if row["ranking"] is None else json.loads(row["ranking"])
    columns = {**row, "tags": row["tags"] or [], "ranking": ranking}
    return Shown(**columns, canonical=_canonical(service, row), state=_state(subscription))


def _state(subscription: Subscription) -> State:
    if subscription.has_expired():
        return "expired"
    return "paused" if subscription.is_paused else "active"


def _canonical(service: Service, row: dict[str, Any]) -> str | None:
    try:
        return checked_query(row["query"], row["region"], service.analyzer).canonical
    except QueryError:
        return None
