"""Webhooks are signed and retried, hosts that fail are left alone, and what arrives is what was signed."""

import asyncio
import json
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from tests.deliver.loopback import Site, serving
from tests.deliver.test_public_addresses import names
from tidegate.deliver.backoff import Backoff
from tidegate.deliver.breaker import Breakers, Patience
from tidegate.deliver.fields import as_microseconds
from tidegate.deliver.outward import Answer, NoAnswerError, Outward
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.public_addresses import networks
from tidegate.deliver.signature import is_genuine, secret_text, signed
from tidegate.deliver.webhook import Webhook
from tidegate.errors import ConfigError

SECOND = 1_000_000
NOW = 1_700_000_000
SECRET = secret_text(bytes(range(32)))
LOOPBACK = networks(["127.0.0.0/8"])


class Clock:
    now = NOW * SECOND

    def __call__(self) -> int:
        return self.now


def parcel(url: str, secret: str = SECRET) -> Parcel:
    return Parcel("n-1", "ann", "webhook", {"url": url, "secrets": [secret]}, ({"post": {"text": "tïde"}},))


def sent_to(site: Site, times: int = 1, patience: Patience = Patience()) -> list[Outcome]:  # noqa: B008
    async def attempts() -> list[Outcome]:
        clock = Clock()
        webhook = Webhook(Outward(allowed=LOOPBACK), Breakers(clock, patience), clock)
        async with serving(site):
            return [await webhook.send(parcel(f"http://127.0.0.1:{site.port}/in")) for _ in range(times)]

    return asyncio.run(attempts())


def test_what_arrives_is_signed_and_can_be_verified() -> None:
    site = Site()
    assert sent_to(site) == [Outcome(Result.SENT)]
    (request,) = site.requests
    assert request.headers["content-type"] == "application/json"
    assert is_genuine(SECRET, request.headers, request.body, NOW)
    assert json.loads(request.body) == {
        "id": "n-1",
        "subscriber": "ann",
        "notifications": [{"post": {"text": "tïde"}}],
    }


def test_signatures_are_those_of_the_specification() -> None:
    # An example of Standard Webhooks, computed by its reference implementation.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = signed([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(max_size=30), st.integers(-1_000, 1_000))
def test_what_was_altered_or_is_old_is_not_genuine(body: bytes, late: int) -> None:
    headers = signed([SECRET], "n-1", NOW, body)
    assert is_genuine(SECRET, headers, body, NOW + late) is (abs(late) <= 300)
    assert not is_genuine(SECRET, headers, body + b"!", NOW)
    assert not is_genuine(SECRET, {**headers, "webhook-id": "n-2"}, body, NOW)
    assert not is_genuine(SECRET, {**headers, "webhook-timestamp": str(NOW + 1)}, body, NOW)
    assert not is_genuine(secret_text(bytes(32)), headers, body, NOW)
    assert is_genuine(SECRET, {**headers, "webhook-signature": f"v1,no {headers['webhook-signature']}"}, body, NOW)
    assert not is_genuine(SECRET, {}, body, NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "whsec_ä", "None"])
def test_secrets_that_are_none_are_refused_without_being_told(secret: str) -> None:
    with pytest.raises(ConfigError, match="this one is not"):
        signed([secret], "n", NOW, b"")


@pytest.mark.parametrize(
    ("answer", "result", "wait"),
    [
        ("200 OK", Result.SENT, 0),
        ("410 Gone", Result.GONE, 0),
        ("307 Onwards\r\nLocation: http://127.0.0.1/", Result.FAILED, 0),
        ("404 Not Found", Result.LATER, 0),
        ("500 Broken", Result.LATER, 0),
        ("429 Slowly\r\nRetry-After: 90", Result.LATER, 90 * SECOND),
        ("503 Busy\r\nRetry-After: Tue, 14 Nov 2023 22:14:20 GMT", Result.LATER, 60 * SECOND),
        ("503 Busy\r\nRetry-After: soon", Result.LATER, 0),
        ("503 Busy\r\nRetry-After: 999999999", Result.LATER, 86_400 * SECOND),
    ],
)
def test_answers_decide_what_is_done_next(answer: str, result: Result, wait: int) -> None:
    (outcome,) = sent_to(Site([answer]))
    assert (outcome.result, outcome.wait, outcome.is_attempt) == (result, wait, True)


@given(st.text(max_size=40))
def test_no_wait_that_is_asked_for_is_an_error_or_longer_than_a_day(asked: str) -> None:
    assert 0 <= Answer(503, {"retry-after": asked}).wait(NOW * SECOND) <= 86_400 * SECOND


