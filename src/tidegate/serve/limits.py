"""How much is taken: token buckets for whoever asks, and a bound on the size of requests."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.serve.problems import Kind, ProblemError

# A bucket that was not used for long is full, and can be forgotten.
_MOST_BUCKETS: Final = 100_000


class TokenBuckets:
    """A bucket for each name: it holds `burst` tokens, and `rate` of them come back every second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with full buckets; `clock` counts seconds."""
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, name: str) -> float:
        """Take a token out of a bucket: return 0, or if it is empty, after how many seconds there will be one."""
        now = self._clock()
        with self._lock:
            tokens, then = self._buckets.pop(name, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - then) * self._rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
            self._buckets[name] = (tokens if wait else tokens - 1, now)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return wait

    def demand(self, name: str) -> None:
        """Take a token out of a bucket, or raise the problem that says when there will be one."""
        if wait := self.take(name):
            seconds = math.ceil(wait)
            raise ProblemError(Kind.TOO_MANY, f"ask again in {seconds} s", {"Retry-After": str(seconds)})


class BoundedBodies:
    """Lets a request through when its body is there, and not larger than is allowed.

    What it says of its own length is not relied on.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        """Pass on to `app` what has at most so many bytes."""
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more and len(body) <= self._most:
            message = await receive()
            if message["type"] == "http.disconnect":
                return  # a part of a body may mean something else than the whole
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if len(body) > self._most:
            problem = ProblemError(Kind.TOO_LARGE, f"at most {self._most:,} bytes are taken", {"Connection": "close"})
            await problem.response()(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replayed, send)
