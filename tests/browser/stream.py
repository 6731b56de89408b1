"""Posts and what comes of them, as a job would bring it, without Spark: `tests/cli` has the demonstration with it."""

import json
from collections.abc import Mapping
from itertools import count
from types import TracebackType
from typing import Any

import httpx
import pyarrow as pa

from tests.serve.process import ServerProcess
from tests.serve.scene import bearer
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.index.matcher import Matcher
from tidegate.serve.post import COLUMNS
from tidegate.store.schema import whole_query
from tidegate.store.store import Store


class Stream:
    """Hands in posts, matches them against the subscriptions that there are, and fills inboxes."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._store = Store.open(server.folder / "store")
        self._database = Database.open(server.database)
        self._inbox = Inbox(self._database)
        self._batches, self._ids = count(), count()

    def post(self, *texts: str, **columns: Any) -> list[str]:
        """Hand in posts and have them matched; return their ids."""
        posts = [{"id": f"post{next(self._ids)}", "author": "tide", "text": text, **columns} for text in texts]
        self.hand_in(posts)
        return [str(post["id"]) for post in posts]

    def hand_in(self, posts: list[dict[str, Any]]) -> None:
        """Hand in posts as they are, and have them matched."""
        answer = httpx.post(f"{self._server.url}/posts", json=posts, headers=bearer(self._server.operator_key))
        assert answer.status_code == 201, answer.text
        self.match(posts)

    def match(self, posts: list[dict[str, Any]]) -> None:
        """Have posts matched that the service has not seen, or cannot see, as it is down."""
        rows = self._store.subscriptions().to_pylist()
        matcher = Matcher()
        for row in rows:
            matcher.subscribe(row["id"], whole_query(row["query"], row["region"]))
        subscriber_of: Mapping[str, str] = {row["id"]: row["subscriber"] for row in rows}
        seen = [{name: post.get(name) for name in COLUMNS.names if name != "ts"} for post in posts]
        found = matcher.match(pa.Table.from_pylist(seen, schema=COLUMNS))
        matches = [
            {
                "subscriber": subscriber_of[subscription],
                "subscription": subscription,
                "id": posts[row]["id"],
                "post": json.dumps(posts[row]),
            }
            for row, subscription in found.pairs()
        ]
        self._inbox.add(matches, "stream", next(self._batches))

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
