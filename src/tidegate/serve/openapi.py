"""The description of the API: what FastAPI finds out by itself, and the problems that it does not know of."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tidegate.serve.problems import ProblemDetails


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an app, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = ProblemDetails.model_json_schema()
        app.openapi_schema = document
    return app.openapi_schema
