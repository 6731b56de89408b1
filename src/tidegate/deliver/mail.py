"""The channel e-mail: letters over SMTP; and the channel of those that ask whether an address is right."""

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage

from tidegate.deliver.addresses import mail_address
from tidegate.deliver.clock import Clock
from tidegate.deliver.confirming import Claim, ConfirmLinks
from tidegate.deliver.fields import as_moment
from tidegate.deliver.letter import Sender, confirmation, letter
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.unsubscribing import UnsubscribeLinks, Wish
from tidegate.errors import ConfigError

SECURITY = ("none", "starttls", "tls")


@dataclass(frozen=True)
class MailServer:
    """Where letters are handed in; `security` is one of `SECURITY`, and what it asks for is never done without."""

    host: str
    port: int = 587
    security: str = "starttls"
    user: str | None = None
    password: str | None = None
    timeout: float = 20.0
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        """Refuse what would send a password in the clear."""
        if self.security not in SECURITY:
            raise ConfigError(f"the security of mail is {self.security!r}: give one of {', '.join(SECURITY)}")
        if self.user is not None and self.security == "none":
            raise ConfigError("a password is only sent over TLS: let the security of mail be starttls or tls")

    async def take(self, recipient: str, message: EmailMessage) -> Outcome:
        """Try once. A recipient or a letter that is refused for good (5xx) has failed, all else may succeed later."""
        try:
            await asyncio.to_thread(self.hand_in, message)
        except smtplib.SMTPRecipientsRefused as error:
            code, said = error.recipients[recipient]
            return _refusal(code, said)
        except smtplib.SMTPDataError as error:
            return _refusal(error.smtp_code, error.smtp_error)
        except (smtplib.SMTPException, OSError) as error:
            # No connection, no TLS, a password or a sender that is not accepted: the operator can repair it, and
            # nobody's letters should be lost until then.
            return Outcome(Result.LATER, f"{self.host}:{self.port} takes no letters: {error}")
        return Outcome(Result.SENT)

    def hand_in(self, message: EmailMessage) -> None:
        """Send, or raise what `smtplib` raises."""
        context = self.tls or ssl.create_default_context()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout, context=context)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=self.timeout)
        with server:
            if self.security == "starttls":
                server.starttls(context=context)
            if self.user is not None:
                server.login(self.user, self.password or "")
            server.send_message(message)


@dataclass(frozen=True)
class Mail:
    """Sends to targets {"email": ADDRESS}."""

    server: MailServer
    sender: Sender
    links: UnsubscribeLinks
    clock: Clock

    async def send(self, parcel: Parcel) -> Outcome:
        """Try once, as `MailServer.take` does."""
        try:
            recipient = mail_address("target.email", parcel.target.get("email"))
        except ConfigError as error:
            return Outcome(Result.FAILED, str(error))
        unsubscribe = self.links.link(Wish(parcel.subscriber, "email"))
        message = letter(parcel.id, self.sender, recipient, parcel.notifications, unsubscribe, _today(self.clock))
        return await self.server.take(recipient, message)


@dataclass(frozen=True)
class ConfirmationMail:
    """Asks at targets {"email": ADDRESS} whether letters may be sent there. The link counts from when it is sent."""

    server: MailServer
    sender: Sender
    links: ConfirmLinks
    clock: Clock

    async def send(self, parcel: Parcel) -> Outcome:
        """Try once, as `MailServer.take` does."""
        recipient = str(parcel.target["email"])
        link = self.links.link(Claim(parcel.subscriber, recipient))
        message = confirmation(parcel.id, self.sender, recipient, parcel.subscriber, link, _today(self.clock))
        return await self.server.take(recipient, message)


def _today(clock: Clock) -> datetime:
    return as_moment(clock()).replace(microsecond=0)


def _refusal(code: int, said: bytes | str) -> Outcome:
    words = said.decode(errors="replace") if isinstance(said, bytes) else said
    return Outcome(Result.FAILED if code >= 500 else Result.LATER, f"the mail server answered {code} {words}")
