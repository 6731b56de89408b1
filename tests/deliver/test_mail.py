"""Letters as a real SMTP server receives them: complete, unsubscribable by one click, and with no header injected."""

import asyncio
import email
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deliver.letter import Sender, letter
from tidegate.deliver.mail import Mail, MailServer
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.errors import ConfigError

LINKS = UnsubscribeLinks("https://tidegate.example/unsubscribe/", b"k" * 32)
SENDER = Sender("Tidegate", "posts@tidegate.example")
NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)


class Postbox:
    """Takes letters, or answers the recipient as it is told."""

    def __init__(self, answer: str = "250 OK", sender_answer: str = "250 OK") -> None:
        self.answer = answer
        self.sender_answer = sender_answer
        self.letters: list[bytes] = []
        self.recipients: list[str] = []

    async def handle_MAIL(self, _: Any, __: Any, envelope: Any, address: str, ___: Any) -> str:  # noqa: N802
        envelope.mail_from = address
        return self.sender_answer

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, ___: Any) -> str:  # noqa: N802
        if self.answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.answer

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        self.letters.append(envelope.content)
        self.recipients += envelope.rcpt_tos
        return "250 taken"


@asynccontextmanager
async def post_office(postbox: Postbox) -> AsyncIterator[int]:
    """Open on a port of loopback."""
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(postbox), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def notification(text: str, author: str = "bob", *subscriptions: str) -> dict[str, Any]:
    reasons = [{"subscription": one} for one in subscriptions or ("storms",)]
    return {"post": {"text": text, "author": author}, "reasons": reasons, "topic": "t"}


def parcel(*notifications: dict[str, Any], to: str = "ann@example.org") -> Parcel:
    return Parcel("n-1", "ann", "email", {"email": to}, notifications)


def mail(port: int, security: str = "none") -> Mail:
    server = MailServer("127.0.0.1", port, security, timeout=10)
    return Mail(server, SENDER, LINKS, lambda: int(NOW.timestamp()) * 1_000_000)


def sent(postbox: Postbox, *notifications: dict[str, Any], security: str = "none") -> Outcome:
    async def send() -> Outcome:
        async with post_office(postbox) as port:
            return await mail(port, security).send(parcel(*notifications))

    return asyncio.run(send())


