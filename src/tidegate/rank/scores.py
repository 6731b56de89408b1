"""Scores of many posts for many feeds at once, over Arrow columns.

A post is not scored by a feed that cannot: the pair is set aside with a reason, and nothing else is held up by it.
Values depend on the post and the score alone, never on the batch, so that a replay ranks alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int64
from tidegate.rank.duration import MICROSECONDS
from tidegate.rank.score import Part, Score, ScoreFunction

Float64 = NDArray[np.float64]

_EARTH_RADIUS_KM = 6371.0088
# Of BM25: how soon more of a term stops counting, and how much long posts are held back.
_K1, _B = 1.2, 0.75


@dataclass(frozen=True)
class ScoreColumns:
    """Where the parts of scores are found in posts."""

    followers: str = "followers"
    rarity: str = "rarity"
    """As computed by `rarities`."""
    lat: str = "lat"
    lon: str = "lon"


class Scored(NamedTuple):
    """Of pairs of a post and a score."""

    values: Float64
    """NaN for a pair that is set aside."""
    reason: NDArray[np.int32]
    """Of a pair that is set aside: which of `reasons`; -1 for all others."""
    reasons: list[str]


def scored(
    posts: pa.Table,
    times: Int64,
    post: Int64,
    score: Int64,
    scores: Sequence[Score],
    functions: Mapping[str, ScoreFunction],
    columns: ScoreColumns = ScoreColumns(),  # noqa: B008
) -> Scored:
    """Return what `scores[score[i]]` makes of row `post[i]` of the posts, for all `i`; `times` are microseconds.

    Recency is in hours, so that a weight says what an hour is worth; popularity is the logarithm of followers; near is
    minus the distance in kilometres.
    """
    sheet = _Sheet(posts, times, functions, columns)
    values = np.zeros(len(post))
    reason = np.full(len(post), -1, np.int32)
    for slot in range(max((len(one.parts) for one in scores), default=0)):
        for name, members in _by_column(scores, slot).items():
            at = np.flatnonzero(np.isin(score, list(members)) if len(members) < len(scores) else score >= 0)
            of = score[at]
            weight = np.zeros(len(scores))
            weight[list(members)] = [one.parts[slot][1] for one in members.values()]
            if name.kind == "near":
                point = np.zeros((2, len(scores)))
                point[:, list(members)] = np.array(
                    [(p.lat, p.lon) for p in (m.parts[slot][0] for m in members.values())]
                ).T
                value = sheet.nearness(post[at], point[0, of], point[1, of])
                why = np.where(np.isnan(value), sheet.note("the post has no place, which near needs"), -1)
            else:
                column, reasons = sheet.column(name)
                value, why = column[post[at]], reasons[post[at]]
            with np.errstate(invalid="ignore", over="ignore"):
                values[at] += weight[of] * value
            reason[at] = np.where(reason[at] < 0, why, reason[at])
    undefined = np.isnan(values) & (reason < 0)
    if undefined.any():
        reason[undefined] = sheet.note("the parts of its score have no sum: they are infinite")
    values[reason >= 0] = np.nan
    return Scored(values, reason, sheet.reasons)


def rarities(terms: Csr, frequency: Int64, n_posts: int, mean_terms: float) -> Float64:
    """Return for every row of terms how rare they are in all: BM25 with the post as its own query.

    `frequency` says in how many of `n_posts` posts a term is, which have `mean_terms` terms on average.
    """
    inverse = np.log1p((n_posts - frequency + 0.5) / (frequency + 0.5))
    lengths = np.diff(terms.offsets)
    sums = np.bincount(np.repeat(np.arange(terms.rows), lengths), inverse[terms.values], terms.rows)
    return np.asarray(sums * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths / mean_terms)))


def _by_column(scores: Sequence[Score], slot: int) -> dict[Part, dict[int, Score]]:
    """The scores that have a part in this place of their sum, by what it is computed from."""
    found: dict[Part, dict[int, Score]] = {}
    for number, one in enumerate(scores):
        if slot < len(one.parts):
            part = one.parts[slot][0]
            # Every subscriber may have a place of its own: all of them are computed together.
            found.setdefault(Part("near") if part.kind == "near" else part, {})[number] = one
    return found


def _told(error: Exception) -> str:
    """What an error says: others have written it, so it may fail to, or say what cannot be sent on."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode()


