"""Frames on a TCP connection: four bytes of length, then JSON; between them, with a seal, what vouches for it."""

import json
from asyncio import StreamReader
from typing import Any

from tidegate.deliver.seal import MAC_BYTES, Seal
from tidegate.errors import TidegateError

LARGEST = 1 << 20
"""No frame is longer; who announces a longer one is not one of us."""


class FrameError(TidegateError):
    """Bytes that are no frame, or a frame that means nothing."""


def written(message: list[Any]) -> bytes:
    """The JSON of a message; one that is too large is refused by `FrameError`."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    if len(body) > LARGEST:
        raise FrameError(f"a message of {len(body):,} bytes: {LARGEST:,} are the most")
    return body


def framed(body: bytes, seal: Seal | None = None) -> bytes:
    """The frame of a message that was written; with a seal, it is to be sent next."""
    mac = b"" if seal is None else seal.mac(body)
    return len(body).to_bytes(4) + mac + body


def frame(message: list[Any], seal: Seal | None = None) -> bytes:
    """Write a message as a frame."""
    return framed(written(message), seal)


async def read_frame(reader: StreamReader, seal: Seal | None = None, largest: int = LARGEST) -> list[Any]:
    """Read one message; `asyncio.IncompleteReadError` where the connection ends, `FrameError` if it is none.

    With a seal, also if it is not vouched for, or not the next one.
    """
    size = int.from_bytes(await reader.readexactly(4))
    if size > largest:
        raise FrameError(f"a frame of {size:,} bytes is announced: {largest:,} are the most")
    mac = b"" if seal is None else await reader.readexactly(MAC_BYTES)
    body = await reader.readexactly(size)
    if seal is not None and not seal.is_genuine(mac, body):
        raise FrameError("a frame that is not genuine: the other side has another key, or somebody is in between")
    try:
        message = json.loads(body.decode(errors="surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that is no JSON: {error}") from error
    if not isinstance(message, list) or not message:
        raise FrameError(f"a frame that is no message: {message!r:.80}")
    return message