def read(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def bodies(message: EmailMessage) -> tuple[str, str]:
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    assert plain is not None
    assert html is not None
    return plain.get_content().replace("\r\n", "\n"), html.get_content().replace("\r\n", "\n")


def test_a_letter_arrives_in_text_and_html_with_a_link_that_unsubscribes() -> None:
    postbox = Postbox()
    assert sent(postbox, notification("Stürm & <flut>\nin Kiel", "bøb", "s1", "s2")) == Outcome(Result.SENT)
    assert postbox.recipients == ["ann@example.org"]
    message = read(postbox.letters[0])
    assert message.get_content_type() == "multipart/alternative"
    assert message["From"] == "Tidegate <posts@tidegate.example>"
    assert message["To"] == "ann@example.org"
    assert message["Subject"] == "bøb: Stürm & <flut> in Kiel"
    assert message["Date"].datetime == NOW
    plain, html = bodies(message)
    assert "Stürm & <flut>\nin Kiel" in plain
    assert "(s1, s2)" in plain
    assert "Stürm &amp; &lt;flut&gt;\nin Kiel" in html
    link = str(message["List-Unsubscribe"]).strip("<> ")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert link in plain
    assert link in html
    assert LINKS.wish(link.removeprefix(LINKS.base)) == Wish("ann", "email")


@pytest.mark.parametrize("length", [1, 20, 64, 200])
def test_a_link_is_one_word_on_one_line_however_long(length: int) -> None:
    """Mail programs look for it in angle brackets, and make nothing of encoded words."""
    link = LINKS.link(Wish("a" * length, "email"))
    lines = letter("1", SENDER, "a@b.c", [], link, NOW).as_bytes().split(b"\r\n")
    assert f"List-Unsubscribe: <{link}>".encode() in lines
    assert max(map(len, lines)) <= 998


def test_the_same_parcel_has_the_same_message_id() -> None:
    made = [letter(id_, SENDER, "a@b.c", [], "https://u", NOW)["Message-ID"] for id_ in ("1", "1", "2")]
    assert made[0] == made[1] != made[2]


def test_a_digest_is_one_letter() -> None:
    postbox = Postbox()
    sent(postbox, notification("first"), notification("second"), notification("third"))
    (raw,) = postbox.letters
    assert read(raw)["Subject"] == "3 posts for you"
    plain, html = bodies(read(raw))
    for body in (plain, html):
        assert body.index("first") < body.index("second") < body.index("third")


@pytest.mark.parametrize(
    "evil",
    [
        "hello\r\nBcc: all@example.org",
        "hello\nBcc: all@example.org\n\nbody",
        "hello\rBcc: all@example.org",
        "hello\u2028Bcc: all@example.org",
        "hello\x0bBcc: all@example.org\x00",
        "\r\n.\r\nMAIL FROM:<evil@example.org>",
        "=?utf-8?q?x=0D=0ABcc:_all=40example.org?=",
        "==??utf-8?q?x=0D=0ABcc:_all=40example.org?=",
    ],
)
def test_no_post_can_add_a_header_or_a_letter(evil: str) -> None:
    postbox = Postbox()
    assert sent(postbox, notification(evil, evil, evil)).result is Result.SENT
    assert len(postbox.letters) == 1
    assert postbox.recipients == ["ann@example.org"]
    assert read(postbox.letters[0])["Bcc"] is None


@given(st.text(max_size=200), st.text(max_size=50), st.text(max_size=50))
def test_any_post_makes_a_letter_with_the_same_headers(text: str, author: str, subscription: str) -> None:
    made = letter(
        "n", SENDER, "ann@example.org", [notification(text, author, subscription)], "https://u.example/x", NOW
    )
    message = read(made.as_bytes())
    assert message.keys() == letter("n", SENDER, "ann@example.org", [], "https://u.example/x", NOW).keys()
    assert len(message["Subject"]) <= 78
    _, html = bodies(message)
    assert html.count("<a ") == html.count("<p>") - 1 == html.count("<b>") == 1


def test_nothing_that_strangers_write_is_markup() -> None:
    evil = "<img src=x onerror=alert(1)>"
    made = letter("n", SENDER, "ann@example.org", [notification(evil, evil, evil)], "https://u.example/x", NOW)
    _, html = bodies(read(made.as_bytes()))
    assert ("<img" in html, html.count("&lt;img")) == (False, 3)


@pytest.mark.parametrize("post", [None, {}, {"text": None}, {"text": 5, "author": ["x"]}, "text"])
def test_posts_without_text_or_author_are_no_trouble(post: Any) -> None:
    assert letter("n", SENDER, "a@b.c", [{"post": post, "reasons": None}], "https://u", NOW).as_bytes()


@pytest.mark.parametrize(
    ("answer", "result"),
    [("550 no such user", Result.FAILED), ("450 try again", Result.LATER), ("421 busy", Result.LATER)],
)
def test_what_the_server_says_decides(answer: str, result: Result) -> None:
    outcome = sent(Postbox(answer), notification("x"))
    assert outcome.result is result
    assert answer in outcome.detail


def test_a_sender_that_is_refused_loses_no_letters() -> None:
    assert sent(Postbox(sender_answer="550 who are you"), notification("x")).result is Result.LATER


def test_a_server_that_is_not_there_may_come_back() -> None:
    assert asyncio.run(mail(port=1).send(parcel(notification("x")))).result is Result.LATER


@pytest.mark.parametrize("to", ["ann@example.org\r\nRCPT TO:<all@example.org>", "ann", "", "a@b, c@d"])
def test_addresses_that_are_none_fail_for_good(to: str) -> None:
    assert asyncio.run(mail(port=1).send(parcel(notification("x"), to=to))).result is Result.FAILED


def test_no_password_and_no_letter_goes_out_in_the_clear_when_tls_was_asked_for() -> None:
    with pytest.raises(ConfigError, match="only sent over TLS"):
        MailServer("mail.example", security="none", user="u", password="p")
    with pytest.raises(ConfigError, match="give one of none, starttls, tls"):
        MailServer("mail.example", security="ssl")
    postbox = Postbox()
    assert sent(postbox, notification("x"), security="starttls").result is Result.LATER
    assert not postbox.letters


@given(st.text(max_size=30), st.sampled_from(["email", "push"]))
def test_links_lead_back_to_the_wish_and_cannot_be_made_up(subscriber: str, channel: str) -> None:
    token = LINKS.link(Wish(subscriber, channel)).removeprefix(LINKS.base)
    assert LINKS.wish(token) == Wish(subscriber, channel)
    assert UnsubscribeLinks(LINKS.base, b"other").wish(token) is None
    altered = token[:-2] + ("AA" if not token.endswith("AA") else "BB")
    assert LINKS.wish(altered) in (None, Wish(subscriber, channel))  # the last bits of base64 may mean nothing


@given(st.text(max_size=60))
def test_anything_else_is_no_link_of_ours(token: str) -> None:
    assert LINKS.wish(token) is None
