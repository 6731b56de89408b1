"""What the columns of posts are called, and what travels with a post through the pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from tidegate.errors import ConfigError

CORRUPT = "_corrupt_record"
"""Where Spark's readers put what they cannot decode, if the schema has such a column."""

_TOGETHER = "_matches"

MATCHER = "_matcher"
"""By which matcher a post is to be seen, between routing and matching."""

VISITS = "_visits"
"""All matchers that a post visits, if they are several and queries may have copies."""

# The types that a column may have, the usual one first: accounts may be numbers, and numbers may be texts.
_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "text": (StringType,),
    **dict.fromkeys(("author", "lang"), (StringType, NumericType)),
    **dict.fromkeys(("lat", "lon"), (DoubleType, NumericType, StringType)),
}


@dataclass(frozen=True)
class Shape:
    """What matches look like."""

    per_post: bool = False
    """One row for a post with all its matches, instead of one for each match."""
    subscribers: bool = True
    """Whether matches name the subscribers."""
    ranked: bool = False
    """Only matches that are to be ranked, each with how."""

    @property
    def names(self) -> list[str]:
        """The columns that matches add to those of their post."""
        more = [("subscriber", self.subscribers), ("ranking", self.ranked)]
        names = ["subscription", *(name for name, is_wanted in more if is_wanted)]
        return [f"{name}s" for name in names] if self.per_post else names

    @property
    def paired(self) -> bool:
        """Whether a match is a row of several values while it is still in a list."""
        return len(self.names) > 1 and not self.per_post

    @property
    def together(self) -> list[StructField]:
        """The columns of a post's matches while they are still together: lists."""
        if self.per_post:
            return [StructField(name, ArrayType(StringType())) for name in self.names]
        pair = StructType([StructField(name, StringType()) for name in self.names])
        return [StructField(_TOGETHER, ArrayType(pair if self.paired else StringType()))]


@dataclass(frozen=True)
class Columns:
    """The columns to read; None is the usual name, if posts have such a column."""

    id: str = "id"
    text: str = "text"
    author: str | None = None
    lang: str | None = None
    lat: str | None = None
    lon: str | None = None

    def of(self, schema: StructType) -> "Columns":
        """Return the columns that posts of this schema have; refuse what is named and missing, or cannot be read."""
        for name in (self.id, self.text, self.author, self.lang, self.lat, self.lon):
            if name is not None and name not in schema.names:
                raise ConfigError(f"posts have no column {name!r}: the columns are {', '.join(schema.names)}")
        usual = {name: name for name in ("author", "lang", "lat", "lon") if name in schema.names}
        columns = Columns(
            self.id,
            self.text,
            self.author or usual.get("author"),
            self.lang or usual.get("lang"),
            self.lat or usual.get("lat"),
            self.lon or usual.get("lon"),
        )
        if isinstance(schema[self.id].dataType, StructType | ArrayType | MapType | VariantType):
            kind = schema[self.id].dataType.simpleString()
            raise ConfigError(f"column {self.id!r} is of type {kind}: an id is a text or a number; name another column")
        for parameter, name in columns.read.items():
            _check_type(schema[name], _TYPES[parameter])
        return columns

    @property
    def read(self) -> dict[str, str]:
        """By parameter of `read_posts`: the columns that matching reads."""
        named = {"text": self.text, "author": self.author, "lang": self.lang, "lat": self.lat, "lon": self.lon}
        return {parameter: name for parameter, name in named.items() if name is not None}

    @property
    def needed(self) -> list[str]:
        """All columns that the pipeline looks at."""
        return [self.id, *self.read.values()]


def carried(schema: StructType, columns: Columns, carry: Sequence[str] | None, shape: Shape) -> list[str]:
    """The columns of a post that its matches have: all, or those named; the id in any case."""
    # To Spark, names that differ in case are the same.
    taken = [name for name in schema.names if name.lower() in (*shape.names, _TOGETHER, MATCHER, VISITS)]
    if taken:
        raise ConfigError(f"posts have a column {taken[0]!r}, which matching adds itself: rename it first")
    for name in carry or ():
        if name not in schema.names:
            raise ConfigError(f"carry names {name!r}: the posts' columns are {', '.join(schema.names)}")
    every = [name for name in schema.names if name != CORRUPT]
    kept = every if carry is None else list(dict.fromkeys([columns.id, *carry]))
    for name in (*kept, *columns.needed):
        if "." in name:
            raise ConfigError(
                f"column {name!r} has a dot in its name, which Spark's Python stages read as a part of another: "
                "rename it, or let carry leave it behind"
            )
    return kept


def _check_type(column: StructField, allowed: tuple[type[DataType], ...]) -> None:
    if not isinstance(column.dataType, (*allowed, NullType)):
        raise ConfigError(
            f"column {column.name!r} is of type {column.dataType.simpleString()}: "
            f"{allowed[0]().simpleString()} is needed; cast it first, or rename it if it is something else"
        )
