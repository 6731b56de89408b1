"""A post as it is handed in, and as it is read back."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from tidegate.deliver.event import PRESENCE, Event
from tidegate.deliver.fields import as_microseconds
from tidegate.store.glimpses import POST

COLUMNS: Final = POST
"""The columns of posts that queries look at, and their time."""

DDL: Final = (
    "id string, ts timestamp, author string, text string, lang string, lat double, lon double, "
    "topic string, topic_type string"
)
"""All columns that a post may have, as Spark is told of them: a file of posts has those alone that some post has."""

LONGEST_NAME: Final = 200
# PostgreSQL has no place for the character 0.
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00]+$")]
"""A short text: an id, an account, a topic."""


class Post(BaseModel):
    """One post."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "Storms reach the harbour of Kiel #weather", "lang": "en", "lat": 54.3, "lon": 10.1}]
        },
    )

    id: Name | None = Field(
        default=None, description="Its id; one is made where none is given. The same id is the same post."
    )
    ts: AwareDatetime | None = Field(default=None, description="When it was written; now, where nothing else is said.")
    author: Name | None = Field(
        default=None, description="The account that wrote it; a subscriber can only post as itself."
    )
    text: Annotated[str, StringConstraints(max_length=20_000)] = Field(description="What it says.")
    lang: Annotated[str, StringConstraints(max_length=35)] | None = Field(
        default=None, description="Its language, as in: en."
    )
    lat: float | None = Field(default=None, ge=-90, le=90, description="Degrees north of where it was written.")
    lon: float | None = Field(default=None, ge=-180, le=180, description="Degrees east of where it was written.")
    topic: Name | None = Field(default=None, description="What it is about, for those who follow that.")
    topic_type: Name | None = Field(
        default=None,
        description=f"Of what type its topic is. Of type {PRESENCE!r}, it goes to live feeds only, at once.",
    )

    @property
    def is_fleeting(self) -> bool:
        """Whether it is for those only who follow its topic now, and not to be kept."""
        return self.topic is not None and self.topic_type == PRESENCE

    def fleeting(self, at: int) -> Event:
        """It as an event of its topic, which came at that moment (microseconds)."""
        assert self.topic is not None
        return Event(self.topic, PRESENCE, at, self.model_dump(mode="json", exclude_none=True))

    def entry(self) -> dict[str, Any]:
        """It as a row that adds to the history of its topic, whomever it is told to."""
        assert self.ts is not None
        about = {"topic": self.topic, "topic_type": self.topic_type}
        return {"id": self.id, "post": self.model_dump_json(exclude_none=True), "at": as_microseconds(self.ts), **about}

    def columns(self) -> dict[str, Any]:
        """What queries look at, by column."""
        return {name: getattr(self, name) for name in COLUMNS.names}

    def completed(self, id: str, ts: datetime, author: str | None) -> "Post":  # noqa: A002
        """The same with this id, and a time and an author where it has none."""
        return self.model_copy(update={"id": id, "ts": self.ts or ts, "author": self.author if self.author else author})


def found(columns: dict[str, Any]) -> Post:
    """A post of a stream, by column; unlike one that is handed in here, it may be of any form."""
    return Post.model_construct(**columns)
