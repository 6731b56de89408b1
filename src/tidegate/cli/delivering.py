"""`tidegate deliver`: the engine of delivery, with the channels that it is given, until it is stopped."""

import asyncio
import gc
import logging
import random
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from tidegate.deliver.addresses import mail_address
from tidegate.deliver.breaker import Breakers
from tidegate.deliver.clock import now
from tidegate.deliver.confirming import ConfirmLinks
from tidegate.deliver.courier import Courier
from tidegate.deliver.database import Database
from tidegate.deliver.deciding import Deciding
from tidegate.deliver.digesting import Digesting
from tidegate.deliver.engine import Engine, Tally
from tidegate.deliver.letter import Sender
from tidegate.deliver.mail import ConfirmationMail, Mail, MailServer
from tidegate.deliver.outbox import Outbox
from tidegate.deliver.outward import Outward
from tidegate.deliver.packing import PackedParcels
from tidegate.deliver.parcel import Channel
from tidegate.deliver.planning import CONFIRMATION, SENT
from tidegate.deliver.public_addresses import networks
from tidegate.deliver.published import CONFIRM, UNSUBSCRIBE, PublicAddress
from tidegate.deliver.push import WebPush
from tidegate.deliver.retention import Retention
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.signing_keys import SigningKeys
from tidegate.deliver.unsubscribing import UnsubscribeLinks
from tidegate.deliver.upkeep import Upkeep
from tidegate.deliver.watched_rules import RuleFile, WatchedRules
from tidegate.deliver.webhook import Webhook
from tidegate.deliver.webhook_secrets import WebhookSecrets
from tidegate.errors import ConfigError
from tidegate.serve.standing_rows import StandingRows
from tidegate.serve.wishes import known_from

if TYPE_CHECKING:
    from tidegate.store.store import Store

# How letters are handed in, and the usual port.
_MAIL = {"smtp": ("starttls", 587), "smtps": ("tls", 465), "smtp+plain": ("none", 25)}
_EVERY_S = 5.0


@dataclass(frozen=True)
class Delivery:
    """What the command was asked for."""

    database: str
    rules: Path | None = None
    store: "Store | None" = None
    smtp: str | None = None
    password: str | None = None
    sender: str | None = None
    links: str | None = None
    contact: str | None = None
    allow: Sequence[str] = ()
    once: bool = False
    skip: bool = False
    keep_days: float = 90


def deliver(console: Console, asked: Delivery) -> None:
    """Deliver, and say at the end what was done."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[_handler()])
    database = Database.open(asked.database)
    try:
        channels = _channels(asked, database)
        engine, deciding = _engine(asked, database, channels)
        if asked.skip:
            deciding.pass_over()
        ways = ", ".join(channel for channel in channels if channel in SENT)
        about = f"delivering from {database.name} by {ways}, {_rules_named(asked)}"
        console.print(escape(about), soft_wrap=True, highlight=False)
        if asked.store is None:
            console.print("without --store nothing is sent to subscribers that want only some tags", soft_wrap=True)
        # What is there by now stays: the collector need not look through it again and again.
        gc.freeze()
        asyncio.run(engine.once() if asked.once else _until_stopped(console, engine))
    finally:
        database.close()
    console.print(f"stopped: {told(engine.tally)}", soft_wrap=True, highlight=False)


def told(tally: Tally) -> str:
    """What was done, on one line; what did not happen is left out."""
    parts = [
        (tally.waiting, "put into digests"),
        (tally.digests, "digests closed"),
        (tally.sent, "sent"),
        (tally.postponed, "put off"),
        (tally.given_up, "given up"),
        (tally.forgotten, "forgotten"),
    ]
    return ", ".join(
        [f"{tally.notifications:,} notifications decided", *(f"{count:,} {what}" for count, what in parts if count)]
    )


def mail_server(address: str, password: str | None) -> MailServer:
    """Read where letters are handed in, as in smtp://USER@HOST:587.

    >>> mail_server("smtps://mail.example", None).port
    465
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in _MAIL or parts.path.strip("/") or parts.password:
        raise ConfigError(
            f"--smtp is {address!r:.80}: write smtp://USER@HOST:PORT, smtps:// for TLS from the beginning, or "
            "smtp+plain:// for none; the password is taken from TIDEGATE_SMTP_PASSWORD"
        )
    security, usual = _MAIL[parts.scheme]
    return MailServer(host, port or usual, security, parts.username, password)


