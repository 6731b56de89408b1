"""Who asks. A key comes as `Authorization: Bearer KEY`; browsers' WebSockets, which cannot say that, offer it as a
subprotocol `tidegate.key.KEY` beside `tidegate`.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.requests import HTTPConnection

from tidegate.serve.problems import Kind, ProblemError
from tidegate.serve.service import Service

PROTOCOL: Final = "tidegate"
"""The subprotocol of the live feed by WebSocket."""
_KEY_PROTOCOL: Final = f"{PROTOCOL}.key."


@dataclass(frozen=True)
class Caller:
    """Whoever has shown a valid key."""

    name: str
    is_operator: bool
    key: str

    def acting_for(self, subscriber: str | None) -> str:
        """Whose things are asked for: one's own, unless an operator names somebody."""
        if subscriber is None or subscriber == self.name:
            return self.name
        if not self.is_operator:
            raise ProblemError(Kind.FORBIDDEN, f"this key is for {self.name!r} alone: only an operator's sees all")
        return subscriber


class _Key(SecurityBase):
    """The key of a request, if there is one; tells OpenAPI that one is needed."""

    def __init__(self) -> None:
        self.model = HTTPBearer(description="The key of a subscriber or of an operator.")
        self.scheme_name = "key"

    async def __call__(self, connection: HTTPConnection) -> str | None:
        scheme, _, key = connection.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key.strip():
            return key.strip()
        if connection.scope["type"] == "websocket":
            offered: list[str] = connection.scope.get("subprotocols", [])
            return next((each.removeprefix(_KEY_PROTOCOL) for each in offered if each.startswith(_KEY_PROTOCOL)), None)
        return None


# What waits for nothing is a coroutine: anything else would be handed to a thread, with every request.
async def service_of(connection: HTTPConnection) -> Service:
    """The service that a request came to."""
    service: Service = connection.app.state.service
    return service


def authenticated(
    connection: HTTPConnection,
    service: Annotated[Service, Depends(service_of)],
    key: Annotated[str | None, Depends(_Key())],
) -> Caller:
    """Tell who asks, and whether that may be asked so often."""
    holder = None if key is None else service.keys.holder(key)
    if holder is None or key is None:
        service.refused.demand(connection.client.host if connection.client else "")
        said = "no key was shown" if key is None else "the key was not issued here, or has been revoked"
        raise ProblemError(Kind.NO_KEY, f"{said}: send Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    service.requests.demand(f"{holder.is_operator:d}{holder.subscriber}")
    return Caller(holder.subscriber, holder.is_operator, key)


async def operating(caller: Annotated[Caller, Depends(authenticated)]) -> Caller:
    """Tell who asks, and that it is an operator."""
    if not caller.is_operator:
        raise ProblemError(Kind.FORBIDDEN, "only an operator's key allows that")
    return caller


Serving = Annotated[Service, Depends(service_of)]
Anyone = Annotated[Caller, Depends(authenticated)]
"""Whoever has a valid key."""
Operator = Annotated[Caller, Depends(operating)]
