"""The files of the page, with what browsers are to be told about them."""

from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

# Posts are written by anybody. Should a text ever get into the page as more than text, nothing of it is run or fetched.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # The files are small and have no version in their names: a browser asks, by ETag, whether its own are still right.
    "Cache-Control": "no-cache",
}


def install(app: FastAPI, folder: Path) -> None:
    """Let an app answer with the files of a folder where it has no route.

    They are not mounted: what is mounted at the root would answer for routes that are asked with a wrong method, too.
    """
    files, nothing = _PageFiles(directory=folder, html=True), app.router.default

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        await (files if is_read else nothing)(scope, receive, send)

    app.router.default = look


class _PageFiles(StaticFiles):
    def file_response(self, *arguments: Any, **further: Any) -> Response:
        """Answer with a file, or that the browser has it already."""
        response = super().file_response(*arguments, **further)
        response.headers.update(_HEADERS)
        return response
