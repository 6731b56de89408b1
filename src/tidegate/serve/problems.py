"""What the service answers when it does not do what it was asked: problem details (RFC 9457), whatever went wrong."""

import logging
from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from tidegate.deliver.breadth import TooBroadError
from tidegate.deliver.database import UnreachableError
from tidegate.errors import ConfigError, QueryError, TidegateError
from tidegate.serve.catalogue import ChangedError

MEDIA_TYPE: Final = "application/problem+json"
_SCHEMA: Final = {"$ref": "#/components/schemas/Problem"}
_log = logging.getLogger(__name__)


class Kind(Enum):
    """The problems that have a name: status, name, and what they have in common."""

    NO_KEY = (401, "no-key", "A valid key is needed")
    FORBIDDEN = (403, "forbidden", "This key does not allow that")
    NOT_FOUND = (404, "not-found", "There is no such thing")
    CONFLICT = (409, "conflict", "This cannot be done to what is there")
    TOO_LARGE = (413, "too-large", "The request is too large")
    INVALID = (422, "invalid", "The request is not as it should be")
    QUERY = (422, "query", "The query cannot be accepted")
    OVER_BROAD = (422, "over-broad", "The subscription would match too much")
    TOO_MANY = (429, "too-many-requests", "Too many requests")
    INTERNAL = (500, "internal", "Something went wrong here")
    UNAVAILABLE = (503, "unavailable", "The service cannot do its work now")

    @property
    def status(self) -> int:
        """The HTTP status that it comes with."""
        return self.value[0]


class ProblemError(Exception):
    """Raised by a route, answered as problem details; `further` are members of its own."""

    def __init__(self, kind: Kind, detail: str, headers: Mapping[str, str] | None = None, **further: Any) -> None:
        """Say what is wrong with this request, and what would be right."""
        super().__init__(detail)
        self.kind, self.detail, self.headers, self.further = kind, detail, headers, further

    def response(self) -> Response:
        """The answer."""
        status, name, title = self.kind.value
        body = {"type": f"urn:tidegate:problem:{name}", "title": title, "status": status, "detail": self.detail}
        return JSONResponse({**body, **self.further}, status, self.headers, MEDIA_TYPE)


class ProblemDetails(BaseModel):
    """What is wrong with a request, in the form of RFC 9457."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: str = Field(description="A name for the kind of problem.", examples=["urn:tidegate:problem:query"])
    title: str = Field(description="What problems of this kind have in common.")
    status: int = Field(description="The HTTP status.", ge=400, le=599)
    detail: str = Field(description="What is wrong with this request, and what would be right.")
    position: int | None = Field(default=None, description="Of a query: the character it is about, counted from 0.")
    hint: str | None = Field(default=None, description="Of a query: what to write instead.")
    estimate: float | None = Field(
        default=None, description="Of an over-broad subscription: the matches per day to expect."
    )
    errors: list[dict[str, Any]] | None = Field(
        default=None, description="Of an invalid request: each value that is wrong."
    )


def answers(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Describe, for OpenAPI, the problems of a route beside those that all routes have which ask for a key."""
    return {400: described("The body cannot be read"), **answers_to_all(Kind.NO_KEY, *kinds)}


def answers_to_all(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """Describe, for OpenAPI, the problems of a route that asks for no key."""
    common = (Kind.TOO_LARGE, Kind.INVALID, Kind.TOO_MANY, Kind.INTERNAL, Kind.UNAVAILABLE)
    return {kind.status: described(kind.value[2]) for kind in (*common, *kinds)}


def described(description: str) -> dict[str, Any]:
    """One answer that is a problem, for OpenAPI."""
    return {"description": description, "content": {MEDIA_TYPE: {"schema": _SCHEMA}}}


def of_error(error: TidegateError) -> ProblemError:
    """What Tidegate refuses, as the problem it is to a client."""
    if isinstance(error, QueryError):
        position, hint = error.position, error.hint
        return ProblemError(Kind.QUERY, f"{error.problem} ({hint})", position=position, hint=hint, query=error.query)
    if isinstance(error, TooBroadError):
        return ProblemError(Kind.OVER_BROAD, str(error), estimate=error.estimate.per_day)
    if isinstance(error, ChangedError):
        return ProblemError(Kind.CONFLICT, str(error))
    if isinstance(error, ConfigError):
        return ProblemError(Kind.INVALID, str(error))
    if isinstance(error, UnreachableError):
        return ProblemError(Kind.UNAVAILABLE, "the database does not answer: try again", {"Retry-After": "5"})
    # Its message may name folders and hosts, which are no concern of a client's.
    return ProblemError(Kind.INTERNAL, "what is stored cannot be read or written: the operator has to look into it")


def install(app: FastAPI) -> None:
    """Let an app answer with problem details, whatever is raised. A WebSocket is answered so before it is accepted."""
    app.add_exception_handler(ProblemError, _answer_problem)
    app.add_exception_handler(TidegateError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_unforeseen)


async def _answer_problem(connection: HTTPConnection, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response()


async def _answer_error(connection: HTTPConnection, error: Exception) -> Response:
    assert isinstance(error, TidegateError)
    problem = of_error(error)
    if problem.kind.status >= 500:
        _log.error("%s: %s", connection.url.path, error)
    return problem.response()


async def _answer_invalid(connection: HTTPConnection, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = [_wrong(each) for each in error.errors()]
    said = "; ".join(f"{each['where']}: {each['problem']}" for each in wrong[:3])
    return ProblemError(Kind.INVALID, said, errors=wrong[:100]).response()


async def _answer_http(connection: HTTPConnection, error: Exception) -> Response:
    """What the framework refuses: no such route, no such method, a body that is no text."""
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    detail = error.detail if error.detail != title else _said_of(connection, error)
    body = {"type": "about:blank", "title": title, "status": error.status_code, "detail": detail}
    return JSONResponse(body, error.status_code, error.headers, MEDIA_TYPE)


def _said_of(connection: HTTPConnection, error: HTTPException) -> str:
    """What the framework only gives a title."""
    path = f"{connection.url.path:.200}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {path}: /openapi.json says what there is"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and error.headers:
        return f"{path} does not take {connection.scope['method']}: it takes {error.headers.get('Allow')}"
    return error.detail


def _wrong(error: dict[str, Any]) -> dict[str, str]:
    """One value that is wrong: where it is, and what is wrong with it."""
    if error["type"] == "json_invalid":
        return {"where": "body", "problem": f"no JSON: {error['ctx']['error']}, at character {error['loc'][-1]}"}
    if error["type"] == "model_attributes_type" and error["loc"] == ("body",):
        return {"where": "body", "problem": "give a JSON object, with the header Content-Type: application/json"}
    return {"where": ".".join(map(str, error["loc"])), "problem": error["msg"]}


async def _answer_unforeseen(connection: HTTPConnection, error: Exception) -> Response:
    # Starlette raises it again after the answer, so that the server logs it with its traceback.
    return ProblemError(Kind.INTERNAL, "an error that nobody foresaw: it is logged").response()
