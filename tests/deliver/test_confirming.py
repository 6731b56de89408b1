"""Nothing is sent to an address but the letter that asks, until its reader has followed the link; and few of those."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from tests.deliver.delivery import Delivery, engine_of
from tests.deliver.scenes import DAY, Clock, match
from tests.deliver.test_mail import Postbox, post_office, read
from tidegate.deliver.confirming import VALID, Answer, Claim, Confirmations, ConfirmLinks
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.letter import Sender
from tidegate.deliver.mail import ConfirmationMail, MailServer
from tidegate.deliver.outbox import Outbox
from tidegate.deliver.parcel import Parcel
from tidegate.deliver.planning import CONFIRMATION
from tidegate.deliver.retention import Retention
from tidegate.deliver.schema import OUTBOX
from tidegate.deliver.subscribers import Subscribers

ADDRESS = "ana@example.org"


@pytest.fixture
def confirmations(database: Database, clock: Clock) -> Confirmations:
    return Confirmations(database, clock)


def name_address(database: Database, address: str | None, name: str = "ana", **preferences: object) -> None:
    addresses = {} if address is None else {"email": address}
    Subscribers(database).put(name, {"addresses": addresses, **preferences})


def ordered(database: Database, clock: Clock) -> list[str | None]:
    """The addresses that letters which ask are sent to now."""
    outbox = Outbox(database, clock)
    taken = outbox.take([CONFIRMATION])
    for one in taken:
        outbox.sent(one.lease)
    return [one.order.device for one in taken]


def test_letters_are_sent_when_the_address_is_confirmed_and_not_before(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    delivery, inbox = Delivery(database, clock, ["email", CONFIRMATION]), Inbox(database, clock)
    name_address(database, ADDRESS)
    inbox.add([match("ana", "p")], "run", 0)
    assert confirmations.ask("ana") is Answer.ON_ITS_WAY
    delivery.run()
    assert delivery["email"] == []
    assert [parcel.target for parcel in delivery.channels[CONFIRMATION].parcels] == [{"email": ADDRESS}]
    assert confirmations.confirm("ana", ADDRESS)
    assert confirmations.ask("ana") is Answer.CONFIRMED
    inbox.add([match("ana", "q")], "run", 1)
    delivery.run()
    assert delivery["email"] == [["q"]]
    name_address(database, "eve@example.org")
    inbox.add([match("ana", "r")], "run", 2)
    delivery.run()
    assert delivery["email"] == [["q"]], "another address has to be confirmed again"
    assert len(delivery.channels[CONFIRMATION].parcels) == 1


def test_what_was_ordered_for_one_address_is_not_sent_to_another(database: Database, clock: Clock) -> None:
    """The order stands; the address has been changed by the time it is sent."""
    delivery = Delivery(database, clock, ["email"])
    name_address(database, ADDRESS)
    Confirmations(database).confirm("ana")
    Inbox(database, clock).add([match("ana", "p")], "run", 0)
    engine = engine_of(database, {**delivery.channels}, clock)
    assert engine.deciding.round().orders == 1
    name_address(database, "eve@example.org")
    delivery.run()
    assert delivery["email"] == []


def test_a_digest_waits_for_nobody_who_has_confirmed_no_address(database: Database, clock: Clock) -> None:
    delivery = Delivery(database, clock, ["email"])
    name_address(database, ADDRESS, digest={"every": "hour"})
    Inbox(database, clock).add([match("ana", "p")], "run", 0)
    assert delivery.run().tally.waiting == 0


def test_a_mailbox_is_asked_a_few_times_whoever_names_it_and_however_it_is_written(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    answers = []
    for number, address in enumerate(("ana@example.org", "Ana@example.org", "ana+1@Example.org", "ana+2@example.org")):
        name_address(database, address, f"s{number}")
        answers.append(confirmations.ask(f"s{number}"))
    assert answers == [Answer.ON_ITS_WAY] * 3 + [Answer.TOO_OFTEN]
    name_address(database, "ana@example.com", "other")
    name_address(database, "anabel@example.org", "another")
    assert {confirmations.ask(name) for name in ("other", "another")} == {Answer.ON_ITS_WAY}
    assert len(ordered(database, clock)) == 5
    later = []
    for _ in range(10):
        clock.now += DAY
        later.append(confirmations.ask("s3", again=True))
        ordered(database, clock)
    assert later == [Answer.ON_ITS_WAY] * 3 + [Answer.TOO_OFTEN] * 7
    clock.now += 31 * DAY
    assert confirmations.ask("s3") is Answer.ON_ITS_WAY


def test_a_subscriber_has_letters_sent_to_few_strangers(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    answers = []
    for number in range(6):
        name_address(database, f"stranger{number}@example.org")
        answers.append(confirmations.ask("ana"))
    assert answers == [Answer.ON_ITS_WAY] * 5 + [Answer.TOO_OFTEN]
    delivery = Delivery(database, clock, [CONFIRMATION])
    delivery.run()
    assert delivery.channels[CONFIRMATION].parcels == [], "it names none of them any more"


def test_those_who_ask_at_the_same_time_are_counted(database: Database, clock: Clock) -> None:
    names = [f"s{number}" for number in range(12)]
    for name in names:
        name_address(database, ADDRESS, name)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(Confirmations(database, clock).ask, names))
    assert sorted(answer.name for answer in answers) == ["ON_ITS_WAY"] * 3 + ["TOO_OFTEN"] * 9


def test_a_letter_that_waits_is_enough(database: Database, clock: Clock, confirmations: Confirmations) -> None:
    name_address(database, ADDRESS)
    assert [confirmations.ask("ana", again=True) for _ in range(10)] == [Answer.ON_ITS_WAY] * 10
    assert ordered(database, clock) == [ADDRESS]


def test_a_letter_that_has_arrived_is_enough_while_its_link_is_valid(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    name_address(database, ADDRESS)
    sent = []
    for age in (0, 1, VALID - 2, 1):
        clock.now += age
        assert confirmations.ask("ana") is Answer.ON_ITS_WAY
        sent.append(len(ordered(database, clock)))
    assert sent == [1, 0, 0, 1]


def test_a_letter_that_did_not_arrive_is_none(database: Database, clock: Clock, confirmations: Confirmations) -> None:
    name_address(database, ADDRESS)
    confirmations.ask("ana")
    outbox = Outbox(database, clock)
    (failed,) = outbox.take([CONFIRMATION])
    outbox.give_up(failed.lease, "no such mailbox")
    clock.now += 1
    confirmations.ask("ana")
    assert ordered(database, clock) == [ADDRESS]


def test_who_wants_no_letters_is_not_asked(database: Database, clock: Clock, confirmations: Confirmations) -> None:
    assert confirmations.ask("nobody") is Answer.NO_ADDRESS
    name_address(database, None)
    assert confirmations.ask("ana") is Answer.NO_ADDRESS
    assert not confirmations.confirm("ana")
    name_address(database, ADDRESS, refuse=["email"])
    assert confirmations.ask("ana") is Answer.NO_ADDRESS
    assert ordered(database, clock) == []


def test_only_the_address_that_is_named_now_can_be_confirmed(database: Database, confirmations: Confirmations) -> None:
    name_address(database, ADDRESS)
    assert not confirmations.confirm("ana", "eve@example.org")
    assert not confirmations.confirm("nobody", ADDRESS)
    record = Subscribers(database).get("ana")
    assert record is not None
    assert record.is_confirmed is False


def test_the_letter_has_a_link_that_expires_and_that_nobody_can_make_up(clock: Clock) -> None:
    links = ConfirmLinks("https://tide.example/confirm/", b"k" * 32, clock)
    postbox = Postbox()

    async def send() -> None:
        async with post_office(postbox) as port:
            server = MailServer("127.0.0.1", port, "none", timeout=10)
            await ConfirmationMail(server, Sender("Tidegate", "news@tide.example"), links, clock).send(parcel)

    parcel = Parcel("c-1", "ana", CONFIRMATION, {"email": ADDRESS}, ())
    asyncio.run(send())
    assert postbox.recipients == [ADDRESS]
    text = read(postbox.letters[0]).get_content()
    (link,) = [word for word in text.split() if word.startswith(links.base)]
    token = link.removeprefix(links.base)
    assert links.claim(token) == Claim("ana", ADDRESS)
    assert ConfirmLinks("", b"x" * 32, clock).claim(token) is None
    clock.now += 3 * DAY - 1
    assert links.claim(token) is not None
    clock.now += 1
    assert links.claim(token) is None
    assert links.claim("AAAA") is None


def test_neither_retention_nor_a_new_name_makes_room_for_further_letters_to_a_mailbox(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    """Whoever may remove subscribers and make others, on somebody's behalf, could flood a stranger otherwise."""
    subscribers = Subscribers(database, clock)
    answers = []
    for day in range(4):
        for name in (f"ana{day}", f"ben{day}"):
            name_address(database, ADDRESS, name)
            answers.append(confirmations.ask(name))
        ordered(database, clock)
        for name in (f"ana{day}", f"ben{day}"):
            subscribers.remove(name)
        clock.now += DAY + 1
        Retention(database, clock, days=0.5, pause_s=0).run()
    assert answers == [Answer.ON_ITS_WAY] * 6 + [Answer.TOO_OFTEN] * 2
    with database.reading() as connection:
        assert "example" not in str(connection.execute(select(OUTBOX)).all()), "and nobody can read whose it is"
    clock.now += 27 * DAY
    Retention(database, clock, days=0.5, pause_s=0).run()
    with database.reading() as connection:
        assert len(connection.execute(select(OUTBOX)).all()) < 6


def test_a_letter_that_waits_is_not_sent_for_who_was_removed(
    database: Database, clock: Clock, confirmations: Confirmations
) -> None:
    name_address(database, ADDRESS)
    assert confirmations.ask("ana") is Answer.ON_ITS_WAY
    Subscribers(database, clock).remove("ana")
    assert ordered(database, clock) == []
    name_address(database, ADDRESS)
    assert confirmations.ask("ana") is Answer.ON_ITS_WAY
    assert ordered(database, clock) == [ADDRESS]
