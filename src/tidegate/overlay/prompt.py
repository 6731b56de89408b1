"""Chunks whose winners are sent as soon as their window is complete.

Algorithm 2 looks at a window only when the next one is complete too. That is not needed: who wins a window inside a
chunk is sent in any case, be it as a guard. What is sent is the same, but a window earlier.
"""

from collections import deque
from collections.abc import Iterator

from tidegate.rank.event import Event, best
from tidegate.rank.incremental import Chunker
from tidegate.rank.messages import Message, Part, Start
from tidegate.rank.windows import Windows


class PromptChunker:
    """A `Chunker` that does not wait: the same messages, and before them a part for each that has just won."""

    def __init__(self, feed: str, windows: Windows) -> None:
        """Start between two chunks."""
        self._chunker = Chunker(feed, windows)
        self._feed, self._windows, self._chunk = feed, windows, 0
        self._window: deque[Event] = deque(maxlen=windows.width)
        self._sent: set[str] = set()

    @property
    def length(self) -> int:
        """Of the chunk at hand, so far."""
        return self._chunker.length

    @property
    def can_finish(self) -> bool:
        """Whether a chunk that ended now would leave the windows of the next one in step."""
        return self._chunker.can_finish

    def receive(self, event: Event) -> Iterator[Message]:
        """Take the next event, and yield what is to be sent now."""
        width, shift = self._windows.width, self._windows.shift
        self._window.append(event)
        yield from self._passed(self._chunker.receive(event))
        if self.length >= width and (self.length - width) % shift == 0:
            for rank, winner in enumerate(best(self._window, self._windows.k)):
                yield from self._passed([Part(self._feed, self._chunk, "top", winner, rank)])

    def finish(self) -> Iterator[Message]:
        """End the chunk, and yield what is still to be sent of it."""
        yield from self._passed(self._chunker.finish())
        self._window.clear()
        self._sent.clear()

    def _passed(self, messages: Iterator[Message] | list[Message]) -> Iterator[Message]:
        """Let messages pass; an event is news in the first of them only."""
        for message in messages:
            if isinstance(message, Start):
                self._chunk = message.chunk
            if isinstance(message, Part):
                yield message._replace(is_news=message.event.id not in self._sent)
                self._sent.add(message.event.id)
            else:
                yield message
