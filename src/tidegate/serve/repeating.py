"""What a service does again and again beside answering, whatever happens to it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tidegate.errors import StoreError

_log = logging.getLogger(__name__)


async def repeat(work: Callable[[], Awaitable[None]], every_s: float, name: str) -> None:
    """Work after every pause, until cancelled. What fails is told, and tried again after the next one."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await work()
        except StoreError as error:
            _log.warning("%s waits for the database: %s", name, error)
        except Exception:
            _log.exception("%s cannot go on; trying again", name)
