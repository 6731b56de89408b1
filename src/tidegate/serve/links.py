"""The links of this site to others: kept up as long as the service runs, and counted."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tidegate.deliver.ends import Address, is_loopback
from tidegate.deliver.link import Link, keep_dialling, listening
from tidegate.deliver.site import Site
from tidegate.errors import ConfigError
from tidegate.serve.link_security import LinkSecurity


class Links:
    """All ends on this side."""

    def __init__(
        self, site: Site, at: Iterable[Address], to: Iterable[Address], security: LinkSecurity | None = None
    ) -> None:
        """Nothing is connected yet; `ConfigError` if somebody could be, whom nothing keeps from it."""
        security = security or LinkSecurity()
        key = security.key()
        self._tls = (security.for_waiting(), security.for_calling())
        self.at = {address: Link(site, key) for address in at}
        self.to = {address: Link(site, key) for address in to}
        if self.at and security.authority is not None and security.certificate is None:
            raise ConfigError("a site that is called by TLS has to show a certificate: give --link-certificate")
        for address in (*self.at, *self.to):
            if key is None and not is_loopback(address.host):
                raise ConfigError(f"{address}: a link beyond this machine needs a key: give --link-key-file")

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        """Wait for other sites, and call others, as long as the block runs."""
        async with AsyncExitStack() as stack:
            for address, link in self.at.items():
                try:
                    await stack.enter_async_context(listening(link, *address, self._tls[0]))
                except OSError as error:
                    raise ConfigError(f"{address}: no site can be waited for here: {error.strerror}") from error
            calls = [
                asyncio.create_task(keep_dialling(link, *to, random.random, self._tls[1]))
                for to, link in self.to.items()
            ]
            try:
                yield
            finally:
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                for link in self.to.values():
                    await link.hang_up()


class LinkFigures(Collector):
    """What has crossed from this side, by link."""

    def __init__(self, links: Links) -> None:
        """Of these links."""
        self._links = {str(address): link for address, link in (*links.at.items(), *links.to.items())}

    def collect(self) -> Iterable[Metric]:
        """The figures of now."""
        up = GaugeMetricFamily("tidegate_link_up", "Whether the sites hear each other", labels=["link"])
        counters = {
            name: CounterMetricFamily(f"tidegate_link_{name}", about, labels=["link"])
            for name, about in (
                ("bytes", "Bytes sent to the other site"),
                ("events", "Events sent to the other site"),
                ("dropped", "Events that did not cross"),
                ("refused", "Connections and messages from the other side that were not heeded"),
            )
        }
        for name, link in self._links.items():
            up.add_metric([name], link.is_up)
            for what, family in counters.items():
                family.add_metric([name], getattr(link.traffic, what))
        yield up
        yield from counters.values()
