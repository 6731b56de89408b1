"""Fields of JSON objects, read strictly: what is unknown or of another kind is refused, with its place and remedy."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from tidegate.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def fields(where: str, value: object, known: Collection[str]) -> dict[str, Any]:
    """Return an object all of whose fields are `known`; `where` is what an error calls it."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where} is {value!r:.80}: give a JSON object with {listed(known)}")
    unknown = sorted(str(name) for name in value.keys() - set(known))
    if unknown:
        raise ConfigError(f"{where} has no field {unknown[0]!r:.80}: there are {listed(known)}")
    return value


def text(where: str, value: object) -> str:
    """Return a text that is not empty and can be written in UTF-8."""
    if not isinstance(value, str) or not value.strip() or not _is_unicode(value):
        raise ConfigError(f"{where} is {value!r:.80}: give a text")
    return value


def flag(where: str, value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{where} is {value!r:.80}: give true or false")
    return value


def whole(where: str, value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{where} is {value!r:.80}: give a whole number from {least:,} to {most:,}")
    return value


def items(where: str, value: object) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise ConfigError(f"{where} is {value!r:.80}: give a list")
    return value


def texts(where: str, value: object) -> frozenset[str]:
    """Return a list of texts as a set; one text stands for a list of it."""
    several = [value] if isinstance(value, str) else items(where, value)
    return frozenset(text(f"{where}[{number}]", one) for number, one in enumerate(several))


def one_of(where: str, value: object, known: Collection[str]) -> str:
    """Return one of the texts that are `known`."""
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{where} is {value!r:.80}: give one of {listed(known)}")
    return value


def microseconds(where: str, value: object) -> int:
    """Return a moment as microseconds since 1970; texts are ISO times with their zone.

    >>> microseconds("at", "1970-01-01T01:00:01+01:00")
    1000000
    """
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return as_microseconds(moment)
    if isinstance(moment, int) and not isinstance(moment, bool) and abs(moment) < 1 << 55:
        return moment
    raise ConfigError(
        f"{where} is {value!r:.80}: give a time with its zone, as in 2026-01-31T18:00:00+00:00, "
        "or microseconds since 1970"
    )


def as_microseconds(moment: datetime) -> int:
    """Return an aware time as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def as_moment(at: int) -> datetime:
    """Return microseconds since 1970 as a time in UTC, exactly."""
    return _EPOCH + timedelta(microseconds=at)


def listed(names: Collection[str]) -> str:
    """Return names as a sentence has them; those of a set in the order of the alphabet."""
    return ", ".join(sorted(names) if isinstance(names, set | frozenset) else names) or "none"


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
