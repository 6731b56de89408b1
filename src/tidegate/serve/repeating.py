"""What a service does again and again beside answering, whatever happens to it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tidegate.errors import StoreError

_PATIENCE_S = 1.0
_log = logging.getLogger(__name__)


async def repeat(work: Callable[[], Awaitable[None]], every_s: float, name: str) -> None:
    """Work after every pause, until cancelled. What fails is told, and tried again after one of a second at least."""
    pause_s = every_s
    while True:
        await asyncio.sleep(pause_s)
        pause_s = max(every_s, _PATIENCE_S)
        try:
            await work()
            pause_s = every_s
        except StoreError as error:
            _log.warning("%s waits for the database: %s", name, error)
        except Exception:
            _log.exception("%s cannot go on; trying again", name)
