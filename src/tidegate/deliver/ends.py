"""Where the ends of links, and peers, are; and the key that they share."""

from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

from tidegate.errors import ConfigError

SHORTEST_KEY: Final = 16
"""In bytes."""


class Address(NamedTuple):
    """Where somebody is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it is written.

        >>> str(Address("::1", 9101))
        '[::1]:9101'
        """
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, *, what: str = "end of a link", least: int = 1) -> "Address":
        """Read HOST:PORT; `least` 0 is for who takes any port that is free.

        >>> Address.parse("10.1.0.7:9101")
        Address(host='10.1.0.7', port=9101)
        """
        host, _, port = text.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not least <= int(port) < 1 << 16:
            raise ConfigError(f"{text!r} is no {what}: write HOST:PORT, as in 10.1.0.7:9101")
        return cls(host.strip("[]"), int(port))


def read_key(file: Path, whose: str) -> bytes:
    """Return the key in a file, without line ends around it."""
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"the key of {whose}, {file}, cannot be read: {error.strerror}") from error
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"the key of {whose}, {file}, has {len(key)} bytes: write {SHORTEST_KEY} at least")
    return key


def is_loopback(host: str) -> bool:
    """Whether only this machine can be at the other end.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.1.0.7"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
