"""For whoever runs the service: how it fares."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from tidegate.errors import TidegateError
from tidegate.serve.authentication import Operator, Serving
from tidegate.serve.problems import Kind, ProblemError, answers, described
from tidegate.store.status import describe, store_status

router = APIRouter(tags=["operator"])


class LiveFigures(BaseModel):
    """How the live feeds fare."""

    connections: int = Field(description="Live feeds that are open.")
    online: int = Field(description="Subscribers who have one open.")
    delivered: int = Field(description="Events offered to feeds since the start.")
    fallen_behind: int = Field(description="How often a reader was too slow, and was given the rest from the inbox.")
    cursor: int = Field(description="Everything up to this cursor was told.")
    waiting: int = Field(description="Cursors that were given out since, and not told yet.")


class Status(BaseModel):
    """How everything fares."""

    store: dict[str, Any] = Field(
        description="Its version, plan and segments, the jobs with their figures (posts and matches a second, lag, "
        "loads of matchers, shedding), and what was set aside: as `tidegate status --json` prints it."
    )
    live: LiveFigures
    recent_posts: int = Field(description="Posts remembered for dry runs.")
    stands_for: int = Field(description="So many came while they did.")
    posts_per_day: float = Field(description="How fast posts come.")


class Health(BaseModel):
    """What was looked at, and how it was found."""

    store: str = Field(examples=["well"])
    database: str = Field(examples=["well"])


@router.get("/operator/status", summary="How everything fares", responses=answers(Kind.FORBIDDEN))
def status(_: Operator, service: Serving) -> Status:
    """Jobs, plans, lags and loads; live feeds; recent posts."""
    hub, cursor = service.hub, service.follower.cursor
    sample = service.recent.sample()
    return Status(
        store=describe(store_status(service.store, letters=5)),
        live=LiveFigures(
            connections=len(hub.connections()),
            online=len(hub.online()),
            delivered=hub.delivered,
            fallen_behind=hub.fallen_behind,
            cursor=cursor,
            waiting=max(0, service.tail.newest() - cursor),
        ),
        recent_posts=sample.posts.num_rows,
        stands_for=sample.stands_for,
        posts_per_day=sample.per_day,
    )


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={
        **answers(Kind.FORBIDDEN),
        200: {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    },
)
def metrics(_: Operator, service: Serving) -> Response:
    """What the service counts, in Prometheus' text format."""
    return Response(service.exposition.text(), media_type="text/plain; version=0.0.4")


@router.get(
    "/healthz",
    summary="Whether the service can do its work",
    response_model=Health,
    responses={500: described(Kind.INTERNAL.value[2]), 503: described(Kind.UNAVAILABLE.value[2])},
)
def health(service: Serving) -> JSONResponse:
    """Look at the store and at the database. Needs no key, and tells nothing else."""
    found = {"store": _condition(lambda: service.store.version), "database": _condition(service.tail.newest)}
    if set(found.values()) != {"well"}:
        raise ProblemError(Kind.UNAVAILABLE, ", ".join(f"{name}: {how}" for name, how in found.items()))
    return JSONResponse(found)


def _condition(look: Callable[[], int]) -> str:
    try:
        look()
    except TidegateError:
        return "cannot be reached"
    return "well"
