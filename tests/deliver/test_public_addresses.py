"""Nothing that leads inwards is called: however it is spelled, whatever a name resolves to, wherever we are sent on."""

import asyncio
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deliver.loopback import Site, serving
from tidegate.deliver.outward import NoAnswerError, Outward
from tidegate.deliver.public_addresses import AddressError, Resolver, inward, networks, public_addresses, web_target
from tidegate.errors import ConfigError

INWARD = {
    "0.0.0.0": "this network",
    "10.1.2.3": "private",
    "100.64.0.1": "behind a carrier's NAT",
    "100.100.100.200": "behind a carrier's NAT",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "168.63.129.16": "a cloud's metadata",
    "169.254.169.254": "link-local",
    "172.31.255.255": "private",
    "192.0.0.192": "set aside",
    "192.168.0.1": "private",
    "198.18.0.1": "set aside",
    "203.0.113.9": "for documents",
    "224.0.0.1": "multicast",
    "255.255.255.255": "set aside",
    "::": "not public",
    "::1": "loopback",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:a9fe:a9fe": "link-local",
    "::127.0.0.1": "not public",
    "64:ff9b::a00:1": "private",
    "64:ff9b:1::a00:1": "not public",
    "100::1": "not public",
    "2001::1": "set aside",
    "2001:db8::1": "for documents",
    "2002:7f00:1::": "a tunnel",
    "fc00::1": "not public",
    "fd00:ec2::254": "not public",
    "fe80::1": "not public",
    "fe80::1%eth0": "not public",
    "fec0::1": "not public",
    "ff02::1": "not public",
}


def names(*addresses: str) -> Resolver:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolver


@pytest.mark.parametrize(("address", "kind"), INWARD.items())
def test_addresses_that_lead_inwards_are_known_by_their_kind(address: str, kind: str) -> None:
    assert inward(address) == kind


@pytest.mark.parametrize(
    "address", ["9.9.9.9", "100.63.255.255", "100.128.0.1", "172.32.0.1", "2620:fe::fe", "::ffff:9.9.9.9"]
)
def test_public_addresses_are_called(address: str) -> None:
    assert inward(address) is None


@given(st.ip_addresses(v=4).map(str))
def test_ipv4_in_other_clothes_is_what_it_is(address: str) -> None:
    number = int(IPv4Address(address))
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert inward(str(IPv6Address(prefix | number))) == inward(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(address: IPv4Address | IPv6Address) -> None:
    known = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    assert inward(str(address)) is not None or not known


def test_networks_can_be_allowed_and_no_others() -> None:
    allowed = networks(["10.1.0.0/16", "fd00:1::/64"])
    assert inward("10.1.2.3", allowed) is inward("fd00:1::5", allowed) is inward("::ffff:10.1.2.3", allowed) is None
    assert inward("10.2.2.3", allowed) == "private"
    with pytest.raises(ConfigError, match="give a network such as"):
        networks(["10.1.2.3/16"])


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://127.0.1/",
        "http://127.0.0.1.5/",
        "http://127.0.0.01/",
        "http://127.0.0.1./",
        "http://user@127.0.0.1/",
        "http://example.org@127.0.0.1/",
        "http://127.0.0.1:80@example.org/",
        "http://example.org\\@127.0.0.1/",
        "http://127.0.0.1\\.example.org/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://example.org:8a/",
        "http://exa mple.org/",
        "http://example.org/\r\nHost: inward",
        "http://exam\tple.org/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://[127.0.0.1]/",
        "http:///path",
        "http://.example.org/",
        "http://ex*mple.org/",
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "//example.org/",
        "example.org",
        "",
    ],
)
def test_addresses_that_could_be_read_in_two_ways_are_refused(url: str) -> None:
    with pytest.raises(AddressError):
        web_target(url)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.org", ("https", "example.org", 443, "/")),
        ("HTTP://Example.ORG:8080/a b?q=ü#part".replace(" ", "%20"), ("http", "example.org", 8080, "/a%20b?q=%C3%BC")),
        ("https://[2620:FE::fe]:1/", ("https", "2620:fe::fe", 1, "/")),
        ("https://bücher.example/", ("https", "xn--bcher-kva.example", 443, "/")),
        ("http://１２７.0.0.1/", ("http", "127.0.0.1", 80, "/")),
        ("http://9.9.9.9/#@127.0.0.1", ("http", "9.9.9.9", 80, "/")),
    ],
)
def test_addresses_are_taken_apart_once(url: str, target: tuple[str, str, int, str]) -> None:
    assert web_target(url) == target


