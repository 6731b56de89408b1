"""Frames on a TCP connection: four bytes of length, then JSON."""

import json
from asyncio import StreamReader
from typing import Any

from tidegate.errors import TidegateError

LARGEST = 1 << 20
"""No frame is longer; who announces a longer one is not one of us."""


class FrameError(TidegateError):
    """Bytes that are no frame, or a frame that means nothing."""


def frame(message: list[Any]) -> bytes:
    """Write a message; one that is too large is refused by `FrameError`."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    if len(body) > LARGEST:
        raise FrameError(f"a message of {len(body):,} bytes: {LARGEST:,} are the most")
    return len(body).to_bytes(4) + body


async def read_frame(reader: StreamReader) -> list[Any]:
    """Read one message; `asyncio.IncompleteReadError` where the connection ends, `FrameError` if it is none."""
    size = int.from_bytes(await reader.readexactly(4))
    if size > LARGEST:
        raise FrameError(f"a frame of {size:,} bytes is announced: {LARGEST:,} are the most")
    body = await reader.readexactly(size)
    try:
        message = json.loads(body.decode(errors="surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that is no JSON: {error}") from error
    if not isinstance(message, list) or not message:
        raise FrameError(f"a frame that is no message: {message!r:.80}")
    return message
