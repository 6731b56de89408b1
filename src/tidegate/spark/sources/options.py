"""Options of a data source: Spark hands them over as strings, and a wrong one is refused by name and value."""

from collections.abc import Mapping
from datetime import UTC, datetime

from tidegate.errors import ConfigError


class Options:
    """The options of one `format`, read by kind; keys are compared as Spark does, without case."""

    def __init__(self, source: str, options: Mapping[str, str]) -> None:
        """Read from `options`; `source` is the name of the format, for messages."""
        self._source = source
        self._values = {key.lower(): value for key, value in options.items()}

    def text(self, name: str) -> str | None:
        """The option as it was given; None if it was not, or is empty."""
        return self._values.get(name.lower(), "").strip() or None

    def integer(self, name: str, *, least: int) -> int | None:
        """A whole number of at least `least`."""
        value = self.text(name)
        if value is None:
            return None
        try:
            number = int(value)
        except ValueError:
            raise self.refused(name, value, "a whole number") from None
        if number < least:
            raise self.refused(name, value, f"a whole number of at least {least:,}")
        return number

    def positive(self, name: str) -> float | None:
        """A finite number above 0."""
        value = self.text(name)
        if value is None:
            return None
        try:
            number = float(value)
        except ValueError:
            raise self.refused(name, value, "a number") from None
        if not 0 < number < float("inf"):
            raise self.refused(name, value, "a number above 0")
        return number

    def moment(self, name: str) -> datetime | None:
        """A point in time in ISO 8601; without an offset it is in UTC."""
        value = self.text(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise self.refused(name, value, "a time such as 2026-01-31T12:00:00Z") from None
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)

    def refused(self, name: str, value: str, wanted: str) -> ConfigError:
        """The error for a value that is not what was `wanted`."""
        return ConfigError(f"{self._source}: the option {name} is {value!r}; give {wanted}")
