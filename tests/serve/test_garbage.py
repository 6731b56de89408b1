"""The collector leaves alone what has survived, and still finds what is garbage."""

import asyncio
import gc
import weakref

from tidegate.serve.garbage import spared


class Feed:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.me = self


def test_what_has_survived_is_set_aside_and_what_comes_later_is_still_collected() -> None:
    async def scene() -> None:
        before = gc.get_freeze_count()
        async with spared():
            aside = gc.get_freeze_count()
            assert aside > before
            kept = [Feed() for _ in range(100)]
            gc.collect()
            assert gc.get_freeze_count() >= aside + len(kept)
            gone = weakref.ref(Feed())
            assert gone() is not None
            gc.collect()
            assert gone() is None
        assert gc.get_freeze_count() == 0

    asyncio.run(scene())


def test_what_was_set_aside_and_ended_later_is_found_when_everything_is_looked_at() -> None:
    async def scene() -> None:
        async with spared(every_s=0.01):
            feed = Feed()
            gone = weakref.ref(feed)
            gc.collect()
            del feed
            while gone() is not None:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(scene(), 20))
