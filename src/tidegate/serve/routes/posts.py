"""Posts, handed in and looked back at."""

import secrets
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field

from tidegate.deliver.clock import now
from tidegate.serve.authentication import Anyone, Caller, Serving
from tidegate.serve.post import LONGEST_NAME, Post
from tidegate.serve.problems import Kind, ProblemError, answers

router = APIRouter(tags=["posts"])


class Accepted(BaseModel):
    """Posts that were accepted."""

    ids: list[str] = Field(description="Their ids, in the order of the posts.")


class RecentPosts(BaseModel):
    """The posts that came last."""

    items: list[Post] = Field(description="The newest first.")


@router.post("/posts", status_code=201, summary="Post", responses=answers(Kind.FORBIDDEN))
def post(
    posts: Annotated[Post | list[Post], Body(description="One post, or several.")], caller: Anyone, service: Serving
) -> Accepted:
    """Hand in posts. When this answers they are durable, and whatever job reads them will match them.

    The same post may be handed in again, by its id, when an answer was lost: nobody is told of it twice. The ids that a
    subscriber gives are its own, and begin with its name and a slash; so do the topics whose presence it can tell.
    """
    given = posts if isinstance(posts, list) else [posts]
    most = service.settings.limits.posts_at_once
    if not 0 < len(given) <= most:
        raise ProblemError(Kind.INVALID, f"{len(given):,} posts: hand in at least one, and at most {most:,} at once")
    for each in given:
        _demand_own_topic(each, caller)
    moment = datetime.now(UTC)
    whole = [each.completed(_id(each, caller) or secrets.token_hex(8), moment, _author(each, caller)) for each in given]
    kept = [each for each in whole if not each.is_fleeting]
    if kept:
        service.accept(kept)
    for each in whole:
        if each.is_fleeting:
            service.hub.soon(service.hub.publish, each.fleeting(now()))
    return Accepted(ids=[str(each.id) for each in whole])


@router.get("/posts/recent", summary="Look at recent posts", responses=answers())
def recent(
    _: Anyone, service: Serving, limit: Annotated[int, Query(ge=1, le=1000, description="So many at most.")] = 50
) -> RecentPosts:
    """The posts that came last, which queries are tried on."""
    return RecentPosts(items=service.recent.last(limit))


def _id(post: Post, caller: Caller) -> str | None:
    """The id that a post is known by, if it was given one.

    All that is told of an id is its first post: could subscribers choose any, one could put its own in another's place.
    """
    own = f"{caller.name}/"
    if post.id is None or caller.is_operator or post.id.startswith(own):
        return post.id
    if len(own) + len(post.id) > LONGEST_NAME:
        raise ProblemError(Kind.INVALID, f"id has {len(post.id)} characters: give at most {LONGEST_NAME - len(own)}")
    return own + post.id


def _demand_own_topic(post: Post, caller: Caller) -> None:
    """Refuse the presence of a topic that is not the caller's.

    Of presence the last event takes the place of the one before: whoever could tell any could silence the others.
    What is kept is added to a topic's history, and takes nothing away.
    """
    if caller.is_operator or not post.is_fleeting or post.topic == caller.name:
        return
    if not str(post.topic).startswith(f"{caller.name}/"):
        raise ProblemError(
            Kind.FORBIDDEN,
            f"topic is {post.topic!r}: the topics of presence of {caller.name!r} are {caller.name!r} and those that "
            f"begin with {caller.name + '/'!r}",
        )


def _author(post: Post, caller: Caller) -> str | None:
    """Who is to be named as the author; a subscriber can only post as itself."""
    if caller.is_operator:
        return None
    if post.author not in (None, caller.name):
        raise ProblemError(Kind.FORBIDDEN, f"author is {post.author!r}: this key posts as {caller.name!r}")
    return caller.name
