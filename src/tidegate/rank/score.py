"""What a ranked subscription means by better: a weighted sum of parts, read from JSON. `scores` computes it.

A part is a text: `recency`, `popularity`, `rarity`, `field:likes`, `near:(48.86,2.35)` or `function:NAME`.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tidegate.errors import ConfigError

PLAIN = ("recency", "popularity", "rarity")
"""The parts that take no argument."""

MAX_PARTS = 16
"""Of a sum."""

_POINT = re.compile(r"\(\s*([^,()]+),([^,()]+)\)")

ScoreFunction = Callable[[pa.Table], Any]
"""From posts, as Arrow columns, to one number each; must not depend on which posts it is given together."""

_functions: dict[str, ScoreFunction] = {}


def register_score(name: str, function: ScoreFunction) -> None:
    """Let subscriptions of this process rank by `function:name`; the same name again replaces it."""
    if not name.isidentifier():
        raise ConfigError(f"a score function cannot be called {name!r:.80}: give a name of letters, digits and _")
    _functions[name] = function


def registered_scores() -> dict[str, ScoreFunction]:
    """Return the functions registered in this process, by name."""
    return dict(_functions)


class Scorable(NamedTuple):
    """What scores can go by. It travels: who checks rankings for this process knows no functions by itself."""

    functions: frozenset[str]
    fields: frozenset[str] | None = None
    """The columns that posts have; None if nobody has said."""


def scorable(fields: frozenset[str] | None = None) -> Scorable:
    """Return what is known in this process, and the columns that posts have."""
    return Scorable(frozenset(_functions), fields)


@dataclass(frozen=True, order=True)
class Part:
    """One thing that is good about a post."""

    kind: str
    name: str = ""
    """Of a field or a function."""
    lat: float = 0.0
    lon: float = 0.0

    def __str__(self) -> str:
        """Return the part as subscriptions write it."""
        if self.kind == "near":
            return f"near:({self.lat!r},{self.lon!r})"
        return f"{self.kind}:{self.name}" if self.name else self.kind


@dataclass(frozen=True)
class Score:
    """A sum of parts, each with its weight; parts are sorted, so that sums are rounded alike everywhere."""

    parts: tuple[tuple[Part, float], ...]

    @classmethod
    def parse(cls, given: Any) -> "Score":
        """Read a part, or an object of parts and their weights.

        >>> Score.parse({"recency": 1, "field:likes": 0.5}).value
        {'field:likes': 0.5, 'recency': 1.0}
        """
        weights = {given: 1.0} if isinstance(given, str) else given
        if not isinstance(weights, Mapping) or not 1 <= len(weights) <= MAX_PARTS:
            raise ConfigError(
                f"score is {given!r:.80}: give a part such as 'recency', or an object of parts and weights"
            )
        parts: dict[Part, float] = {}
        for text, weight in weights.items():
            part = _part(text)
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not _is_finite(weight):
                raise ConfigError(f"the weight of score {text!r:.80} is {weight!r:.80}: give a number")
            if part in parts:
                raise ConfigError(f"score {text!r:.80} is there twice: give one weight for it")
            parts[part] = _signless(weight)
        return cls(tuple(sorted(parts.items())))

    def check(self, known: Scorable) -> None:
        """Refuse functions that are not registered, and fields that posts do not have, as far as that is known."""
        for part, _ in self.parts:
            if part.kind == "function" and part.name not in known.functions:
                names = ", ".join(sorted(known.functions)) or "none"
                problem = f"score function {part.name!r:.80} is not registered"
                raise ConfigError(f"{problem}: register it first (known: {names})")
            if part.kind == "field" and known.fields is not None and part.name not in known.fields:
                names = ", ".join(sorted(known.fields))
                raise ConfigError(f"score field {part.name!r:.80} is unknown: posts have {names}")

    @property
    def value(self) -> str | dict[str, float]:
        """What `parse` reads, in one form for all that mean the same."""
        if len(self.parts) == 1 and self.parts[0][1] == 1.0:
            return str(self.parts[0][0])
        return {str(part): weight for part, weight in self.parts}


def _signless(number: float) -> float:
    """The number as a float; zeros are equal, and have to be written alike."""
    return float(number) or 0.0


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an int beyond all floats
        return False


def _part(text: str) -> Part:
    kind, colon, argument = text.partition(":")
    if kind in PLAIN and not colon:
        return Part(kind)
    if kind in ("field", "function") and argument:
        return Part(kind, argument)
    if kind == "near":
        return _near(text, argument)
    allowed = f"{', '.join(PLAIN)}, field:NAME, near:(lat,lon) and function:NAME"
    raise ConfigError(f"score {text!r:.80} is unknown: allowed are {allowed}")


def _near(text: str, argument: str) -> Part:
    found = _POINT.fullmatch(argument)
    try:
        lat, lon = (float(number) for number in found.groups()) if found else (math.nan, math.nan)
    except ValueError:
        lat = lon = math.nan
    if not (-90 <= lat <= 90 and -180 <= lon <= 180):
        raise ConfigError(f"score {text!r:.80} is no place on Earth: write near:(lat,lon) in degrees")
    return Part("near", lat=_signless(lat), lon=_signless(lon))
