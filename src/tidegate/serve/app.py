"""The app: routes, and what surrounds them."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final, get_origin

from fastapi import Depends, FastAPI
from starlette.requests import HTTPConnection

from tidegate.serve import openapi, page_files, problems
from tidegate.serve.exposition import Counted
from tidegate.serve.limits import BoundedBodies
from tidegate.serve.problems import Kind, ProblemError
from tidegate.serve.routes import (
    channels,
    confirming,
    inbox,
    live,
    operator,
    posts,
    queries,
    subscribers,
    subscriptions,
    unsubscribing,
)
from tidegate.serve.service import Service

PAGE: Final = Path(__file__).parent / "page"
_ROUTES: Final = (
    subscribers,
    subscriptions,
    queries,
    posts,
    inbox,
    live,
    channels,
    confirming,
    unsubscribing,
    operator,
)


def make_app(service: Service) -> FastAPI:
    """Put a service behind HTTP. It runs as long as the app does, and is left open."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(
        title="Tidegate",
        version=version("tidegate"),
        description="Standing queries over social streams: subscribe, post, and be told. "
        "Whatever is refused is answered with problem details (RFC 9457).",
        lifespan=lifespan,
        dependencies=[Depends(_known_parameters)],
        # These pages come from elsewhere, and the service works offline.
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    problems.install(app)
    for module in _ROUTES:
        app.include_router(module.router)
    app.add_middleware(BoundedBodies, most=service.settings.limits.body_bytes)
    app.add_middleware(Counted, exposition=lambda: service.exposition)
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]
    if PAGE.is_dir():
        page_files.install(app, PAGE)
    return app


async def _known_parameters(connection: HTTPConnection) -> None:
    """Refuse parameters that a route does not have, or has once and is given twice.

    A misspelt one would be passed over, and of two one would be taken, and nobody would know.
    """
    known = {each.alias: each.field_info.annotation for each in connection.scope["route"].dependant.query_params}
    given = Counter(name for name, _ in connection.query_params.multi_items())
    for name, times in given.items():
        if name not in known:
            allowed = ", ".join(sorted(known)) or "none"
            raise ProblemError(Kind.INVALID, f"there is no parameter {name!r:.100}: these are {allowed}")
        if times > 1 and get_origin(known[name]) is not list:
            raise ProblemError(Kind.INVALID, f"parameter {name!r} is given {times} times: give it once")
