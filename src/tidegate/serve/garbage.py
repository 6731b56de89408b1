"""The garbage collector, kept from looking at thousands of live feeds again and again.

A full collection looks at every object there is: with five thousand feeds for half a second, in which nobody is told
anything. So what has survived one is set aside, and the next looks only at what has come since.
"""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

# No feed lives longer than this by much, so of those that have ended little waits to be found.
_EVERY_S: Final = 3600.0
_OLDEST: Final = 2


@asynccontextmanager
async def spared(every_s: float = _EVERY_S) -> AsyncIterator[None]:
    """Set aside what survives full collections while the block runs; now and then look at all of it nonetheless."""
    gc.callbacks.append(_set_aside)
    looking = asyncio.create_task(_look(every_s))
    gc.collect()
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        gc.callbacks.remove(_set_aside)
        gc.unfreeze()


def _set_aside(phase: str, collected: dict[str, Any]) -> None:
    if phase == "stop" and collected["generation"] == _OLDEST:
        gc.freeze()


async def _look(every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        gc.unfreeze()
        gc.collect()
