"""The collector leaves alone what has survived, and still finds what is garbage."""

import asyncio
import gc
import weakref

from tidegate.serve.garbage import spared


class Feed:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.me = self


def is_looked_at(feed: Feed) -> bool:
    """Whether the next collection looks at it: what is set aside is not listed, and may be freed like anything else."""
    return any(each is feed for each in gc.get_objects())


def test_what_has_survived_is_set_aside_and_what_comes_later_is_still_collected() -> None:
    async def scene() -> None:
        old = Feed()
        async with spared():
            assert not is_looked_at(old)
            kept = Feed()
            assert is_looked_at(kept)
            gc.collect()
            assert not is_looked_at(kept)
            gone = weakref.ref(Feed())
            assert gone() is not None
            gc.collect()
            assert gone() is None
        assert is_looked_at(kept)

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
