"""The live feed, as server-sent events and by WebSocket: the same events, in the same order."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, WebSocket
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from tidegate.deliver.api_keys import key_hash
from tidegate.serve.authentication import PROTOCOL, Anyone, Caller, Serving
from tidegate.serve.events import HEARTBEAT
from tidegate.serve.live import Connection
from tidegate.serve.post import Name
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.service import Service

router = APIRouter(tags=["live"])

_LAST: Final = 2**63 - 1
_EXAMPLE: Final = (
    'id: 41\nevent: ready\ndata: {"cursor":41}\n\n'
    'id: 42\nevent: notification\ndata: {"cursor":42,"post":{"text":"Storms"},"reasons":[{"subscription":"3f9c"}]}\n\n'
)
_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events `ready` (where the feed begins), `notification`, `read` (marked on some device) and "
        "`presence` (of the topics that are followed), until one of the two hangs up.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}

Since = Annotated[int | None, Query(ge=0, le=_LAST, description="Begin after this cursor; without one, now.")]
Whose = Annotated[Name | None, Query(description="Whose; only an operator may name another subscriber.")]
Topics = Annotated[
    list[Name], Query(max_length=100, description="Topics to follow: the last event of each comes first.")
]
Device = Annotated[
    str,
    Query(max_length=100, pattern=r"^[^\x00]*$", description="A name for the device, to be seen as online with it."),
]
DeviceKind = Annotated[str, Query(pattern="^[a-z]{1,20}$", description="As in: desktop, mobile.")]


@router.get(
    "/live",
    summary="Follow by server-sent events",
    response_class=StreamingResponse,
    responses={**answers(Kind.FORBIDDEN), **_STREAM},
)
async def live(
    caller: Anyone,
    service: Serving,
    since: Since = None,
    last_event_id: Annotated[
        str | None, Header(description="As browsers send it when they come back: begin after this cursor.")
    ] = None,
    subscriber: Whose = None,
    topic: Topics = [],  # noqa: B006
    device: Device = "",
    kind: DeviceKind = "desktop",
) -> StreamingResponse:
    """What happens, as it happens; what was missed since a cursor comes first. Every notification comes once, in order.

    A reader that is too slow to keep up is given the rest from the inbox, later but whole.
    """
    whose = _admitted(service, caller, subscriber)
    begin = _cursor(last_event_id, since)

    async def events() -> AsyncGenerator[bytes, None]:
        connection, cursor = _joined(service, caller, whose, topic, device, kind, begin)
        try:
            async for event in service.feeds.feed(connection, cursor):
                yield HEARTBEAT if event is None else event.sse
        finally:
            service.hub.leave(connection)

    return _FeedResponse(events())


@router.websocket("/ws")
async def follow(
    socket: WebSocket,
    caller: Anyone,
    service: Serving,
    since: Since = None,
    subscriber: Whose = None,
    topic: Topics = [],  # noqa: B006
    device: Device = "",
    kind: DeviceKind = "desktop",
) -> None:
    """The events of `/live` as messages {"id": CURSOR, "event": KIND, "data": …}. What a client says is passed over."""
    whose = _admitted(service, caller, subscriber)
    await socket.accept(PROTOCOL if PROTOCOL in socket.scope["subprotocols"] else None)
    connection, cursor = _joined(service, caller, whose, topic, device, kind, since)
    listening = asyncio.create_task(_until_hung_up(socket, connection))
    try:
        async for event in service.feeds.feed(connection, cursor):
            if event is not None:  # pings are the server's
                await socket.send_text(event.message)
        with suppress(RuntimeError):  # it may have been closed from the other side
            await socket.close(1001)
    except WebSocketDisconnect:
        pass
    finally:
        listening.cancel()
        service.hub.leave(connection)


class _FeedResponse(StreamingResponse):
    """Server-sent events, ended however the response ends: also when a client hangs up that has long not read."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


async def _until_hung_up(socket: WebSocket, connection: Connection) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass  # text or not
    connection.close()


def _admitted(service: Service, caller: Caller, subscriber: str | None) -> str:
    """Whose feed it is to be; refused to whoever has too many open."""
    whose, most = caller.acting_for(subscriber), service.settings.limits.feeds
    if service.hub.feeds_of(whose) >= most:
        said = f"{whose!r} has {most:,} live feeds open, as many as are allowed: close one"
        raise ProblemError(Kind.TOO_MANY, said, {"Retry-After": "5"})
    return whose


def _joined(
    service: Service, caller: Caller, whose: str, topics: list[str], device: str, kind: str, begin: int | None
) -> tuple[Connection, int]:
    """A connection, and the cursor that it begins after; who looks at another's feed is not that other's presence."""
    connection = service.hub.join(whose, device if whose == caller.name else "", kind, topics, key_hash(caller.key))
    if begin is None:
        return connection, service.follower.cursor
    connection.look_back()
    return connection, begin


def _cursor(last_event_id: str | None, since: int | None) -> int | None:
    """Where to begin. What is no cursor is no error: browsers send what they were sent, by whomever."""
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        return min(int(last_event_id[:20]), _LAST)
    return since