class _Sheet:
    """The values of parts for all posts, each computed once."""

    def __init__(
        self, posts: pa.Table, times: Int64, functions: Mapping[str, ScoreFunction], columns: ScoreColumns
    ) -> None:
        self._posts, self._times, self._functions, self._columns = posts, times, functions, columns
        self._known: dict[Part, tuple[Float64, NDArray[np.int32]]] = {}
        self._numbers_of: dict[str, int] = {}

    @property
    def reasons(self) -> list[str]:
        return list(self._numbers_of)

    def note(self, reason: str) -> int:
        return self._numbers_of.setdefault(reason, len(self._numbers_of))

    def column(self, part: Part) -> tuple[Float64, NDArray[np.int32]]:
        if part not in self._known:
            self._known[part] = self._computed(part)
        return self._known[part]

    def nearness(self, post: Int64, lat: Float64, lon: Float64) -> Float64:
        at_lat, at_lon = (self._numbers(name)[0] for name in (self._columns.lat, self._columns.lon))
        on_earth = (np.abs(at_lat) <= 90) & (np.abs(at_lon) <= 180)
        south, west = np.radians(np.where(on_earth, at_lat, np.nan))[post], np.radians(at_lon)[post]
        lat, lon = np.radians(lat), np.radians(lon)
        chord = np.sin((south - lat) / 2) ** 2 + np.cos(lat) * np.cos(south) * np.sin((west - lon) / 2) ** 2
        # Rounding may lift the chord of antipodes above 1, where arcsin has no value.
        return np.asarray(-2 * _EARTH_RADIUS_KM * np.arcsin(np.minimum(1.0, np.sqrt(chord))))

    def _computed(self, part: Part) -> tuple[Float64, NDArray[np.int32]]:
        if part.kind == "recency":
            return self._times / MICROSECONDS["h"], np.full(len(self._times), -1, np.int32)
        if part.kind == "function":
            return self._called(part)
        name = {"popularity": self._columns.followers, "rarity": self._columns.rarity}.get(part.kind, part.name)
        values, problem = self._numbers(name)
        if part.kind == "popularity":
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.log1p(np.where(values < 0, np.nan, values))
        return values, self._why(values, problem or f"score {part} is no number: column {name!r} has none")

    def _why(self, values: Float64, problem: str) -> NDArray[np.int32]:
        wrong = np.isnan(values)
        return np.where(wrong, self.note(problem) if wrong.any() else -1, -1).astype(np.int32)

    def _numbers(self, name: str) -> tuple[Float64, str | None]:
        """A column as numbers, NaN where there is none, and why there can be none at all."""
        nothing = np.full(self._posts.num_rows, np.nan)
        if name not in self._posts.schema.names:
            return nothing, f"posts have no column {name!r}, which its score needs"
        column = self._posts.column(name)
        kind = column.type
        if pa.types.is_null(kind):
            return nothing, None
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return nothing, f"column {name!r} is of type {kind}: a score needs numbers"
        # Integers beyond 2**53 lose their last digits, which scores can do without.
        return column.cast(pa.float64(), safe=False).to_numpy().copy(), None

    def _called(self, part: Part) -> tuple[Float64, NDArray[np.int32]]:
        n = self._posts.num_rows
        values, reason = np.full(n, np.nan), np.full(n, -1, np.int32)
        function = self._functions.get(part.name)
        if function is None:
            return values, np.full(n, self.note(f"score function {part.name!r} is not registered"), np.int32)
        # Where a call fails, halves of it are tried, until those posts are alone that it fails of.
        waiting = [(0, n)] if n else []
        while waiting:
            begin, end = waiting.pop()
            try:
                given = np.asarray(function(self._posts.slice(begin, end - begin)), np.float64)
                if given.shape != (end - begin,):
                    raise ValueError(f"{end - begin} posts got an answer of shape {given.shape}")
                values[begin:end] = given
            except Exception as error:
                if end - begin == 1:
                    reason[begin] = self.note(f"score {part} fails: {_told(error)}"[:200])
                else:
                    middle = (begin + end) // 2
                    waiting += [(middle, end), (begin, middle)]
        silent = np.isnan(values) & (reason < 0)
        if silent.any():
            reason[silent] = self.note(f"score {part} is NaN")
        return values, reason