@pytest.mark.parametrize("address", INWARD)
def test_a_name_is_refused_if_any_of_its_addresses_leads_inwards(address: str) -> None:
    for addresses in ([address], ["9.9.9.9", address], [address, "9.9.9.9"], ["2620:fe::fe", "9.9.9.9", address]):
        with pytest.raises(AddressError, match="only public addresses are called"):
            asyncio.run(public_addresses("innocent.example", 80, names(*addresses)))


@pytest.mark.parametrize("spelling", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"])
def test_a_server_of_our_own_is_not_reached(spelling: str) -> None:
    async def attempt() -> Site:
        async with serving(Site()) as inside:
            with pytest.raises(AddressError, match="loopback"):
                await Outward().post(f"http://{spelling}:{inside.port}/", {}, b"")
            return inside

    assert not asyncio.run(attempt()).requests


@pytest.mark.parametrize("spelling", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1"])
def test_other_spellings_would_be_caught_where_they_resolve_too(spelling: str) -> None:
    with pytest.raises(AddressError, match="loopback"):
        asyncio.run(public_addresses(spelling, 80))


def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        # Harmless when it is asked first, and inwards ever after.
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

    async def attempt() -> Site:
        async with serving(Site()) as inside:
            outward = Outward(allowed=networks(["127.0.0.2/32"]), resolver=rebinding)
            with pytest.raises(NoAnswerError):
                await outward.post(f"http://rebinding.example:{inside.port}/", {}, b"")
            return inside

    assert not asyncio.run(attempt()).requests, "the name was looked up again"
    assert asked == ["rebinding.example"]


def test_all_addresses_are_tried_and_the_host_is_the_name() -> None:
    async def attempt() -> Site:
        async with serving(Site()) as site:
            outward = Outward(allowed=networks(["127.0.0.0/8"]), resolver=names("127.0.0.9", "127.0.0.1"))
            assert (await outward.post(f"http://two.example:{site.port}/x", {}, b"hello")).is_success
            return site

    (request,) = asyncio.run(attempt()).requests
    assert request.line == "POST /x HTTP/1.1"
    assert request.headers["host"].startswith("two.example:")
    assert request.body == b"hello"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 For ever"])
def test_no_redirect_is_followed(status: str) -> None:
    async def attempt() -> tuple[Site, Site, str]:
        async with serving(Site()) as inside:
            onwards = f"http://127.0.0.1:{inside.port}/secret"
            async with serving(Site([f"{status}\r\nLocation: {onwards}"])) as site:
                outward = Outward(allowed=networks(["127.0.0.0/8"]))
                answer = await outward.post(f"http://127.0.0.1:{site.port}/", {}, b"")
                return inside, site, answer.failure(0).detail

    inside, site, detail = asyncio.run(attempt())
    assert len(site.requests) == 1
    assert not inside.requests
    assert "/secret" in detail
    assert "give that address instead" in detail


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    async def attempt() -> None:
        async with serving(Site(silent=True)) as site:
            outward = Outward(timeout=0.2, allowed=networks(["127.0.0.0/8"]))
            with pytest.raises(NoAnswerError, match=r"no answer within 0.2 s"):
                await outward.post(f"http://127.0.0.1:{site.port}/", {}, b"")

    asyncio.run(attempt())


def test_names_that_do_not_resolve_are_no_answer() -> None:
    with pytest.raises(NoAnswerError):
        asyncio.run(Outward(resolver=names()).post("http://nowhere.example/", {}, b""))
