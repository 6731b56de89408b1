"""The inbox: what a subscriber was told, and what of it was read, on whatever device."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tidegate.deliver.fields import as_microseconds
from tidegate.deliver.notification import Entry, Notification
from tidegate.serve.authentication import Anyone, Serving
from tidegate.serve.events import Event, as_json
from tidegate.serve.pages import Limit
from tidegate.serve.post import Name
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.reasons import ReasonReader
from tidegate.serve.routes.queries import Why, why

router = APIRouter(tags=["inbox"])

_LAST = 2**63 - 1
Cursor = Annotated[int, Query(ge=0, le=_LAST, description="What comes after this cursor.")]
Whose = Annotated[Name | None, Query(description="Whose; only an operator may name another subscriber.")]


class TopicEntry(BaseModel):
    """A post about a topic."""

    cursor: int = Field(description="Later ones have greater cursors.")
    topic: str = Field(description="What it is about.")
    topic_type: str
    at: int = Field(description="When the post was written: microseconds since 1970, UTC.")
    id: str = Field(description="The post's.")
    post: dict[str, Any] = Field(description="The post's columns.")


class Told(TopicEntry):
    """A notification: one for a post, whatever number of subscriptions it satisfies."""

    subscriber: str
    reasons: list[dict[str, Any]] = Field(
        description="The subscriptions that it satisfies; of ranked feeds with window and rank.",
        examples=[[{"subscription": "3f9c"}]],
    )
    is_read: bool


class Notifications(BaseModel):
    """Some notifications, and where they go on."""

    items: list[Told]
    cursor: int = Field(description="What to ask for as `since` to get what follows, now or later.")
    more: bool = Field(description="Whether there may be more already.")


class Latest(BaseModel):
    """The last notifications, and where they go on."""

    items: list[Told] = Field(description="The newest first.")
    cursor: int = Field(description="Everything up to here was looked at: follow `/live` since then.")
    before: int | None = Field(description="What to ask for as `before` to get older ones; null if there are none.")


class ReasonShown(BaseModel):
    """A subscription that a post has satisfied, and how."""

    subscription: str
    query: str | None = Field(description="Its text as it is now; null if it was removed.")
    why: Why | None = Field(description="Where the post satisfies it; null if it does no longer, as it was changed.")


class Reasons(BaseModel):
    """Why somebody was told of a post."""

    cursor: int
    reasons: list[ReasonShown]


class History(BaseModel):
    """Some entries of a topic, and where they go on."""

    items: list[TopicEntry]
    cursor: int = Field(description="What to ask for as `since` to get what follows, now or later.")
    more: bool = Field(description="Whether there may be more already.")


class HowMany(BaseModel):
    """How many notifications there are."""

    total: int
    unread: int


class ReadMark(BaseModel):
    """What was read: single notifications, everything up to one, or both."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"up_to": 1234}]})

    cursors: list[Annotated[int, Field(ge=0, le=_LAST)]] = Field(default=[], max_length=1000)
    up_to: int | None = Field(default=None, ge=0, le=_LAST, description="Everything up to this cursor.")


class Marked(BaseModel):
    """How many were marked, and what is left."""

    marked: int = Field(description="So many had not been read before.")
    unread: int


@router.get("/inbox", summary="Read the inbox", responses=answers(Kind.FORBIDDEN))
def inbox(
    caller: Anyone,
    service: Serving,
    since: Cursor = 0,
    since_time: Annotated[
        AwareDatetime | None,
        Query(description="What came in after this time, and perhaps a little from just before it."),
    ] = None,
    unread: Annotated[bool, Query(description="Only what was not read yet.")] = False,
    subscriber: Whose = None,
    limit: Limit = 100,
) -> Notifications:
    """Everything since a cursor or a time, oldest first: whoever goes on from the last cursor misses nothing."""
    whose = caller.acting_for(subscriber)
    if since_time is not None:
        since = max(since, service.inbox.cursor_at(as_microseconds(since_time)))
    read = service.inbox.unread if unread else service.inbox.since
    found = read(whose, since, limit)
    cursor = found[-1].cursor if found else since
    return Notifications(items=[_told(each) for each in found], cursor=cursor, more=len(found) == limit)


