"""Lists that are handed out piece by piece."""

from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

Item = TypeVar("Item")

Limit = Annotated[int, Query(ge=1, le=1000, description="So many at most.")]
After = Annotated[
    str, Query(max_length=200, pattern=r"^[^\x00]*$", description="`next` of the page before; empty for the first.")
]


class Page(BaseModel, Generic[Item]):
    """Some of a list, and where it goes on."""

    items: list[Item]
    next: str | None = Field(description="What to ask for as `after` to get what follows; null at the end.")
