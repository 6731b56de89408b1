"""How a peer on a socket is set up."""

import ipaddress
import logging
import socket
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tidegate.deliver.ends import SHORTEST_KEY, Address, is_loopback
from tidegate.errors import ConfigError
from tidegate.overlay.poldercast.ringcast import LEAST_FAN_OUT
from tidegate.overlay.poldercast.settings import Settings

ON_LOOPBACK: Final = Address("127.0.0.1", 0)
SHORTEST_PERIOD_S: Final = 0.01


@dataclass(frozen=True)
class NodeSettings:
    """Where a peer listens, whom it joins by, and how often it gossips."""

    listen: Address = ON_LOOPBACK
    join: tuple[Address, ...] = ()
    """Peers that are there already: one that answers is enough. None: the others join by this one."""
    key: bytes | None = None
    """That all peers share; on loopback none is needed."""
    advertise: Address | None = None
    """Where others reach it, if that is not where it listens."""
    period_s: float = 1.0
    """A cycle."""
    patience_s: float = 3.0
    """Who has not answered a letter for so long is silent, unless it is being sent events: then receipts tell. The time
    for an answer, under load as well."""
    fan_out: int = LEAST_FAN_OUT
    """To how many an event is passed on."""
    first_receipt_s: float = 0.25
    """An event that nobody has acknowledged by then is sent again, after twice as long once more, and so on."""
    tries: int = 5
    """Who is sent an event so often, and from whom nothing at all comes, is silent. The time doubles so often."""
    gossip: Settings = field(default_factory=Settings)
    options: str = "--"
    """What the options begin with that `listen`, `key_file` and `advertise` are given by: messages name them."""

    def __post_init__(self) -> None:
        """Refuse what keeps no overlay, and whoever nothing keeps strangers from."""
        if not self.patience_s > 0 or not self.first_receipt_s > 0 or self.tries < 1:
            raise ConfigError(
                f"a patience of {self.patience_s} s, {self.tries} tries every {self.first_receipt_s} s: all are above 0"
            )
        if not self.period_s >= SHORTEST_PERIOD_S:
            raise ConfigError(
                f"a period of {self.period_s} s: give {SHORTEST_PERIOD_S} or more; whoever gossips more often is not "
                "answered any more"
            )
        if not LEAST_FAN_OUT <= self.fan_out <= 64:
            raise ConfigError(f"a fan-out of {self.fan_out}: give {LEAST_FAN_OUT} to 64")
        for address in (self.listen, *self.join, *((self.advertise,) if self.advertise else ())):
            if self.key is None and not is_loopback(address.host):
                raise ConfigError(f"{address}: a peer beyond this machine needs a key: give {self.options}key-file")
        if self.key is not None and len(self.key) < SHORTEST_KEY:
            raise ConfigError(f"a key of {len(self.key)} bytes: {SHORTEST_KEY} at least keep strangers out")
        _check_told(self.advertise or self.listen, self.options)


class Places(NamedTuple):
    """Where a peer listens, whom it joins by and where it is reached, with hosts as numbers of one family."""

    listen: Address
    join: tuple[Address, ...]
    told: Address


def places_of(settings: NodeSettings) -> Places:
    """Look up the hosts that settings name; `ConfigError` if one is not there, or not reached from where it listens.

    Of those to join by, one that is there is enough.
    """
    listen, family = _resolved(settings.listen)
    join = _any_resolved(settings.join, family)
    told = listen if settings.advertise is None else _resolved(settings.advertise, family)[0]
    _check_told(told, settings.options)
    for one in join:
        if is_loopback(listen.host) and not is_loopback(one.host):
            raise ConfigError(
                f"{one} is to be joined by, and from {settings.listen} only this machine can be reached: give "
                f"{settings.options}listen with an address of this machine that others reach, and a port"
            )
    return Places(listen, join, told)


def _any_resolved(addresses: tuple[Address, ...], family: int) -> tuple[Address, ...]:
    found, missing = [], []
    for address in addresses:
        try:
            found.append(_resolved(address, family)[0])
        except ConfigError as error:
            missing.append(error)
    if missing and not found:
        raise missing[0]
    for one in missing:
        logging.getLogger(__name__).warning("a peer to join by is left out: %s", one)
    return tuple(found)


def _resolved(address: Address, family: int = socket.AF_UNSPEC) -> tuple[Address, int]:
    """Return an address with its host as a number, and its family: a socket sends to those of its own."""
    try:
        found = socket.getaddrinfo(*address, family=family, type=socket.SOCK_DGRAM)
    except OSError as error:
        if family == socket.AF_UNSPEC or error.errno == socket.EAI_NONAME:
            raise ConfigError(f"{address}: there is no such host: {error.strerror}") from error
        kind = "IPv6" if family == socket.AF_INET6 else "IPv4"
        raise ConfigError(
            f"{address} has no {kind} address, as the place has where the peer listens: all peers of an overlay listen "
            "by IPv4, or all by IPv6"
        ) from error
    return Address(str(found[0][4][0]), address.port), found[0][0]


def _check_told(address: Address, options: str) -> None:
    """Refuse to tell others of a place that is none to them."""
    try:
        is_wildcard = ipaddress.ip_address(address.host).is_unspecified
    except ValueError:
        return
    if is_wildcard:
        raise ConfigError(
            f"{address} is every address of this machine: say by {options}advertise HOST:PORT where others reach it"
        )