def _channels(asked: Delivery, database: Database) -> dict[str, Channel]:
    keys = SigningKeys(database)
    outward = Outward(allowed=networks(asked.allow))
    channels: dict[str, Channel] = {"webhook": Webhook(outward, Breakers(now), now)}
    if asked.smtp is not None:
        channels |= _mail(asked, asked.smtp, keys, PublicAddress(database).get())
    if asked.contact is not None:
        if not asked.contact.startswith(("mailto:", "https://")):
            raise ConfigError(f"--contact is {asked.contact!r:.80}: give mailto:ADDRESS or an address with https://")
        channels["push"] = WebPush(outward, keys.push, asked.contact, now)
    return channels


def _mail(asked: Delivery, smtp: str, keys: SigningKeys, service: str | None) -> dict[str, Channel]:
    links = asked.links or (None if service is None else service + UNSUBSCRIBE)
    if asked.sender is None or links is None:
        raise ConfigError(
            "--smtp needs --from, whom letters are from, and --links, where their readers unsubscribe, unless "
            "tidegate serve --public-address has said so"
        )
    # Mail programs post to it by themselves (RFC 8058), so it must not be read on the way.
    if not links.startswith("https://") or not links.endswith("/"):
        raise ConfigError(f"--links is {links!r:.80}: give an address with https:// that ends with a slash")
    name, address = parseaddr(asked.sender)
    sender = Sender(name or "Tidegate", mail_address("--from", address))
    server = mail_server(smtp, asked.password)
    # Beside the one for the other: a proxy that passes on this passes on that.
    confirm = links.removesuffix("/").rpartition("/")[0] + CONFIRM
    return {
        "email": Mail(server, sender, UnsubscribeLinks(links, keys.unsubscribe), now),
        CONFIRMATION: ConfirmationMail(server, sender, ConfirmLinks(confirm, keys.confirm), now),
    }


def _engine(asked: Delivery, database: Database, channels: Mapping[str, Channel]) -> tuple[Engine, Deciding]:
    served = frozenset(channels)
    source = RuleTable(database) if asked.rules is None else RuleFile(asked.rules)
    known = (lambda _: {}) if asked.store is None else known_from(StandingRows(asked.store))
    deciding = Deciding(database, WatchedRules(source), served, now, known)
    parcels = PackedParcels(database, Outbox(database), served, WebhookSecrets(database).valid)
    courier = Courier(parcels, channels, now, random.random)
    upkeep = Upkeep(database, Retention(database, days=asked.keep_days)) if asked.keep_days else None
    return Engine(deciding, Digesting(database, served), courier, upkeep), deciding


async def _until_stopped(console: Console, engine: Engine) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for which in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(which, stop.set)
    reporting = asyncio.create_task(_report(console, engine.tally))
    try:
        await engine.run(stop)
    finally:
        reporting.cancel()
        with suppress(asyncio.CancelledError):
            await reporting


async def _report(console: Console, tally: Tally) -> None:
    """Say now and then what was done, if that is more than before."""
    shown = asdict(tally)
    while True:
        await asyncio.sleep(_EVERY_S)
        if asdict(tally) != shown:
            shown = asdict(tally)
            console.print(told(tally), soft_wrap=True, highlight=False)


def _rules_named(asked: Delivery) -> str:
    return "by the rules in the database" if asked.rules is None else f"by the rules in {asked.rules}"


def _handler() -> logging.Handler:
    return RichHandler(console=Console(stderr=True), show_time=False, show_path=False)
