"""What was last told of presence outlives a site, for each site on its own."""

import asyncio

import pytest

from tests.deliver.scenes import DAY, Clock
from tidegate.deliver.database import Database, UnreachableError
from tidegate.deliver.event import Event
from tidegate.deliver.last_events import LastEvents
from tidegate.deliver.retention import Retention
from tidegate.deliver.site import Aggregator, Site
from tidegate.errors import StoreError
from tidegate.serve.remembering import Remembering


def presence(topic: str, at: int, **post: str) -> Event:
    return Event(topic, "presence", at, post)


def told(site: Site, topic: str) -> list[Event]:
    """What somebody who comes now is told of a topic."""
    heard: list[Event] = []
    Aggregator(site).join(heard.append, topic)
    return heard


def test_of_each_topic_the_latest_is_kept_whoever_writes_last(database: Database) -> None:
    here, there = LastEvents(database, "here"), LastEvents(database, "there")
    here.keep([presence("door", 5, text="opened"), presence("gate", 3)])
    here.keep([presence("door", 4, text="late"), presence("gate", 6)])
    there.keep([presence("door", 9)])
    here.keep([])
    assert here.read(10) == [presence("door", 5, text="opened"), presence("gate", 6)]
    assert here.read(1) == [presence("gate", 6)]
    assert there.read(10) == [presence("door", 9)]


def test_the_topics_of_a_subscriber_are_forgotten_and_no_others(database: Database) -> None:
    kept = LastEvents(database, "here")
    others = [presence(topic, 1) for topic in ("ana.b", "ana0", "anabel", "b/ana")]
    kept.keep([*others, *(presence(topic, 1) for topic in ("ana", "ana/", "ana/phone", "ana/ü/x"))])
    kept.forget("ana")
    assert sorted(event.topic for event in kept.read(10)) == sorted(event.topic for event in others)


def test_a_site_that_begins_again_knows_what_it_was_told(database: Database) -> None:
    kept = LastEvents(database, "here")

    async def scene() -> None:
        before = Site("here", "AB")
        remembering = Remembering(before, kept, 10)
        await remembering.begin()
        for topic, at in (("door", 1), ("gate", 2), ("door", 3)):
            before.publish(presence(topic, at))
        before.publish(Event("news", "match", 4))
        await remembering.round()
        after = Site("here", "AB")
        await Remembering(after, kept, 10).begin()
        assert (told(after, "door"), told(after, "gate")) == ([presence("door", 3)], [presence("gate", 2)])
        assert told(after, "news") == []
        assert after.news() == [], "what it was given is written down already"

    asyncio.run(scene())


def test_what_cannot_be_written_down_is_the_next_time_unless_there_is_something_newer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = LastEvents(database, "here")

    def away(_: object) -> None:
        raise UnreachableError("gone fishing")

    async def scene() -> None:
        site = Site("here", "A")
        remembering = Remembering(site, kept, 10)
        site.publish(presence("door", 1))
        site.publish(presence("gate", 1))
        with monkeypatch.context() as patch:
            patch.setattr(kept, "keep", away)
            with pytest.raises(UnreachableError):
                await remembering.round()
        site.publish(presence("door", 2))
        await remembering.round()
        assert kept.read(10) == [presence("gate", 1), presence("door", 2)]

    asyncio.run(scene())


def test_no_more_topics_are_written_down_than_are_remembered(database: Database) -> None:
    """Topics cost nothing to make up: those that a site knows no more of would fill the database."""
    kept, elsewhere = LastEvents(database, "here"), LastEvents(database, "there")
    elsewhere.keep([presence("old", 1)])

    async def scene() -> None:
        site = Site("here", "A", most_kept=10)
        remembering = Remembering(site, kept, 10)
        for at in range(100):
            site.publish(presence(f"ana/{at}", at))
            await remembering.round()
            assert len(kept.read(1000)) <= 20
        await Remembering(Site("here", "A"), kept, 10).begin()

    asyncio.run(scene())
    assert [event.at for event in kept.read(1000)] == list(range(90, 100))
    assert elsewhere.read(10) == [presence("old", 1)]


def test_nor_wait_more_while_the_database_is_away(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, waiting = LastEvents(database, "here"), list[int]()

    def away(events: tuple[Event, ...]) -> None:
        waiting.append(len(events))
        raise UnreachableError("gone fishing")

    async def scene() -> None:
        site = Site("here", "A", most_kept=10)
        remembering = Remembering(site, kept, 10)
        with monkeypatch.context() as patch:
            patch.setattr(kept, "keep", away)
            for at in range(25):
                site.publish(presence(f"ana/{at}", at))
                with pytest.raises(UnreachableError):
                    await remembering.round()
        await remembering.round()

    asyncio.run(scene())
    assert max(waiting) == 10
    assert [event.at for event in kept.read(1000)] == list(range(15, 25))


def test_what_the_database_does_not_take_does_not_keep_the_rest_from_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = LastEvents(database, "here")
    keep = kept.keep

    def choosy(events: tuple[Event, ...]) -> None:
        if any("bad" in event.topic for event in events):
            raise StoreError("no place for this")
        keep(events)

    async def scene() -> None:
        site = Site("here", "A")
        remembering = Remembering(site, kept, 10)
        monkeypatch.setattr(kept, "keep", choosy)
        site.publish(presence("bad", 1))
        with pytest.raises(StoreError):
            await remembering.round()
        site.publish(presence("door", 2))
        await remembering.round()
        assert kept.read(10) == [presence("door", 2)]

    asyncio.run(scene())


def test_topics_that_are_no_longer_kept_are_no_news() -> None:
    site = Site("here", "A", most_kept=2)
    for at, topic in enumerate("abc"):
        site.publish(presence(topic, at))
    assert [event.topic for event in site.news()] == ["b", "c"]


def test_in_the_end_they_are_forgotten(database: Database, clock: Clock) -> None:
    kept = LastEvents(database, "here")
    kept.keep([presence("door", clock.now), presence("gate", clock.now + DAY)])
    clock.now += 90 * DAY + 1
    Retention(database, clock, pause_s=0).run()
    assert [event.topic for event in kept.read(10)] == ["gate"]
