"""What a subscription asks for that is to be ranked, read from the JSON object that the store keeps of it.

{"k": 5, "window": "10m", "shift": "5m", "score": {"recency": 1, "field:likes": 0.1},
 "diverse": true, "most": {"posts": 20, "per": "1d"}, "feed": true}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tidegate.errors import ConfigError
from tidegate.rank.duration import duration, duration_text
from tidegate.rank.score import Scorable, Score
from tidegate.rank.windows import Windows

K, WINDOW, SCORE = 10, "1h", "recency"
"""What is meant where nothing is said."""

MAX_OVERLAP = 100
"""In how many windows of time a post may be; and how many posts a feed may deliver for each that comes in."""

_LARGEST = 1_000_000


@dataclass(frozen=True)
class TimeWindows:
    """The `k` best of every span of `width` microseconds, one beginning at every multiple of `shift` since 1970."""

    k: int
    width: int
    shift: int

    def __post_init__(self) -> None:
        """Refuse what are no windows, and those of which a post would be in too many."""
        if self.k < 1:
            raise ConfigError(f"k is {self.k}: give 1 or more")
        width, shift = duration_text(self.width), duration_text(self.shift)
        if not self.width / MAX_OVERLAP <= self.shift <= self.width:
            least = duration_text(-(-self.width // MAX_OVERLAP))
            raise ConfigError(f"windows of {width} that shift by {shift}: give {least} to {width}")


@dataclass(frozen=True)
class Most:
    """At most so many posts of a feed in each period; windows are served in order, and in each the best first."""

    posts: int
    per: int
    """Microseconds, counted since 1970."""


@dataclass(frozen=True)
class Ranking:
    """How a feed is ranked. Equal rankings have equal `canonical` texts, which `parse` reads again."""

    windows: Windows | TimeWindows
    score: Score
    diverse: bool = False
    """No two of the best of a window are by one author."""
    most: Most | None = None
    feed: bool = False
    """All subscriptions of a subscriber with this ranking are one feed, in which a post counts once."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> "Ranking":
        """Read the object, or raise `ConfigError` with the thing and the remedy.

        >>> Ranking.parse({"k": 2, "window": 20}).windows
        Windows(k=2, width=20, shift=20)
        """
        unknown = sorted(set(given) - set(_KEYS), key=str)
        if unknown:
            raise ConfigError(f"ranking names {unknown[0]!r:.80}: allowed are {', '.join(_KEYS)}")
        return cls(
            _windows(given),
            Score.parse(given.get("score", SCORE)),
            _truth("diverse", given.get("diverse", False)),
            _most(given.get("most")),
            _truth("feed", given.get("feed", False)),
        )

    @property
    def canonical(self) -> str:
        """The ranking as one line of JSON, the same for all that mean the same; ASCII."""
        windows = self.windows
        write = duration_text if isinstance(windows, TimeWindows) else int
        value: dict[str, Any] = {"k": windows.k, "window": write(windows.width), "shift": write(windows.shift)}
        value |= {"score": self.score.value, "diverse": self.diverse, "feed": self.feed}
        if self.most is not None:
            value["most"] = {"posts": self.most.posts, "per": duration_text(self.most.per)}
        return json.dumps(value, sort_keys=True)


@lru_cache(maxsize=1 << 16)
def ranking_of(text: str) -> Ranking:
    """Return the ranking that a line of JSON stands for, or raise `ConfigError`."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ConfigError(f"ranking is {text!r:.80}: give a JSON object")
    return Ranking.parse(given)


def checked_ranking(text: str, known: Scorable) -> Ranking:
    """Return the ranking that a subscription asks for, or raise `ConfigError`: also for scores by what is not known."""
    ranking = ranking_of(text)
    ranking.score.check(known)
    return ranking


def _windows(given: Mapping[str, Any]) -> Windows | TimeWindows:
    k = _whole("k", given.get("k", K))
    window = given.get("window", WINDOW)
    shift = given.get("shift", window)
    if not isinstance(window, str):
        if isinstance(shift, str):
            raise ConfigError(f"shift is {shift!r:.80} of a window of {window!r:.80} posts: give a number of posts")
        windows = Windows(k, _whole("window", window), _whole("shift", shift))
        if k > MAX_OVERLAP * windows.shift:
            problem = (
                f"the {k:,} best of windows that shift by {windows.shift:,} are {k // windows.shift:,} for every post"
            )
            raise ConfigError(f"{problem}: give a shift of {-(-k // MAX_OVERLAP):,} or more, or a smaller k")
        return windows
    if not isinstance(shift, str):
        raise ConfigError(f"shift is {shift!r:.80} of a window of {window!r:.80}: give a span of time such as '5m'")
    return TimeWindows(k, duration("window", window), duration("shift", shift))


def _most(given: Any) -> Most | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {"posts", "per"}:
        raise ConfigError(f"most is {given!r:.80}: give a bound as in {{'posts': 20, 'per': '1d'}}")
    return Most(_whole("posts of most", given["posts"]), duration("per of most", given["per"]))


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
        raise ConfigError(f"{name} is {value!r:.80}: give a whole number from 1 to {_LARGEST:,}")
    return value


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {value!r:.80}: give true or false")
    return value


_KEYS = ("k", "window", "shift", "score", "diverse", "most", "feed")
