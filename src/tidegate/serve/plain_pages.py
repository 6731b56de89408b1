"""Pages that the links in letters lead to: a sentence or two, perhaps a button, and nothing that runs."""

from typing import Annotated, Final

from fastapi import Path
from starlette.responses import HTMLResponse

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
