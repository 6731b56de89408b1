"""`tidegate deliver` as a person uses it: webhooks to a server on loopback, clean ends, errors that say what to do."""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.cli.test_commands import tidegate
from tests.deliver.loopback import Site, serving
from tests.deliver.scenes import match
from tests.deliver.test_mail import Postbox, post_office
from tests.survival.process import Process
from tidegate.deliver.clock import SECOND, now
from tidegate.deliver.confirming import Claim, Confirmations, ConfirmLinks
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.published import PublicAddress
from tidegate.deliver.signature import is_genuine
from tidegate.deliver.signing_keys import SigningKeys
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.deliver.webhook_secrets import WebhookSecrets

PROGRAM = "import sys; from tidegate.cli.app import main; sys.argv[0] = 'tidegate'; main()"


async def happened(claim: Callable[[], bool], process: Process) -> None:
    async with asyncio.timeout(60):
        while not claim():
            assert process.is_running(), process.last_words()
            await asyncio.sleep(0.02)


def test_a_webhook_that_fails_is_called_again_until_it_takes_what_it_is_sent(url: str, tmp_path: Path) -> None:
    site = Site(answers=["503 Busy", "204 No Content"])
    database = Database.open(url)

    async def delivered() -> Process:
        async with serving(site):
            hook = f"http://127.0.0.1:{site.port}/in"
            Subscribers(database).put("ana", {"addresses": {"webhook": hook}})
            Inbox(database).add([match("ana", "p")], "run", 0)
            options = ["deliver", "--database", url, "--allow", "127.0.0.0/8"]
            process = Process([sys.executable, "-c", PROGRAM, *options], tmp_path / "log")
            try:
                await happened(lambda: len(site.requests) == 2, process)
                Inbox(database).add([match("ana", "q")], "run", 1)
                await happened(lambda: len(site.requests) == 3, process)
            finally:
                await asyncio.to_thread(process.terminate)
        return process

    said = asyncio.run(delivered()).last_words()
    assert "by webhook, by the rules in the database" in said
    assert "stopped: 2 notifications decided, 2 sent, 1 put off" in said
    secret = WebhookSecrets(database).current("ana")
    assert secret is not None
    for request, post in zip(site.requests, ["p", "p", "q"], strict=True):
        assert is_genuine(secret, request.headers, request.body, now() // SECOND)
        assert [one["id"] for one in json.loads(request.body)["notifications"]] == [post]
    first, again, other = (request.headers["webhook-id"] for request in site.requests)
    assert first == again != other
    database.close()


def test_what_can_be_done_now_is_done_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/inbox.db"
    database = Database.open(url)
    Subscribers(database).put("ana", {"addresses": {"webhook": "http://127.0.0.1:9/in"}})
    Inbox(database).add([match("ana", "p"), match("ben", "p")], "run", 0)
    # Without leave, loopback is not called.
    done = tidegate("deliver", "--database", url, "--once")
    assert done.returncode == 0, done.stderr
    assert "stopped: 2 notifications decided, 1 given up" in done.stdout
    Inbox(database).add([match("ana", "q")], "run", 1)
    assert "stopped: 0 notifications decided" in tidegate("deliver", "--database", url, "--once", "--skip").stdout
    database.close()


def handed_in(url: str, postbox: Postbox, *options: str) -> str:
    """Deliver once, with letters to a post office of ours; return what the command says."""

    async def delivered() -> str:
        async with post_office(postbox) as port:
            sender = ["--smtp", f"smtp+plain://127.0.0.1:{port}", "--from", "News <news@example.org>"]
            command = ["deliver", "--database", url, "--once", *sender, *options]
            return (await asyncio.to_thread(tidegate, *command)).stdout

    return asyncio.run(delivered())


def test_letters_are_handed_in_with_a_link_that_unsubscribes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/inbox.db"
    database = Database.open(url)
    Subscribers(database).put("ana", {"addresses": {"email": "ana@example.org"}})
    Confirmations(database).confirm("ana")
    Inbox(database).add([match("ana", "p")], "run", 0)
    postbox, base = Postbox(), "https://example.org/unsubscribe/"

    assert "stopped: 1 notifications decided, 1 sent" in handed_in(url, postbox, "--links", base)
    (letter,) = map(message_from_bytes, postbox.letters)
    assert (letter["From"], letter["To"]) == ("News <news@example.org>", "ana@example.org")
    token = str(letter["List-Unsubscribe"]).strip("\r\n <>").removeprefix(base)
    links = UnsubscribeLinks(base, SigningKeys(database).unsubscribe)
    assert links.wish(token) == Wish("ana", "email")
    database.close()


def test_links_lead_to_the_service_if_it_has_said_where_it_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/inbox.db"
    database = Database.open(url)
    Subscribers(database).put("ana", {"addresses": {"email": "ana@example.org"}})
    Confirmations(database).confirm("ana")
    Inbox(database).add([match("ana", "p")], "run", 0)
    PublicAddress(database).publish("https://tide.example/")
    postbox = Postbox()

    handed_in(url, postbox)
    (letter,) = map(message_from_bytes, postbox.letters)
    assert str(letter["List-Unsubscribe"]).strip().startswith("<https://tide.example/unsubscribe/")
    database.close()


def test_an_address_that_is_not_confirmed_is_asked_about_and_nothing_else(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/inbox.db"
    database = Database.open(url)
    Subscribers(database).put("ana", {"addresses": {"email": "ana@example.org"}})
    Confirmations(database).ask("ana")
    Inbox(database).add([match("ana", "p")], "run", 0)
    postbox, base = Postbox(), "https://example.org/unsubscribe/"

    assert "stopped: 1 notifications decided, 1 sent" in handed_in(url, postbox, "--links", base)
    (letter,) = map(message_from_bytes, postbox.letters)
    assert letter["Subject"] == "Do you want letters here?"
    (link,) = re.findall(r"https://example.org/confirm/(\S+)", letter.get_payload(decode=True).decode())  # type: ignore[union-attr]
    assert ConfirmLinks("", SigningKeys(database).confirm).claim(link) == Claim("ana", "ana@example.org")
    database.close()


MAIL = ("--smtp", "smtp://mail.example", "--from", "ops@example.org", "--links", "https://example.org/unsubscribe/")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--database", "mysql://host/inbox"), "'mysql' is no database that is known here"),
        (("--rules", "absent.json"), "absent.json: no rules can be read"),
        (MAIL[:2], "--smtp needs --from"),
        ((*MAIL, "--smtp", "mail.example:25"), "write smtp://USER@HOST:PORT"),
        ((*MAIL, "--smtp", "smtp://a:b@mail.example"), "the password is taken from TIDEGATE_SMTP_PASSWORD"),
        ((*MAIL, "--smtp", "smtp+plain://ops@mail.example"), "a password is only sent over TLS"),
        ((*MAIL, "--from", "somebody"), "--from is 'somebody': give one e-mail address"),
        ((*MAIL, "--links", "http://example.org/"), "give an address with https://"),
        (("--contact", "ops@example.org"), "give mailto:ADDRESS"),
        (("--allow", "home"), "give a network such as"),
        (("--store", "absent"), "absent"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    done = tidegate("deliver", "--database", f"sqlite:///{tmp_path}/inbox.db", "--once", *options)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
