"""A letter: notifications as an e-mail, in plain text and in HTML, with a link that unsubscribes by one click.

Posts are written by strangers: what they say stays inside the body, as text, and never becomes a header or markup.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from hashlib import sha256
from html import escape
from typing import Any, NamedTuple, cast

_BREAKING = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONGEST_SUBJECT = 78


class _Unfolded(UnstructuredHeader):
    """A header on one line: where a long word is folded it is encoded, for people to read and not for programs."""

    name: str

    def fold(self, *, policy: EmailPolicy) -> str:
        """The line."""
        return f"{self.name}: {self}{policy.linesep}"


_HEADERS = HeaderRegistry()
# The registry makes the whole class of it.
_HEADERS.map_to_type("list-unsubscribe", cast(type[BaseHeader], _Unfolded))
_POLICY = SMTP.clone(header_factory=_HEADERS)


class Sender(NamedTuple):
    """Whose name and address letters bear."""

    name: str
    address: str


def letter(
    id: str,  # noqa: A002
    sender: Sender,
    recipient: str,
    notifications: Sequence[Mapping[str, Any]],
    unsubscribe: str,
    now: datetime,
) -> EmailMessage:
    """Compose it. The same id gives the same Message-ID, by which a letter sent twice is known."""
    message = _headed(id, sender, recipient, subject(notifications), now)
    # RFC 8058: both headers, and a link over https that is posted to.
    message["List-Unsubscribe"] = f"<{unsubscribe}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_as_text(notifications, unsubscribe))
    message.add_alternative(_as_html(notifications, unsubscribe), subtype="html")
    return message


def confirmation(
    id: str,  # noqa: A002
    sender: Sender,
    recipient: str,
    subscriber: str,
    link: str,
    now: datetime,
) -> EmailMessage:
    """Compose the letter that asks whether its reader is the subscriber, in plain text: nobody has asked for it yet."""
    message = _headed(id, sender, recipient, "Do you want letters here?", now)
    message.set_content(
        f"Somebody who is called {subscriber} here has asked for letters to {recipient}.\n\n"
        f"If that was you, follow this link within three days:\n{link}\n\n"
        "If it was not, do nothing: no letters will come.\n"
    )
    return message


def _headed(id: str, sender: Sender, recipient: str, about: str, now: datetime) -> EmailMessage:  # noqa: A002
    message = EmailMessage(policy=_POLICY)
    domain = sender.address.rpartition("@")[2]
    message["From"] = Address(sender.name, addr_spec=sender.address)
    message["To"] = Address(addr_spec=recipient)
    message["Subject"] = about
    message["Date"] = now
    message["Message-ID"] = f"<{sha256(id.encode()).hexdigest()[:32]}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    return message


def subject(notifications: Sequence[Mapping[str, Any]]) -> str:
    """One line: the post, or how many there are."""
    if len(notifications) != 1:
        return f"{len(notifications)} posts for you"
    line = _BREAKING.sub(" ", f"{_author(notifications[0])}: {post_text(notifications[0])}").strip()
    # The email package decodes encoded words in what it is given, line ends in them too, and writes those out.
    line = line.replace("=?", "= ?")
    return line if len(line) <= _LONGEST_SUBJECT else line[: _LONGEST_SUBJECT - 1] + "…"


def _as_text(notifications: Sequence[Mapping[str, Any]], unsubscribe: str) -> str:
    posts = (f"{_author(one)}:\n{post_text(one)}\n({_reasons(one)})\n" for one in notifications)
    return "\n".join([*posts, "--", f"No more of these letters: {unsubscribe}", ""])


def _as_html(notifications: Sequence[Mapping[str, Any]], unsubscribe: str) -> str:
    posts = "".join(
        f'<p><b>{escape(_author(one))}</b><br><span style="white-space: pre-line">{escape(post_text(one))}</span><br>'
        f"<small>{escape(_reasons(one))}</small></p>\n"
        for one in notifications
    )
    footer = f'<p><small><a href="{escape(unsubscribe)}">No more of these letters</a></small></p>\n'
    return f'<!doctype html>\n<html><head><meta charset="utf-8"></head><body>\n{posts}{footer}</body></html>\n'


def post_text(notification: Mapping[str, Any]) -> str:
    """What the post of a notification says, without what cannot be seen."""
    return _clean(_post(notification).get("text"))


def _author(notification: Mapping[str, Any]) -> str:
    return _BREAKING.sub(" ", _clean(_post(notification).get("author"))).strip() or "somebody"


def _reasons(notification: Mapping[str, Any]) -> str:
    reasons = notification.get("reasons") or [notification.get("topic", "")]
    named = [reason.get("subscription") if isinstance(reason, Mapping) else reason for reason in reasons]
    return _BREAKING.sub(" ", _clean(", ".join(map(str, named))))


def _post(notification: Mapping[str, Any]) -> Mapping[str, Any]:
    post = notification.get("post")
    return post if isinstance(post, Mapping) else {}


def _clean(value: object) -> str:
    """Text without what cannot be seen, what turns the direction of writing, and halves of characters."""
    return _UNSEEN.sub("", str(value or "").replace("\r\n", "\n")).encode(errors="replace").decode()
