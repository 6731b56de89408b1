"""E-mail addresses: what asks for a confirmation, the link that gives it, and the operator who needs none."""

from html import escape
from typing import Final

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tidegate.deliver.confirming import Answer, Claim, ConfirmLinks
from tidegate.serve.authentication import Anyone, Operator, Serving
from tidegate.serve.plain_pages import Token, count_visit, plain_page
from tidegate.serve.problems import Kind, ProblemError, answers, answers_to_all
from tidegate.serve.routes.subscribers import Whom, known_subscriber
from tidegate.serve.service import Service

router = APIRouter(tags=["confirming"])

_PROBLEMS: Final = {
    Answer.CONFIRMED: Kind.CONFLICT,
    Answer.NO_ADDRESS: Kind.CONFLICT,
    Answer.TOO_OFTEN: Kind.TOO_MANY,
}


class Letter(BaseModel):
    """A letter that asks whether an address is right."""

    detail: str = Field(description="What becomes of it.", examples=[Answer.ON_ITS_WAY.value])


@router.post(
    "/subscribers/{name}/email/letter",
    status_code=202,
    summary="Have another letter sent that asks for a confirmation",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND, Kind.CONFLICT),
)
def another(name: Whom, caller: Anyone, service: Serving) -> Letter:
    """Ask again at the e-mail address of a subscriber. A few times a day: nobody is to be flooded by it."""
    known_subscriber(name, caller, service)
    answer = service.confirmations.ask(name, again=True)
    if answer in _PROBLEMS:
        raise ProblemError(_PROBLEMS[answer], answer.value)
    return Letter(detail=answer.value)


@router.put(
    "/subscribers/{name}/email/confirmed",
    status_code=204,
    summary="Confirm an address without a letter",
    responses=answers(Kind.FORBIDDEN, Kind.NOT_FOUND, Kind.CONFLICT),
)
def vouch(name: Whom, caller: Operator, service: Serving) -> None:
    """Take the e-mail address that a subscriber names now for confirmed, because an operator knows that it is right."""
    known_subscriber(name, caller, service)
    if not service.confirmations.confirm(name):
        raise ProblemError(Kind.CONFLICT, f"{name!r} has no e-mail address: put one into its preferences first")


@router.get(
    "/confirm/{token}",
    summary="Ask whether to confirm an address",
    response_class=HTMLResponse,
    responses=answers_to_all(Kind.NOT_FOUND),
)
def ask(token: Token, request: Request, service: Serving) -> HTMLResponse:
    """A page with a button. To open it changes nothing: programs that look for harmful links do so unasked."""
    claim = _claim(token, request, service)
    return plain_page(
        f"<h1>Letters for {escape(claim.subscriber)} to {escape(claim.address)}?</h1>"
        '<form method="post"><button type="submit">Yes, they are for me</button></form>'
    )


@router.post(
    "/confirm/{token}",
    summary="Confirm an address",
    response_class=HTMLResponse,
    responses=answers_to_all(Kind.NOT_FOUND),
)
def confirm(token: Token, request: Request, service: Serving) -> HTMLResponse:
    """Let letters be sent to an address from now on. To do so again changes nothing."""
    claim = _claim(token, request, service)
    if not service.confirmations.confirm(*claim):
        raise ProblemError(Kind.NOT_FOUND, "nobody wants letters at this address any more: there is nothing to confirm")
    return plain_page(
        f"<h1>From now on letters for {escape(claim.subscriber)} are sent to {escape(claim.address)}.</h1>"
        "<p>Each has a link that ends them.</p>"
    )


def _claim(token: str, request: Request, service: Service) -> Claim:
    claim = ConfirmLinks("", service.signing_keys.confirm).claim(token)
    count_visit(service, request, claim and claim.subscriber)
    if claim is None:
        raise ProblemError(Kind.NOT_FOUND, "no letter from here has this link, or it is too old: ask for another one")
    return claim
