"""How long a batch waits for peers: the rows that are told live wait along with it, just when there is much to do."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

_SHARE: Final = 0.1
_LOOK_S: Final = 0.05
_MOST_IN_VAIN: Final = 10_000


class Seeking:
    """Waits for somebody who follows a topic, up to so many seconds at once, and a tenth of all time in the long run.

    A topic that was sought in vain is not sought again, as far as is remembered (the last 10,000).
    """

    def __init__(
        self,
        within_s: float,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing has been waited for yet: the first time may take all of `within_s`."""
        self._most_s = self._left_s = within_s
        self._clock, self._pause = clock, pause
        self._at = clock()
        self._in_vain: OrderedDict[str, None] = OrderedDict()

    async def seek(self, topics: Iterable[str], is_followed: Callable[[str], bool]) -> None:
        """Wait until each of some topics is followed, those that were sought in vain aside, or time is up."""
        begin = self._clock()
        self._left_s = min(self._left_s + _SHARE * (begin - self._at), self._most_s)
        missing = [topic for topic in topics if topic not in self._in_vain]
        while missing := [topic for topic in missing if not is_followed(topic)]:
            if self._clock() >= begin + self._left_s:
                break
            await self._pause(_LOOK_S)
        self._at = self._clock()
        self._left_s = max(self._left_s - (self._at - begin), 0.0)
        self._in_vain.update(dict.fromkeys(missing))
        while len(self._in_vain) > _MOST_IN_VAIN:
            self._in_vain.popitem(last=False)
