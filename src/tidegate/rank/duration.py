"""Spans of time as subscriptions write them: a whole number and a unit, as in 10m; inside they are microseconds."""

import re

from tidegate.errors import ConfigError

MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
"""By unit."""

_SPAN = re.compile(r"([0-9]{1,18})\s*(us|ms|s|m|h|d)")
_LONGEST = 36_525 * MICROSECONDS["d"]


def duration(name: str, text: object) -> int:
    """Return the microseconds of a span between nothing and a century; `name` is what an error calls it.

    >>> duration("window", "10m")
    600000000
    """
    found = _SPAN.fullmatch(text) if isinstance(text, str) else None
    span = int(found[1]) * MICROSECONDS[found[2]] if found else 0
    if not 1 <= span <= _LONGEST:
        raise ConfigError(f"{name} is {text!r:.80}: give a span of time such as '30s', '10m', '6h' or '1d'")
    return span


def duration_text(span: int) -> str:
    """Write a span in the largest unit that has it as a whole number.

    >>> duration_text(5_400_000_000)
    '90m'
    """
    unit = max((unit for unit in MICROSECONDS if span % MICROSECONDS[unit] == 0), key=MICROSECONDS.__getitem__)
    return f"{span // MICROSECONDS[unit]}{unit}"
