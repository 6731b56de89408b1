"""HTTP to strangers: one POST to a public address, bounded in time, that follows no redirect.

The address that is checked is the one connected to, so a name that changes in between gains nothing. Proxies that the
environment names are not used: behind one, nobody could say where a request ends.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

import httpcore

from tidegate.deliver.clock import DAY, SECOND
from tidegate.deliver.fields import as_microseconds
from tidegate.deliver.parcel import Outcome, Result
from tidegate.deliver.public_addresses import Network, Resolver, public_addresses, resolve, web_target
from tidegate.errors import TidegateError

_LONGEST_WAIT = DAY


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class NoAnswerError(TidegateError):
    """Nothing came back: no such host, no connection, no TLS, no time."""


@dataclass(frozen=True)
class Answer:
    """What a server said, without the body."""

    status: int
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        """Whether it has taken what it was sent."""
        return 200 <= self.status < 300

    def wait(self, now: int) -> int:
        """Microseconds that it asks us to wait, in seconds or as a date; a day at most, 0 if it makes no sense."""
        asked = self.headers.get("retry-after", "").strip()
        if asked.isdecimal():
            return min(int(asked[:9]) * SECOND, _LONGEST_WAIT)
        try:
            moment: datetime = parsedate_to_datetime(asked)
        except ValueError:
            return 0
        return min(max(0, as_microseconds(moment) - now), _LONGEST_WAIT) if moment.tzinfo else 0

    def failure(self, now: int) -> Outcome:
        """What to make of an answer that is no success."""
        if self.status == 410:
            return Outcome(Result.GONE, "the server answered 410: there is nothing at this address any more")
        if 300 <= self.status < 400:
            onwards = self.headers.get("location", "nowhere")
            detail = f"the server answered {self.status} and sends us on to {onwards!r:.200}: give that address instead"
            return Outcome(Result.FAILED, detail)
        return Outcome(Result.LATER, f"the server answered {self.status}", self.wait(now))


@dataclass(frozen=True)
class Outward:
    """How to call: patience in seconds for all of it, networks allowed though not public, and who looks up names."""

    timeout: float = 10.0
    allowed: tuple[Network, ...] = ()
    resolver: Resolver = resolve
    tls: ssl.SSLContext = field(default_factory=_tls)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send, once. `AddressError`: the address may not be called; `NoAnswerError`: nothing came back."""
        target = web_target(url)
        host = f"[{target.host}]" if ":" in target.host else target.host
        usual = 443 if target.scheme == "https" else 80
        sent = {
            "Host": host if target.port == usual else f"{host}:{target.port}",
            "User-Agent": "tidegate",
            "Content-Length": str(len(body)),
            **headers,
        }
        pool = httpcore.AsyncConnectionPool(
            self.tls, network_backend=_CheckedNetwork(self.resolver, self.allowed), max_keepalive_connections=0
        )
        try:
            async with asyncio.timeout(self.timeout), pool:
                request = httpcore.URL(
                    scheme=target.scheme.encode(), host=host.encode(), port=target.port, target=target.path.encode()
                )
                # The body of the answer is not read: nothing depends on it, and it may have no end.
                async with pool.stream("POST", request, headers=list(sent.items()), content=body) as response:
                    return Answer(
                        response.status,
                        {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers},
                    )
        except TimeoutError as error:
            raise NoAnswerError(f"no answer within {self.timeout:g} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise NoAnswerError(f"no proper answer: {error or type(error).__name__}") from error


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connections to addresses that were checked a moment before; TLS still asks for the certificate of the name."""

    def __init__(self, resolver: Resolver, allowed: tuple[Network, ...]) -> None:
        self._resolver = resolver
        self._allowed = allowed
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await public_addresses(host.strip("[]"), port, self._resolver, self._allowed)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.NetworkError:
                continue  # the last one's failure is told
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
