"""A service and its parts, opened and closed together."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Final

from anyio import CapacityLimiter, to_thread

from tidegate.deliver.api_keys import ApiKeys
from tidegate.deliver.database import Database
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.published import PublicAddress
from tidegate.deliver.retention import Retention
from tidegate.deliver.rule_table import RuleTable
from tidegate.deliver.signing_keys import SigningKeys
from tidegate.deliver.site import Site
from tidegate.deliver.subscribers import Subscribers
from tidegate.deliver.upkeep import Upkeep
from tidegate.deliver.watched_rules import WatchedRules
from tidegate.deliver.webhook_secrets import WebhookSecrets
from tidegate.serve import post_retention, presence, revocations
from tidegate.serve.catalogue import Catalogue
from tidegate.serve.exposition import Exposition
from tidegate.serve.feed import Feeds
from tidegate.serve.limits import TokenBuckets
from tidegate.serve.links import Links
from tidegate.serve.live import Hub
from tidegate.serve.post import Post
from tidegate.serve.post_retention import PostRetention
from tidegate.serve.postbox import Postbox
from tidegate.serve.presence import Presence
from tidegate.serve.recent import Recent
from tidegate.serve.repeating import repeat
from tidegate.serve.revocations import Revocations
from tidegate.serve.seen import Seen
from tidegate.serve.settings import Settings
from tidegate.serve.tail import Follower, Tail
from tidegate.serve.wishes import Wishes, known_from
from tidegate.store.glimpses import Glimpses
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

# Threads beside those of requests: the follower's, those of feeds that catch up, and the one that tidies up.
_THREADS_APART: Final = 6
_TIDYING_S: Final = 5.0


@dataclass(frozen=True)
class Service:
    """What routes use. All parts may be shared by threads, but for the hub, which is the event loop's."""

    settings: Settings
    store: Store
    database: Database
    keys: ApiKeys
    subscribers: Subscribers
    signing_keys: SigningKeys
    webhook_secrets: WebhookSecrets
    inbox: Inbox
    catalogue: Catalogue
    recent: Recent
    postbox: Postbox
    hub: Hub
    links: Links
    tail: Tail
    follower: Follower
    feeds: Feeds
    upkeep: Upkeep | None
    post_retention: PostRetention | None
    exposition: Exposition
    requests: TokenBuckets
    refused: TokenBuckets
    analyzer: Analyzer

    @classmethod
    def open(cls, settings: Settings) -> "Service":
        """Open the store and the database; make what is not there."""
        limits = settings.limits
        postbox = Postbox(settings.posts)
        store = Store.open(settings.store)
        database = Database.open(settings.database, connections=settings.connections)
        if settings.public_address is not None:
            PublicAddress(database).publish(settings.public_address)
        place = settings.site
        site = Site(place.name, place.brokers, place.most_kept)
        links = Links(site, place.links_at, place.links_to)
        hub, inbox, catalogue = Hub(settings.live.queue, site), Inbox(database), Catalogue(store, database)
        rules = WatchedRules(RuleTable(database))
        wishes = Wishes(database, rules, known_from(catalogue.standing), hub.kinds_of)
        tail = Tail(database, wishes.heard)
        keep_days = settings.keep_days
        upkeep = Upkeep(database, Retention(database, days=keep_days)) if keep_days else None
        return cls(
            settings=settings,
            store=store,
            database=database,
            keys=ApiKeys(database),
            subscribers=Subscribers(database),
            signing_keys=SigningKeys(database),
            webhook_secrets=WebhookSecrets(database),
            inbox=inbox,
            catalogue=catalogue,
            recent=Recent(settings.recent, postbox.last(settings.recent), seen=Seen(Glimpses(store.beside))),
            postbox=postbox,
            hub=hub,
            links=links,
            tail=tail,
            follower=Follower(tail, hub, settings.live.poll_s),
            feeds=Feeds(inbox, settings.live, wishes.heard),
            upkeep=upkeep,
            post_retention=PostRetention(postbox, store.beside, keep_days) if keep_days else None,
            exposition=Exposition(hub, links, upkeep),
            requests=TokenBuckets(limits.requests_per_s, limits.burst),
            refused=TokenBuckets(limits.refused_per_s, limits.refused_burst),
            analyzer=Analyzer(),
        )

    def accept(self, posts: list[Post]) -> None:
        """Take posts that are to be kept; when this returns they are durable, and in the histories of their topics."""
        self.postbox.put(posts)
        entries = [post.entry() for post in posts if post.topic is not None]
        if entries:
            self.inbox.add(entries, f"posts:{secrets.token_hex(16)}", 0)
        self.recent.add(posts)
        self.exposition.posts.inc(len(posts))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the inbox and note who is here, as long as the block runs."""
        self.hub.start()
        # Each thread holds a connection to the database: more than are pooled would be opened anew each time.
        to_thread.current_default_thread_limiter().total_tokens = max(1, self.settings.connections - _THREADS_APART)
        await self.follower.start()
        ending = Event()
        tasks = [asyncio.create_task(work) for work in self._work(ending)]
        try:
            async with self.links.up():
                yield
        finally:
            ending.set()
            self.hub.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _work(self, ending: Event) -> Iterator[Coroutine[Any, Any, None]]:
        """What is done beside answering."""
        yield self.follower.run()
        yield repeat(Presence(self.database, self.hub).round, presence.EVERY_S, "noting who is online")
        yield repeat(Revocations(self.keys, self.hub).round, revocations.EVERY_S, "watching keys")
        limiter = CapacityLimiter(1)

        def apart(work: Callable[[Callable[[], bool]], object]) -> Callable[[], Awaitable[None]]:
            """Work in a thread, to which it is told whether to go on."""

            async def working() -> None:
                await to_thread.run_sync(partial(work, lambda: not ending.is_set()), limiter=limiter)

            return working

        if self.upkeep is not None:
            yield repeat(apart(self.upkeep.round), _TIDYING_S, "forgetting what is too old")
        if self.post_retention is not None:
            yield repeat(apart(self.post_retention.run), post_retention.EVERY_S, "forgetting posts that are too old")

    def close(self) -> None:
        """Close what is open."""
        self.database.close()
