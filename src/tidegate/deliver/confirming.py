"""Confirming an address: nothing else is sent there until whoever reads its letters has followed the link in one.

Anybody can name any address as its own. So letters that ask are few: to one mailbox, whoever names it, and on behalf of
one subscriber, whatever it names.
"""

import json
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Text, cast, func, select

from tidegate.deliver.audience import preferences_of
from tidegate.deliver.caps import Cap, admit
from tidegate.deliver.clock import DAY, Clock, now
from tidegate.deliver.database import Database
from tidegate.deliver.outbox import Order, Outbox
from tidegate.deliver.planning import CONFIRMATION
from tidegate.deliver.schema import OUTBOX, PROGRESS, SUBSCRIBERS
from tidegate.deliver.sealing import sealed, unsealed

TO_A_MAILBOX: Final = (Cap(3, DAY), Cap(6, 30 * DAY))
FOR_A_SUBSCRIBER: Final = (Cap(5, DAY), Cap(20, 30 * DAY))

VALID: Final = 3 * DAY
"""How long a link can be followed."""

MEMORY: Final = 30 * DAY
"""How long letters are counted, whatever retention says."""

_HELD: Final = PROGRESS.c.name == "confirming"


class Answer(Enum):
    """What became of the wish to have a letter sent."""

    ON_ITS_WAY = "the letter is on its way"
    CONFIRMED = "the address is confirmed already"
    NO_ADDRESS = "the subscriber has no e-mail address, or has turned letters off: change its preferences first"
    TOO_OFTEN = "too many such letters were asked for: try again tomorrow, or have an operator confirm the address"


class Confirmations:
    """Has letters sent that ask, and notes what was confirmed. May be shared by threads, and run in any process."""

    def __init__(self, database: Database, clock: Clock = now) -> None:
        """Use a database."""
        self._database, self._clock, self._outbox = database, clock, Outbox(database, clock)

    def ask(self, name: str, *, again: bool = False) -> Answer:
        """Have a letter sent to the address that a subscriber has named; one that is still to be sent is enough.

        So is one whose link can still be followed, unless it is to be asked `again`.
        """
        with self._database.writing() as connection:
            # One at a time: two could otherwise both be the last that is allowed.
            connection.execute(PROGRESS.update().where(_HELD).values(cursor=PROGRESS.c.cursor))
            row = connection.execute(select(SUBSCRIBERS).where(SUBSCRIBERS.c.name == name)).first()
            wishes = None if row is None else preferences_of(row.name, row.preferences, row.tags)
            if row is None or wishes is None or wishes.addresses.email is None or "email" in wishes.refuse:
                return Answer.NO_ADDRESS
            address = wishes.addresses.email
            if row.confirmed == address:
                return Answer.CONFIRMED
            if not self._is_asked(connection, name, address, again=again):
                if not self._is_allowed(connection, name, address):
                    return Answer.TOO_OFTEN
                key = f"{_mailbox(address)} {self._clock():020d}"
                self._outbox.add_within(connection, [Order(name, CONFIRMATION, key, (), address)])
        return Answer.ON_ITS_WAY

    def confirm(self, name: str, address: str | None = None) -> bool:
        """Note that a subscriber may have letters sent to an address; say whether that is the one it names.

        Without an address, it is the one that the subscriber names now.
        """
        own = SUBSCRIBERS.c.name == name
        with self._database.writing() as connection:
            row = connection.execute(select(SUBSCRIBERS).where(own).with_for_update()).first()
            named = None if row is None else preferences_of(row.name, row.preferences, row.tags).addresses.email
            if named is None or address not in (None, named):
                return False
            connection.execute(SUBSCRIBERS.update().where(own).values(confirmed=named))
            return True

    def _is_asked(self, connection: Connection, name: str, address: str, *, again: bool) -> bool:
        """Whether a letter waits, or has arrived and is no older than its link may be."""
        arrived = (OUTBOX.c.error.is_(None)) & (OUTBOX.c.added > self._clock() - VALID)
        which = OUTBOX.c.settled.is_(None) if again else OUTBOX.c.settled.is_(None) | arrived
        own = (OUTBOX.c.subscriber == name, OUTBOX.c.channel == CONFIRMATION, which)
        letters = connection.execute(select(OUTBOX.c.message).where(*own)).scalars()
        return any(json.loads(message)["device"] == address for message in letters)

    def _is_allowed(self, connection: Connection, name: str, address: str) -> bool:
        """Whether neither cap is reached: the letters of a mailbox are next to each other, in the order of time."""
        moment, mailbox = self._clock(), _mailbox(address)
        begin, end = f"{mailbox} {moment - MEMORY:020d}", f"{mailbox}!"
        to_it = self._times(connection, OUTBOX.c.key > begin, OUTBOX.c.key < end)
        for_it = self._times(connection, OUTBOX.c.subscriber == name, OUTBOX.c.added > moment - MEMORY)
        both = ((TO_A_MAILBOX, to_it), (FOR_A_SUBSCRIBER, for_it))
        return all(admit(caps, times, moment).is_granted for caps, times in both)

    def _times(self, connection: Connection, *which: Any) -> tuple[int, ...]:
        letters = select(OUTBOX.c.added).where(OUTBOX.c.channel == CONFIRMATION, *which)
        return tuple(connection.execute(letters.order_by(OUTBOX.c.added)).scalars())


class Claim(NamedTuple):
    """What a link stands for: letters to this subscriber may go to this address."""

    subscriber: str
    address: str


@dataclass(frozen=True)
class ConfirmLinks:
    """Links below `base`, as in https://tidegate.example/confirm/."""

    base: str
    key: bytes
    clock: Clock = now

    def link(self, claim: Claim) -> str:
        """The address that stands for the claim; opening it (GET) must do nothing, posting to it confirms."""
        return self.base + sealed(self.key, CONFIRMATION, json.dumps([self.clock() + VALID, *claim]))

    def claim(self, token: str) -> Claim | None:
        """What the last part of such an address stands for; None if it is not one of ours, or too old."""
        text = unsealed(self.key, CONFIRMATION, token)
        if text is None:
            return None
        until, subscriber, address = json.loads(text)
        return Claim(subscriber, address) if self.clock() < until else None


def forget_letters(connection: Connection, name: str, now: int) -> None:
    """Send no more letters for a subscriber that is removed; of those that were, only how many a mailbox got is kept.

    Its reader did not ask for them: who is removed and comes back is to have no more of them sent.
    """
    nobodys = {
        "subscriber": "",
        "key": OUTBOX.c.key + " " + cast(OUTBOX.c.number, Text),
        "message": "{}",
        "error": None,
    }
    settled = {"next_try": None, "settled": func.coalesce(OUTBOX.c.settled, now)}
    own = (OUTBOX.c.subscriber == name, OUTBOX.c.channel == CONFIRMATION)
    connection.execute(OUTBOX.update().where(*own).values(**nobodys, **settled))


def _mailbox(address: str) -> str:
    """Where letters end up, as far as can be told: many addresses may lead to one reader. It cannot be read from it."""
    local, _, domain = address.lower().rpartition("@")
    return blake2b(f"{local.partition('+')[0] or local}@{domain}".encode(), digest_size=16).hexdigest()
