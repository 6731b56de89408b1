"""The link under every letter: it needs no key, since whoever was sent the letter has it and nobody can make it up."""

from html import escape
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tidegate.deliver.addressing import refusing
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.serve.authentication import Serving
from tidegate.serve.plain_pages import Token, count_visit, plain_page
from tidegate.serve.problems import Kind, ProblemError, answers_to_all
from tidegate.serve.service import Service

router = APIRouter(tags=["unsubscribing"])

_NAMES: Final = {"email": "letters"}


@router.get(
    "/unsubscribe/{token}",
    summary="Ask whether to unsubscribe",
    response_class=HTMLResponse,
    responses=answers_to_all(Kind.NOT_FOUND),
)
def ask(token: Token, request: Request, service: Serving) -> HTMLResponse:
    """A page with a button. To open it changes nothing: programs that look for harmful links do so unasked."""
    wish = _wish(token, request, service)
    # The field is what mail programs send (RFC 8058).
    return plain_page(
        f"<h1>No more {_what(wish)} for {escape(wish.subscriber)}?</h1>"
        '<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">'
        '<button type="submit">Unsubscribe</button></form>'
    )


@router.post(
    "/unsubscribe/{token}",
    summary="Unsubscribe with one click",
    response_class=HTMLResponse,
    responses=answers_to_all(Kind.NOT_FOUND),
)
def unsubscribe(token: Token, request: Request, service: Serving) -> HTMLResponse:
    """Turn a channel off, as mail programs do on one click (RFC 8058); what they send along is passed over.

    The subscriptions and the inbox stay. To do so again changes nothing.
    """
    wish = _wish(token, request, service)
    service.subscribers.change(wish.subscriber, lambda before: refusing(before, wish.channel))
    return plain_page(
        f"<h1>There will be no more {_what(wish)} for {escape(wish.subscriber)}.</h1>"
        "<p>Everything is still in the inbox, and the preferences can be changed at any time.</p>"
    )


def _wish(token: str, request: Request, service: Service) -> Wish:
    wish = UnsubscribeLinks("", service.signing_keys.unsubscribe).wish(token)
    count_visit(service, request, wish and wish.subscriber)
    if wish is None:
        raise ProblemError(Kind.NOT_FOUND, "no letter from here has this link: follow the one in a letter")
    return wish


def _what(wish: Wish) -> str:
    return _NAMES.get(wish.channel, escape(wish.channel))
