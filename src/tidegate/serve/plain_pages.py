"""Pages that the links in letters lead to: a sentence or two, perhaps a button, and nothing that runs.

They need no key, so that whoever follows a link is counted.
"""

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tidegate.serve.service import Service

Token = Annotated[str, Path(max_length=1200, pattern="^[A-Za-z0-9_-]+$", description="What a letter's link ends with.")]
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
}
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Tidegate</title></head>
<body><main>{}</main></body></html>
"""


def plain_page(content: str) -> HTMLResponse:
    """A page with this content, which is HTML."""
    return HTMLResponse(_PAGE.format(content), headers=_HEADERS)


def count_visit(service: Service, request: Request, holder: str | None) -> None:
    """Count that a link was followed by its `holder`, or by somebody who has made it up; raise if it is too often.

    A mail program follows links for all its users from one address: whoever has a link is counted alone.
    """
    stranger = request.client.host if request.client else ""
    service.refused.demand(stranger if holder is None else f"link of {holder}")