@router.get("/inbox/latest", summary="Read the end of the inbox", responses=answers(Kind.FORBIDDEN))
def latest(
    caller: Anyone,
    service: Serving,
    before: Annotated[int | None, Query(ge=0, le=_LAST, description="Only what came before this cursor.")] = None,
    subscriber: Whose = None,
    limit: Limit = 50,
) -> Latest:
    """What came last, newest first, page by page into the past."""
    whose = caller.acting_for(subscriber)
    # The cursor is asked for first: what comes in between is not missed; and where it was found, not told again.
    cursor = service.inbox.newest()
    found = service.inbox.latest(whose, before, limit)
    cursor = max([cursor, *(each.cursor for each in found[:1])])
    older = found[-1].cursor if len(found) == limit else None
    return Latest(items=[_told(each) for each in found], cursor=cursor, before=older)


@router.get("/inbox/reasons", summary="Why one was told", responses=answers(Kind.FORBIDDEN))
def reasons(
    caller: Anyone,
    service: Serving,
    cursor: Annotated[
        list[Annotated[int, Field(ge=0, le=_LAST)]],
        Query(min_length=1, max_length=100, description="The cursors of notifications; those of others are left out."),
    ],
    subscriber: Whose = None,
) -> list[Reasons]:
    """The queries that brought notifications, as they are now, and where the posts satisfy them."""
    whose = caller.acting_for(subscriber)
    found = service.inbox.some(cursor).values()
    reader = ReasonReader(whose, service.catalogue, service.analyzer)
    return [
        Reasons(cursor=each.cursor, reasons=[_reason(reader, each, reason) for reason in each.reasons])
        for each in found
        if each.subscriber == whose
    ]


@router.get("/inbox/counts", summary="Count the inbox", responses=answers(Kind.FORBIDDEN))
def counts(caller: Anyone, service: Serving, subscriber: Whose = None) -> HowMany:
    """How many notifications there are, and how many were not read yet."""
    found = service.inbox.counts(caller.acting_for(subscriber))
    return HowMany(total=found.total, unread=found.unread)


@router.post("/inbox/read", summary="Mark as read", responses=answers(Kind.FORBIDDEN))
def mark_read(read: ReadMark, caller: Anyone, service: Serving, subscriber: Whose = None) -> Marked:
    """Mark notifications as read, on all devices; live feeds are told. To do so again changes nothing."""
    whose = caller.acting_for(subscriber)
    if not read.cursors and read.up_to is None:
        raise ProblemError(Kind.INVALID, "nothing is named: give cursors, or up_to")
    marked = service.inbox.mark_read(whose, read.cursors, up_to=read.up_to)
    unread = service.inbox.counts(whose).unread
    if marked:
        event = Event("read", as_json({**read.model_dump(), "unread": unread}))
        service.hub.soon(service.hub.tell, whose, event)
    return Marked(marked=marked, unread=unread)


@router.get("/history", summary="Read the history of a topic", responses=answers())
def history(
    _: Anyone,
    service: Serving,
    topic: Annotated[Name, Query(description="A topic that posts have named.")],
    since: Cursor = 0,
    limit: Limit = 100,
) -> History:
    """What happened to a topic, also before one followed it, oldest first."""
    found = service.inbox.history(topic, since, limit)
    cursor = found[-1].cursor if found else since
    return History(items=[_entry(each) for each in found], cursor=cursor, more=len(found) == limit)


def _told(notification: Notification) -> Told:
    return Told.model_validate(asdict(notification) | {"reasons": list(notification.reasons)})


def _reason(reader: ReasonReader, notification: Notification, reason: dict[str, Any]) -> ReasonShown:
    subscription = str(reason["subscription"])
    query, satisfied = reader.of(subscription, notification.post)
    return ReasonShown(subscription=subscription, query=query, why=None if satisfied is None else why(satisfied))


def _entry(entry: Entry) -> TopicEntry:
    return TopicEntry.model_validate(asdict(entry))
