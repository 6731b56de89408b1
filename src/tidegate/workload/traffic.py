"""Publications, subscriptions and unsubscriptions by hour, service and site, as a music service sees them in ten days.

The shapes are those of section 5.1.2 of the thesis on social publish/subscribe: a peak at six in the evening and a
trough at two at night, weekends that differ by service, one large site, and few events that leave theirs.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.workload.terms import Floats

DAYS: Final = 10
START: Final = np.datetime64("2013-01-10T00", "us")
"""A Thursday."""
PEAK, TROUGH = 18, 2
"""Hours of the day."""
SERVICES: Final = ("presence", "playlist", "notifications")
SITES: Final = ("stockholm", "london", "ashburn")
_OF_SITE: Final = (0.9, 0.07, 0.03)
_PUBLISHED: Final = (1.0, 0.25, 0.02)
"""By service: events, presence being 1."""
_STANDING: Final = (0.8, 0.17, 0.03)
"""By service: what share of subscriptions are to it."""
_WEEKDAYS: Final = {
    # From Monday on: less music is played at weekends, and playlists are made on Sundays.
    "presence": (1.0, 1.0, 1.0, 1.0, 1.02, 0.9, 0.88),
    "playlist": (1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.15),
    "notifications": (1.0,) * 7,
    # Who logs in subscribes.
    "subscribing": (1.0, 0.97, 0.97, 0.98, 1.08, 1.15, 1.05),
}
_DEEP: Final = 0.15
"""The trough, the peak being 1."""
_BATCH_HOUR, _BATCH = 9, 8.0
"""When notifications of artists' pages are sent, and how many times more they are then."""
_FORWARDED: Final = 0.05
"""Of events, what share somebody at another site wants, by site."""
_COMING: Final = 0.004
"""Of subscriptions, what share is made in an hour, and unmade in one."""
_STAY: Final = 2
"""Hours from subscribing to unsubscribing, for most."""


def publications(events: int, seed: int) -> pa.Table:
    """Draw the events of ten days: `hour`, `service`, the `site` that notifies, the `origin` of events, and `events`.

    So many are published by the service presence.
    """
    generator = np.random.default_rng([seed, 6])
    parts = []
    for service, share in zip(SERVICES, _PUBLISHED, strict=True):
        expected = events * share * _shape(service)
        for origin, size in zip(SITES, _OF_SITE, strict=True):
            for site in SITES:
                counts = generator.poisson(expected * size * (1 if site == origin else _FORWARDED))
                parts.append(_table({"service": service, "site": site, "origin": origin}, {"events": counts}))
    return pa.concat_tables(parts)


def subscriptions(pairs: int, seed: int) -> pa.Table:
    """Draw the changes of ten days: `hour`, `service`, `subscribed`, `unsubscribed`, and how many are `standing` then.

    So many are standing when they begin.
    """
    generator = np.random.default_rng([seed, 7])
    shape = _shape("subscribing") * DAYS * 24
    parts = []
    for service, share in zip(SERVICES, _STANDING, strict=True):
        coming = pairs * share * _COMING * shape
        made, unmade = generator.poisson(coming), generator.poisson(np.roll(coming, _STAY))
        standing = np.maximum(round(pairs * share) + np.cumsum(made - unmade), 0)
        parts.append(_table({"service": service}, {"subscribed": made, "unsubscribed": unmade, "standing": standing}))
    return pa.concat_tables(parts)


def _shape(service: str) -> Floats:
    """Return what share of ten days' events comes in each hour."""
    hours = np.arange(DAYS * 24)
    weekday = (START.astype("datetime64[D]").astype(int) + 3 + hours // 24) % 7
    of_day = hours % 24
    # A slow rise from the trough to the peak, and a fast fall from there to the next trough.
    rising = (of_day - TROUGH) % 24 / (PEAK - TROUGH)
    falling = (of_day - PEAK) % 24 / (24 - PEAK + TROUGH)
    height = np.where(rising <= 1, 0.5 - 0.5 * np.cos(np.pi * rising), 0.5 + 0.5 * np.cos(np.pi * falling))
    height = _DEEP + (1 - _DEEP) * height
    if service == "notifications":
        height *= np.where(of_day == _BATCH_HOUR, _BATCH, 1.0)
    height *= np.take(_WEEKDAYS[service], weekday)
    shape: Floats = height / height.sum()
    return shape


def _table(names: dict[str, str], counts: dict[str, np.ndarray]) -> pa.Table:
    hours = START + np.arange(DAYS * 24) * np.timedelta64(1, "h")
    columns: dict[str, pa.Array] = {"hour": pa.array(hours, pa.timestamp("us", tz="UTC"))}
    columns |= {name: pa.array([value] * len(hours)) for name, value in names.items()}
    return pa.table(columns | {name: pa.array(values, pa.int64()) for name, values in counts.items()})
