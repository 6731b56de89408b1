"""Pushes as a push service on loopback receives them, and as the device reads them."""

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import http_ece
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st

from tests.deliver.loopback import Site, serving
from tidegate.deliver.outward import Outward
from tidegate.deliver.parcel import Outcome, Parcel, Result
from tidegate.deliver.public_addresses import networks
from tidegate.deliver.push import WebPush, message

NOW = 1_700_000_000
OURS = ec.derive_private_key(7, ec.SECP256R1())
DEVICE = ec.derive_private_key(11, ec.SECP256R1())
AUTH = bytes(range(16))


def base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def unbase64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def subscription(endpoint: str) -> dict[str, Any]:
    return {"endpoint": endpoint, "keys": {"p256dh": base64(point(DEVICE.public_key())), "auth": base64(AUTH)}}


def pushed(site: Site, *texts: str) -> Outcome:
    async def send() -> Outcome:
        channel = WebPush(
            Outward(allowed=networks(["127.0.0.0/8"])), OURS, "mailto:ops@tidegate.example", lambda: NOW * 1_000_000
        )
        async with serving(site):
            notifications = tuple({"post": {"text": text, "author": "bob"}} for text in texts)
            target = subscription(f"http://127.0.0.1:{site.port}/push/xyz")
            return await channel.send(Parcel("n-1", "ann", "push", target, notifications))

    return asyncio.run(send())


def opened(body: bytes) -> dict[str, Any]:
    read = json.loads(http_ece.decrypt(body, private_key=DEVICE, auth_secret=AUTH, version="aes128gcm"))
    assert isinstance(read, dict)
    return read


def test_the_device_and_only_the_device_can_read_a_push() -> None:
    site = Site(["201 Created"])
    assert pushed(site, "Sturmflut in Kiel ☔") == Outcome(Result.SENT)
    (request,) = site.requests
    assert request.line == "POST /push/xyz HTTP/1.1"
    assert request.headers["content-encoding"] == "aes128gcm"
    assert request.headers["ttl"] == "86400"
    assert b"Sturmflut" not in request.body
    shown = {"id": "n-1", "title": "bob: Sturmflut in Kiel ☔", "body": "Sturmflut in Kiel ☔", "count": 1}
    assert opened(request.body) == shown
    with pytest.raises(http_ece.ECEException):
        http_ece.decrypt(request.body, private_key=OURS, auth_secret=AUTH, version="aes128gcm")


def test_the_push_service_can_tell_who_sends() -> None:
    site = Site(["201 Created"])
    pushed(site, "x")
    scheme, _, parameters = site.requests[0].headers["authorization"].partition(" ")
    assert scheme == "vapid"
    given_ = dict(one.strip().split("=", 1) for one in parameters.split(","))
    assert unbase64(given_["k"]) == point(OURS.public_key())
    signed, _, signature = given_["t"].rpartition(".")
    raw = unbase64(signature)
    r, s = (int.from_bytes(half) for half in (raw[:32], raw[32:]))
    OURS.public_key().verify(utils.encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
    claims = json.loads(unbase64(signed.split(".")[1]))
    assert claims["aud"] == f"http://127.0.0.1:{site.port}"
    assert NOW < claims["exp"] <= NOW + 86_400
    assert claims["sub"] == "mailto:ops@tidegate.example"


def test_a_digest_is_one_push_that_says_how_many() -> None:
    site = Site(["201 Created"])
    pushed(site, "one", "two", "three")
    assert opened(site.requests[0].body)["count"] == 3


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("404 Not Found", Result.GONE),
        ("410 Gone", Result.GONE),
        ("429 Slowly\r\nRetry-After: 7", Result.LATER),
        ("500 Broken", Result.LATER),
        ("307 Inwards\r\nLocation: http://127.0.0.1/", Result.FAILED),
    ],
)
def test_what_the_service_says_decides(answer: str, result: Result) -> None:
    assert pushed(Site([answer]), "x").result is result


@pytest.mark.parametrize(
    "target",
    [
        subscription("http://127.0.0.1:1/"),
        subscription("http://169.254.169.254/latest"),
        {"endpoint": "https://push.example/", "keys": {"p256dh": base64(b"\4" + bytes(64)), "auth": base64(AUTH)}},
        {"endpoint": "https://push.example/"},
        {},
    ],
)
def test_addresses_that_lead_inwards_and_keys_that_are_none_fail_for_good(target: dict[str, Any]) -> None:
    channel = WebPush(Outward(), OURS, "mailto:ops@tidegate.example", lambda: NOW * 1_000_000)
    outcome = asyncio.run(channel.send(Parcel("n", "ann", "push", target, ({"post": {"text": "x"}},))))
    assert outcome.result is Result.FAILED


@given(st.text(max_size=2_000), st.text(max_size=200), st.text(max_size=200))
def test_every_message_is_small_enough_for_every_service(text: str, author: str, name: str) -> None:
    assert len(message(name, [{"post": {"text": text, "author": author}}])) <= 3_993


def test_the_largest_characters_fit_too() -> None:
    assert len(message("😀" * 100, [{"post": {"text": "😀" * 5_000, "author": "😀" * 100}}])) <= 3_993
