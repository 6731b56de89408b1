"""The line of a link: a connection on which messages are said and heard, by those alone who have the key, if any is.

Both sides draw a number and tell it; then each shows that it has the key, by a seal that depends on both numbers, and
on which side has called. So what a site says on one connection that it was called on proves nothing on another. The key
itself is never said. What is said can be read on the way, unless the connection is by TLS.
"""

import asyncio
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tidegate.deliver.frames import FrameError, frame, framed, read_frame
from tidegate.deliver.seal import Seal

_DRAWN_BYTES: Final = 32
_CALLS: Final = b"calls"
_WAITS: Final = b"waits"
# Nobody has shown a key yet: more is not read.
_LARGEST: Final = 200


@dataclass(frozen=True)
class Line:
    """A connection, and the seals of both directions."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ours: Seal | None = None
    theirs: Seal | None = None

    async def hear(self) -> list[Any]:
        """The next message, as `read_frame` reads it."""
        return await read_frame(self.reader, self.theirs)

    async def say(self, bodies: Iterable[bytes]) -> int:
        """Send messages that were written; return how many bytes that was."""
        frames = [framed(body, self.ours) for body in bodies]
        self.writer.writelines(frames)
        await self.writer.drain()
        return sum(map(len, frames))


async def opened(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes | None, *, calls: bool) -> Line:
    """A line on a new connection: with a key, once the other side has shown that it has it, or `FrameError`.

    One of both sides `calls`, and the other does not.
    """
    if key is None:
        return Line(reader, writer)
    drawn = secrets.token_bytes(_DRAWN_BYTES)
    writer.write(frame(["challenge", drawn.hex()]))
    other = _drawn(await read_frame(reader, largest=_LARGEST))
    # Who says our own number back would have us vouch for what it says.
    if other == drawn:
        raise FrameError("the other side repeats what it hears")
    here, there = (_CALLS + drawn, _WAITS + other) if calls else (_WAITS + drawn, _CALLS + other)
    line = Line(reader, writer, Seal(key, here, there), Seal(key, there, here))
    writer.write(frame(["proof"], line.ours))
    if await read_frame(reader, line.theirs, _LARGEST) != ["proof"]:
        raise FrameError("the other side has shown no key")
    return line


def _drawn(message: list[Any]) -> bytes:
    match message:
        case ["challenge", str() as drawn] if len(drawn) == 2 * _DRAWN_BYTES:
            try:
                return bytes.fromhex(drawn)
            except ValueError:
                pass
    raise FrameError("the other side has no key: give both sites the same one")
