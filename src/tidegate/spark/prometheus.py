"""Metrics for Prometheus: an HTTP endpoint of this process, on loopback unless told otherwise."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tidegate.errors import ConfigError
from tidegate.spark.metrics import Figures, Metrics

_COUNTERS = {
    "posts": "Posts received, the dead letters among them",
    "matches": "Matches found",
    "visits": "Posts that matchers looked at",
    "candidates": "Conjunctions that indexes proposed and that had to be looked at",
    "dead": "Posts set aside as dead letters",
    "shed": "Matches or posts given up under load",
}
_NAMES = {"dead": "dead_letters"}
_RANKED_COUNTERS = {
    "matches": "Matches of ranked subscriptions",
    "sent": "Of those, the ones that were shuffled",
    "sent_bytes": "The bytes that were shuffled of them",
    "aside": "Matches that could not be ranked",
    "late": "Posts that came too late for all of their windows",
    "delivered": "Posts delivered as the best of windows",
}
_RANKED_GAUGES = {
    "feeds": "Ranked feeds of the buckets that the last batch had to do with",
    "held": "Posts held for the open windows of those feeds",
    "held_bytes": "The bytes that those take",
}
_OFFLOADING_COUNTERS = {
    "live": "Notifications that were told in real time",
    "later": "Notifications that were offloaded",
    "handed_over": "Of those, notifications of posts that peers have taken",
    "windows": "Windows after which topics were chosen anew",
}
_OFFLOADING_GAUGES = {
    "served_topics": "Topics that are served in real time",
    "offloaded_topics": "Topics that are offloaded",
    "capacity": "Notifications that can be told in real time in a window",
    "satisfied": "Subscribers who get their threshold from the topics that were chosen",
}


@contextmanager
def serving(metrics: Metrics, port: int, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve metrics as long as the block runs, at the address that this yields; port 0 is any that is free."""
    registry = CollectorRegistry()
    registry.register(Exposition(metrics))
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"metrics cannot be served at {host}:{port}: {error}; choose another port") from error
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Exposition(Collector):
    """Metrics in Prometheus' terms; each is labelled with its query."""

    def __init__(self, metrics: Metrics) -> None:
        """Read `metrics` whenever somebody asks."""
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """All metrics as they are now; what is not known is left out."""
        queries = self._metrics.all()
        yield _counter("batches", "Micro-batches done", queries, lambda figures: figures.batches)
        for name, about in _COUNTERS.items():
            yield _counter(_NAMES.get(name, name), about, queries, _total(name))
        ranking = [figures for figures in queries if figures.ranked]
        for name, about in _RANKED_COUNTERS.items():
            yield _counter(f"ranked_{name}", about, ranking, _ranked_total(name))
        for name, about in _RANKED_GAUGES.items():
            yield _gauge(f"ranked_{name}", about, ranking, _ranked(name))
        offloading = [figures for figures in queries if figures.offloading]
        for name, about in _OFFLOADING_COUNTERS.items():
            yield _counter(f"offloading_{name}", about, offloading, _offloading(name))
        for name, about in _OFFLOADING_GAUGES.items():
            yield _gauge(f"offloading_{name}", about, offloading, _offloading(name))
        loads = CounterMetricFamily("tidegate_matcher_load", "Visits and candidates", labels=["query", "matcher"])
        for figures in queries:
            for matcher, load in sorted(figures.total.loads.items()):
                loads.add_metric([figures.query, str(matcher)], load)
        yield loads
        yield _gauge("candidates_per_post", "In the last batch", queries, lambda figures: figures.candidates_per_post)
        yield _gauge("batch_seconds", "Time the last batch took", queries, _told("seconds"))
        yield _gauge("input_posts_per_second", "Posts that came in", queries, _told("input_per_s"))
        yield _gauge("processed_posts_per_second", "Posts done while at work", queries, _told("processed_per_s"))
        yield _gauge("latency_seconds", "Longest wait of a post for its matches", queries, lambda f: f.latency_s)
        yield _gauge("state_bytes", "What is held between batches, on disk", queries, _told("state_bytes"))
        yield _gauge("active", "Whether the query runs", queries, lambda figures: float(figures.active))
        lag = GaugeMetricFamily("tidegate_lag", "What waits at the source", labels=["query", "unit"])
        for figures in queries:
            if figures.progress is not None and figures.progress.lag is not None:
                lag.add_metric([figures.query, figures.progress.lag.unit], figures.progress.lag.waiting)
        yield lag


def _counter(name: str, about: str, queries: list[Figures], value: Callable[[Figures], int]) -> Metric:
    family = CounterMetricFamily(f"tidegate_{name}", about, labels=["query"])
    for figures in queries:
        family.add_metric([figures.query], value(figures))
    return family


def _gauge(name: str, about: str, queries: list[Figures], value: Callable[[Figures], float | None]) -> Metric:
    family = GaugeMetricFamily(f"tidegate_{name}", about, labels=["query"])
    for figures in queries:
        known = value(figures)
        if known is not None:
            family.add_metric([figures.query], known)
    return family


def _total(name: str) -> Callable[[Figures], int]:
    """By name: a count since the start."""
    return lambda figures: int(getattr(figures.total, name))


def _ranked_total(name: str) -> Callable[[Figures], int]:
    """By name: what was counted of ranked matches since the start."""
    return lambda figures: figures.ranked_total[name]


def _ranked(name: str) -> Callable[[Figures], float | None]:
    """By name: what the last batch told of ranked feeds."""
    return lambda figures: figures.ranked.get(name)


def _offloading(name: str) -> Callable[[Figures], int]:
    """By name: what stands of offloading."""
    return lambda figures: figures.offloading[name]


def _told(name: str) -> Callable[[Figures], float | None]:
    """By name: what Spark told of the last batch."""
    return lambda figures: None if figures.progress is None else getattr(figures.progress, name)
