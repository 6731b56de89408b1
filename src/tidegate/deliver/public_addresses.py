"""Which addresses a stranger may have us call: those of the public internet, and none that lead inwards."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from tidegate.errors import ConfigError

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host name, for a port; `OSError` if there are none."""

Network = IPv4Network | IPv6Network

# IANA's special-purpose registries, and one public address that is a cloud's own. Not left to `is_global`, of which the
# answer has changed between versions of Python.
_INWARD_4 = {
    IPv4Network(network): kind
    for kind, networks in {
        "this network": "0.0.0.0/8",
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
        "behind a carrier's NAT": "100.64.0.0/10",
        "loopback": "127.0.0.0/8",
        "link-local": "169.254.0.0/16",
        "set aside": "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4",
        "for documents": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24",
        "multicast": "224.0.0.0/4",
        "a cloud's metadata": "168.63.129.16/32",
    }.items()
    for network in networks.split()
}
_INWARD_6 = {
    IPv6Network("2001::/23"): "set aside",
    IPv6Network("2001:db8::/32"): "for documents",
    IPv6Network("2002::/16"): "a tunnel",
    IPv6Network("3fff::/20"): "for documents",
}
_GLOBAL_6 = IPv6Network("2000::/3")
# IPv4 in other clothes: mapped, and translated by a NAT64.
_WRAPPED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_PATH = "/%:@!$&'()*+,;=~-._"
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class AddressError(ConfigError):
    """An address that may not be called: which, and why."""


class WebTarget(NamedTuple):
    """The parts of a web address, taken apart once, so that no second parser can read it otherwise."""

    scheme: str
    host: str
    port: int
    path: str


def web_target(url: str) -> WebTarget:
    """Take an address apart; `AddressError` if it is not of http or https, or could be read in two ways."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise AddressError(f"{url!r:.200} is no address of the web: {error}") from error
    if parts.scheme not in ("http", "https"):
        raise AddressError(f"{url!r:.200} is neither http nor https")
    if _FORBIDDEN.search(url) or "@" in parts.netloc or port == 0:
        raise AddressError(f"{url!r:.200}: give an address without user, blanks, backslashes or port 0")
    path = quote(parts.path or "/", safe=_PATH) + (f"?{quote(parts.query, safe=_PATH + '?')}" if parts.query else "")
    return WebTarget(parts.scheme, _host(url, host), port or (443 if parts.scheme == "https" else 80), path)


def _host(url: str, host: str) -> str:
    if ":" in host:
        try:
            if "%" in host:
                raise ValueError("a scope has a meaning on one machine only")
            return str(IPv6Address(host))
        except ValueError as error:
            raise AddressError(f"{url!r:.200} has no proper IPv6 address: {error}") from error
    try:
        name = host.encode("idna").decode().lower()
    except UnicodeError as error:
        raise AddressError(f"{url!r:.200} has no proper host name: {error}") from error
    if not _HOST.fullmatch(name):
        raise AddressError(f"{url!r:.200} has no proper host name")
    if _NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]):
        # What ends in a number is an IPv4 address to some, in octal, hexadecimal or with parts left out.
        try:
            return str(IPv4Address(name))
        except ValueError as error:
            raise AddressError(f"{url!r:.200}: write an IPv4 address as four decimal numbers") from error
    return name


def inward(address: str, allowed: Iterable[Network] = ()) -> str | None:
    """Why an IP address may not be called: what kind it is; None if it is public or allowed.

    >>> inward("::ffff:127.0.0.1"), inward("169.254.169.254"), inward("9.9.9.9")
    ('loopback', 'link-local', None)
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        parsed = IPv6Address(int(parsed))  # without the scope, of which networks know nothing
        if any(parsed in network for network in _WRAPPED):
            parsed = IPv4Address(int(parsed) & 0xFFFF_FFFF)
    if any(parsed.version == network.version and parsed in network for network in allowed):
        return None
    if isinstance(parsed, IPv4Address):
        return next((kind for network, kind in _INWARD_4.items() if parsed in network), None)
    if parsed not in _GLOBAL_6:
        return "loopback" if parsed.is_loopback else "not public"
    return next((kind for network, kind in _INWARD_6.items() if parsed in network), None)


def networks(names: Iterable[str]) -> tuple[Network, ...]:
    """Read networks that may be called though they are not public, as in 10.1.0.0/16."""
    try:
        return tuple(ip_network(name) for name in names)
    except ValueError as error:
        raise ConfigError(f"{error}: give a network such as 10.1.0.0/16 or fd00:1::/64") from error


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system; addresses in the order in which it recommends them, each once."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def public_addresses(
    host: str, port: int, resolver: Resolver = resolve, allowed: Iterable[Network] = ()
) -> Sequence[str]:
    """The addresses of a host, if every one of them may be called; else `AddressError`.

    Whoever connects must connect to one of these, and not look up the name again: it may lead elsewhere by then.
    """
    found = await resolver(host, port)
    allowed = tuple(allowed)
    for address in found:
        kind = inward(address, allowed)
        if kind is not None:
            raise AddressError(f"{host!r} leads to {address}, which is {kind}: only public addresses are called")
    if not found:
        raise OSError(f"{host!r} has no address")
    return found