def test_dates_in_the_past_ask_for_no_wait() -> None:
    past = format_datetime(datetime(2001, 1, 1, tzinfo=UTC), usegmt=True)
    assert Answer(503, {"retry-after": past}).wait(NOW * SECOND) == 0


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost/", "ftp://example.org", "None"])
def test_addresses_that_may_not_be_called_fail_for_good(url: str) -> None:
    clock = Clock()
    webhook = Webhook(Outward(), Breakers(clock), clock)
    assert asyncio.run(webhook.send(parcel(url))).result is Result.FAILED


def test_a_host_that_keeps_failing_is_left_alone() -> None:
    site = Site(["500 Broken"])
    outcomes = sent_to(site, 6, Patience(failures=3, pause=10 * SECOND))
    assert [outcome.is_attempt for outcome in outcomes] == [True] * 3 + [False] * 3
    assert outcomes[-1].wait == 10 * SECOND
    assert len(site.requests) == 3


def test_a_host_that_answers_is_well_whatever_one_of_its_addresses_is() -> None:
    """Many subscribers may share a host: one with a wrong address must not cut off the others."""
    site = Site(["404 Not Found", "401 Unauthorized", "429 Slowly"])
    outcomes = sent_to(site, 6, Patience(failures=3, pause=10 * SECOND))
    assert [outcome.result for outcome in outcomes] == [Result.LATER] * 6
    assert all(outcome.is_attempt for outcome in outcomes)


def test_breakers_take_no_more_room_than_they_are_given() -> None:
    breakers = Breakers(Clock(), Patience(failures=1), most=3)
    for host in "abcd":
        breakers.failed(host)
    assert [breakers.is_open(host) for host in "abcd"] == [False, True, True, True]


def test_what_failed_side_by_side_is_not_held_against_a_host_many_times() -> None:
    clock = Clock()
    breakers = Breakers(clock, Patience(failures=2, pause=10 * SECOND, longest=3600 * SECOND))
    for _ in range(16):
        assert breakers.wait("a") == 0
    for _ in range(16):
        breakers.failed("a")
    assert breakers.wait("a") == 10 * SECOND
    clock.now += 10 * SECOND
    assert breakers.wait("a") == 0
    breakers.failed("a")
    assert breakers.wait("a") == 20 * SECOND


def test_a_breaker_opens_probes_once_and_closes() -> None:
    clock = Clock()
    breakers = Breakers(clock, Patience(failures=2, pause=10 * SECOND, longest=15 * SECOND))
    for _ in range(2):
        assert breakers.wait("a") == 0
        breakers.failed("a")
    assert breakers.is_open("a")
    assert breakers.wait("b") == 0, "hosts have nothing to do with one another"
    clock.now += 10 * SECOND
    assert breakers.wait("a") == 0, "one may try"
    assert breakers.wait("a") == 10 * SECOND, "and no other meanwhile"
    breakers.failed("a")
    assert breakers.wait("a") == 15 * SECOND, "the pause is doubled up to its limit"
    clock.now += 15 * SECOND
    assert breakers.wait("a") == 0
    breakers.succeeded("a")
    assert [breakers.wait("a") for _ in range(3)] == [0, 0, 0]
    assert not breakers.is_open("a")


def test_a_probe_that_never_reports_does_not_shut_a_host_out() -> None:
    clock = Clock()
    breakers = Breakers(clock, Patience(failures=1, pause=10 * SECOND))
    breakers.failed("a")
    clock.now += 10 * SECOND
    assert breakers.wait("a") == 0
    clock.now += 10 * SECOND
    assert breakers.wait("a") == 0


@given(st.integers(1, 2_000), st.floats(0, 1, exclude_max=True))
def test_waits_grow_within_their_bounds_and_end(failures: int, draw: float) -> None:
    backoff = Backoff(first=SECOND, factor=2.0, longest=100 * SECOND, attempts=1_000)
    wait = backoff.wait(failures, draw)
    if failures >= 1_000:
        assert wait is None
    else:
        full = min(2 ** (failures - 1), 100) * SECOND
        assert wait is not None
        assert full / 2 - 1 <= wait <= full


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(IPv4Address("127.0.0.7"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert", folder / "key"


def test_tls_asks_for_the_certificate_of_the_name_and_not_of_the_address(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "hooks.example")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)

    async def attempt() -> None:
        async with serving(Site(), server) as site:
            trusting = ssl.create_default_context(cafile=cert)
            outward = Outward(allowed=LOOPBACK, resolver=names("127.0.0.1"), tls=trusting)
            assert (await outward.post(f"https://hooks.example:{site.port}/", {}, b"")).is_success
            with pytest.raises(NoAnswerError):
                await outward.post(f"https://other.example:{site.port}/", {}, b"")
            with pytest.raises(NoAnswerError):
                await Outward(allowed=LOOPBACK, resolver=names("127.0.0.1")).post(
                    f"https://hooks.example:{site.port}/", {}, b""
                )

    asyncio.run(attempt())


def test_microseconds_of_a_date_are_exact() -> None:
    assert as_microseconds(datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=UTC)) == NOW * SECOND + 1
