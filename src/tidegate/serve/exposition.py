"""What the service counts, in Prometheus' terms. What jobs count they serve themselves."""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.deliver.clock import SECOND
from tidegate.deliver.upkeep import Upkeep
from tidegate.serve.links import LinkFigures, Links
from tidegate.serve.live import Hub

_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# A live feed is open for as long as its client likes: that is no latency.
_ENDLESS: Final = ("/live", "/ws")


class Exposition:
    """The counters of one service."""

    def __init__(self, hub: Hub, links: Links, upkeep: Upkeep | None = None) -> None:
        """Count from nothing."""
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter("tidegate_http_requests", "Requests answered", labels, registry=self._registry)
        self.seconds = Histogram(
            "tidegate_http_seconds", "Time to answer", ["method", "route"], buckets=_BUCKETS, registry=self._registry
        )
        self.posts = Counter("tidegate_posts_accepted", "Posts handed in and durable", registry=self._registry)
        self._registry.register(_HubFigures(hub))
        self._registry.register(LinkFigures(links))
        if upkeep is not None:
            self._registry.register(_UpkeepFigures(upkeep))

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class Counted:
    """Counts the requests that pass through."""

    def __init__(self, app: ASGIApp, exposition: Callable[[], Exposition]) -> None:
        """Pass on to `app`."""
        self._app, self._exposition = app, exposition

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            # By the route's pattern: there are as many paths as clients can think of.
            route: Any = scope.get("route")
            name = getattr(route, "path", "(none)")
            exposition = self._exposition()
            exposition.requests.labels(scope["method"] if route else "(any)", name, str(status)).inc()
            if name not in _ENDLESS:
                exposition.seconds.labels(scope["method"] if route else "(any)", name).observe(
                    time.perf_counter() - begun
                )


class _HubFigures(Collector):
    """What the hub knows when it is asked."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterable[Metric]:
        """The figures of now."""
        hub = self._hub
        yield GaugeMetricFamily("tidegate_live_connections", "Live feeds that are open", len(hub.connections()))
        yield GaugeMetricFamily("tidegate_live_subscribers", "Subscribers who are online", len(hub.online()))
        yield CounterMetricFamily("tidegate_live_events", "Events offered to live feeds", hub.delivered)
        yield CounterMetricFamily("tidegate_live_fallen_behind", "Readers that were too slow", hub.fallen_behind)


class _UpkeepFigures(Collector):
    """How far this process has come with forgetting what is too old; another may be at it."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep

    def collect(self) -> Iterable[Metric]:
        """The figures of now."""
        upkeep = self._upkeep
        gone = CounterMetricFamily("tidegate_retention_forgotten", "Rows that were too old", labels=["table"])
        for table, count in asdict(upkeep.forgotten).items():
            gone.add_metric([table], count)
        yield gone
        yield GaugeMetricFamily("tidegate_retention_running", "Whether it is being done here", upkeep.is_running)
        finished = (upkeep.finished or 0) / SECOND
        yield GaugeMetricFamily("tidegate_retention_finished_seconds", "When it was last done here", finished)
