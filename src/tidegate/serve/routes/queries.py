"""Queries as one types them: what they mean, and what they would match."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidegate.deliver.fields import as_moment
from tidegate.query.conjunction import Query
from tidegate.query.reason import Reason
from tidegate.serve.authentication import Anyone, Serving
from tidegate.serve.post import Post, found
from tidegate.serve.problems import Kind, ProblemError, answers
from tidegate.serve.service import Service
from tidegate.serve.trial import Trial, excluded, tried, wanted
from tidegate.store.checking import checked_query
from tidegate.store.schema import region_text

router = APIRouter(tags=["queries"])

QueryText = Annotated[
    str,
    Field(
        description="What posts have to be about.",
        examples=["storm (coast OR harbour) -film", 'from:nasa "solar eclipse"'],
    ),
]
Degrees = Annotated[float, Field(ge=-180, le=180)]
Box = Annotated[list[Degrees], Field(min_length=4, max_length=4)]
Place = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
Region = Annotated[
    Box | Place | None,
    Field(
        description="Only posts from here: west, south, east and north in degrees, or as queries write places.",
        examples=[[9.9, 54.2, 10.3, 54.5], "near:(54.3,10.1,25)"],
    ),
]


class Asked(BaseModel):
    """A query, and where."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"query": "storm (coast OR harbour)"}]})

    query: QueryText
    region: Region = None


class Alternative(BaseModel):
    """A conjunction: one of the ways in which a post can satisfy a query."""

    wanted: list[str] = Field(description="What a post must have, all of it.")
    excluded: list[str] = Field(description="What it must not have, none of it.")


class Explanation(BaseModel):
    """A query as it is understood."""

    canonical: str = Field(description="The text that all spellings of this query share.")
    id: str = Field(description="The same for all spellings.")
    alternatives: list[Alternative] = Field(description="Any one of them is enough.")


class TryOut(Asked):
    """A query to be tried on recent posts."""

    limit: int = Field(
        default=20, ge=0, le=100, description="So many of the matching posts are shown, the newest first."
    )


class Mark(BaseModel):
    """A part of a text: the characters from `start` on, before `end`, and what of the query they satisfy."""

    start: int
    end: int
    what: str


class Why(BaseModel):
    """Why a post matches."""

    conjunction: str = Field(description="The alternative that it satisfies.")
    marks: list[Mark] = Field(description="Where in its text, by position; they may overlap.")
    others: list[str] = Field(description="What it has beside its text, such as its author or place.")


class MatchingPost(BaseModel):
    """A post, and why it matches."""

    post: Post
    why: Why


class Expected(BaseModel):
    """How many posts a query is likely to match."""

    per_day: float | None = Field(description="A day; null if too few posts came lately to tell.")
    low: float | None = Field(description="With 95 % confidence it is not less.")
    high: float | None = Field(description="Nor more.")
    matched: int = Field(description="So many of the recent posts match.")
    posts: int = Field(description="So many recent posts there are.")
    stands_for: int = Field(description="They stand for so many that came: of a fast stream only some are kept.")
    since: datetime | None = Field(description="The first of them came then; null if there are none.")
    allowed: float = Field(description="A subscription that is likely to match more a day is refused.")


class Tried(BaseModel):
    """What a query would do."""

    explanation: Explanation
    expected: Expected
    matches: list[MatchingPost]


@router.post("/explain", summary="Explain a query", responses=answers())
def explain(asked: Asked, _: Anyone, service: Serving) -> Explanation:
    """Say what a query means, or, with position and remedy, why it cannot be accepted."""
    return explanation(read_query(service, asked.query, asked.region))


@router.post("/dry-run", summary="Try a query on recent posts", responses=answers())
def dry_run(asked: TryOut, _: Anyone, service: Serving) -> Tried:
    """Show which recent posts a query matches and why, and how many a day to expect."""
    query = read_query(service, asked.query, asked.region)
    trial = tried(query, service.recent, asked.limit)
    shown = [MatchingPost(post=found(post), why=why(reason)) for post, reason in trial.matches]
    return Tried(explanation=explanation(query), expected=expected(service, trial), matches=shown)


def read_query(service: Service, query: str, region: Box | str | None) -> Query:
    """Return the whole query, or raise what is wrong with it."""
    place = region_text(region)
    most = service.settings.limits.query_characters
    if len(query) > most:
        said = f"the query has {len(query):,} characters: at most {most:,} are allowed"
        raise ProblemError(Kind.QUERY, said, position=most, hint="write less, or make several subscriptions")
    return checked_query(query, place, service.analyzer)


def explanation(query: Query) -> Explanation:
    """A query as it is understood."""
    alternatives = [Alternative(wanted=wanted(each), excluded=excluded(each)) for each in query.conjunctions]
    return Explanation(canonical=query.canonical, id=query.id, alternatives=alternatives)


def expected(service: Service, trial: Trial) -> Expected:
    """An estimate, what it is made from, and what is allowed."""
    allowed = service.settings.limits.matches_per_day
    estimate, sample = trial.estimate, trial.sample
    is_known = estimate.is_known
    return Expected(
        per_day=estimate.per_day if is_known else None,
        low=estimate.low if is_known else None,
        high=estimate.high if is_known else None,
        matched=estimate.matched,
        posts=estimate.sampled,
        stands_for=sample.stands_for,
        since=None if sample.since is None else as_moment(sample.since),
        allowed=allowed,
    )


def why(reason: Reason) -> Why:
    """A reason as it is shown."""
    marks = [Mark(start=start, end=end, what=what) for start, end, what in reason.spans]
    return Why(conjunction=reason.canonical, marks=marks, others=list(reason.others))
