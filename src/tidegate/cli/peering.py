"""What `tidegate overlay node` does: lines in, events out, and how it fares, until it is told to end."""

import asyncio
import concurrent.futures
import json
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from tidegate.errors import ConfigError, TidegateError
from tidegate.overlay.node.messages import LARGEST_EVENT
from tidegate.overlay.node.node import Node
from tidegate.overlay.node.picked import Picking, picked
from tidegate.overlay.node.profile import topic_bytes
from tidegate.overlay.node.settings import NodeSettings
from tidegate.overlay.node.unread import Delivered
from tidegate.rank.duration import duration
from tidegate.rank.ranking import TimeWindows
from tidegate.rank.windows import Windows

_EVERY_S: Final = 5.0
_STATUS_S: Final = 1.0
_LONGEST_LINE: Final = 8 * LARGEST_EVENT
"""Of the input, in bytes: JSON may take six for one of an event."""
_STUCK_S: Final = 3.0
"""At the end, what has been told is printed, unless nobody has read anything for so long."""
# What a thread comes upon if the loop has ended: so has its work.
_ENDED: Final = (RuntimeError, asyncio.CancelledError, concurrent.futures.CancelledError)
_FORMS: Final = 'write TOPIC, a tab and a text, or {"topic": …, "text": …}, {"subscribe": …}, {"unsubscribe": …}'


@dataclass(frozen=True)
class Peering:
    """What the command was asked for."""

    settings: NodeSettings
    topics: tuple[str, ...] = ()
    publish: str | None = None
    within_s: float = 10.0
    status_file: Path | None = None
    once: bool = False
    seconds: float | None = None
    picking: Picking | None = None
    """Of what is told, what is printed; all of it without."""


def named_topics(text: str) -> tuple[str, ...]:
    """Read names of topics: those in a file, if it is one, or else the text's own.

    >>> named_topics("nasa, esa")
    ('nasa', 'esa')
    """
    try:
        is_file = Path(text).is_file()
    except OSError:  # too long for a name
        is_file = False
    if not is_file and text.endswith(".txt"):
        raise ConfigError(f"{text}: there is no such file of topics; names are separated by commas")
    names = _file_lines(Path(text)) if is_file else text.split(",")
    topics = tuple(name.strip() for name in names if name.strip())
    for name in topics:
        topic_bytes(name)
    return topics


def picking_of(best: int | None, of: str | None, by: str | None) -> Picking | None:
    """Read which events are printed: so many of every window, which is a number of events, or a time.

    >>> picking_of(3, "10m", None)
    Picking(windows=TimeWindows(k=3, width=600000000, shift=600000000), name='score')
    """
    if best is None:
        if of is not None or by is not None:
            raise ConfigError("--of and --by say which events are the best: say by --best how many are printed")
        return None
    of, by = of or "100", by or "score"
    if of.isdecimal():
        return Picking(Windows(best, int(of), int(of)), by)
    width = duration("--of", of)
    return Picking(TimeWindows(best, width, width), by)


def _file_lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file}: the topics cannot be read: {error}; give a text in UTF-8, a name on a line"
        ) from error


def be_peer(asked: Peering) -> None:
    """Be a peer until it ends, and say at the end what was done."""
    console = Console(stderr=True, highlight=False)
    if asked.publish is not None:
        topic_bytes(asked.publish)
    asyncio.run(_Peer(asked, console).run())


class _Peer:
    def __init__(self, asked: Peering, console: Console) -> None:
        self._asked, self._console = asked, console
        self._node = Node(asked.settings)
        self._stop, self._all_printed = asyncio.Event(), asyncio.Event()
        self._received = self._chosen = self._printed = 0
        self._why_not = "nobody reads them"

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(which, self._stop.set)
        self._node.subscribe(*self._asked.topics)
        async with self._node as node:
            self._say(f"listening on {node.address}; others join by --join {node.address}")
            for work in (self._read, self._print):
                threading.Thread(target=work, args=(loop,), daemon=True).start()
            tasks = [asyncio.create_task(one) for one in (self._report(), self._keep_status())]
            with suppress(TimeoutError):
                async with asyncio.timeout(self._asked.seconds):
                    await self._stop.wait()
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._last_words()
        self._write_status()
        self._say(f"left: {told(node.status())}")
        if missing := node.counters.delivered - self._received + self._chosen - self._printed:
            raise TidegateError(f"{missing:,} events were not printed: {self._why_not}")

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take the input line by line, each when the one before is done with: in a thread, since reading may wait."""
        with suppress(*_ENDED):
            try:
                for line in _lines():
                    asyncio.run_coroutine_threadsafe(self._do(line), loop).result()
            finally:
                if self._asked.once:
                    loop.call_soon_threadsafe(self._stop.set)

    def _print(self, loop: asyncio.AbstractEventLoop) -> None:
        """Print events, each when the one before is written: in a thread, since nobody may read them.

        So those that wait are the peer's, which bounds them. If they cannot be written, the peer is to leave.
        """
        events = self._events()
        with suppress(*_ENDED):
            try:
                while event := asyncio.run_coroutine_threadsafe(_next(events), loop).result():
                    _write(event.to_json() + "\n")
                    self._printed += 1
            except OSError as error:
                self._why_not = error.strerror or str(error)
            finally:
                loop.call_soon_threadsafe(self._all_printed.set)
                loop.call_soon_threadsafe(self._stop.set)

    async def _events(self) -> AsyncIterator[Delivered]:
        """Tell what is to be printed."""
        picking = self._asked.picking
        async for event in self._told() if picking is None else picked(self._told(), picking):
            self._chosen += 1
            yield event

    async def _told(self) -> AsyncIterator[Delivered]:
        async for event in self._node.events():
            self._received += 1
            yield event

    async def _last_words(self) -> None:
        """Wait until all is printed, or nothing more is."""
        before = -1
        while not self._all_printed.is_set() and before != self._printed:
            before = self._printed
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_printed.wait(), _STUCK_S)

    async def _do(self, line: str) -> None:
        if not line:
            return
        try:
            match _understood(line, self._asked.publish):
                case ("subscribe", topic):
                    self._node.subscribe(topic)
                case ("unsubscribe", topic):
                    self._node.unsubscribe(topic)
                case ("publish", topic, text):
                    await self._publish(topic, text)
        except ConfigError as error:
            self._say(f"[bold red]not done:[/] {escape(str(error))}", is_markup=True)

    async def _publish(self, topic: str, text: str) -> None:
        if not await self._node.publish(topic, text, within_s=self._asked.within_s):
            raise ConfigError(f"nobody was found who follows {topic!r}: somebody has to, or wait longer by --within")

    async def _report(self) -> None:
        """Say now and then how it fares, if that has changed."""
        shown = ""
        while True:
            await asyncio.sleep(_EVERY_S)
            line = told(self._node.status())
            if line != shown:
                shown = line
                self._say(line)

    async def _keep_status(self) -> None:
        while True:
            self._write_status()
            await asyncio.sleep(_STATUS_S)

    def _write_status(self) -> None:
        file = self._asked.status_file
        if file is None:
            return
        try:
            written = file.with_name(f".{file.name}.new")
            written.write_text(json.dumps(self._node.status(), indent=2) + "\n")
            written.replace(file)
        except OSError as error:
            logging.getLogger(__name__).warning("the status cannot be written: %s", error)

    def _say(self, text: str, *, is_markup: bool = False) -> None:
        self._console.print(text, markup=is_markup, soft_wrap=True)


def told(status: dict[str, Any]) -> str:
    """How a peer fares, on one line."""
    closed = sum(neighbours > 0 for neighbours in status["topics"].values())
    parts = [
        f"{status['known']:,} peers known",
        f"neighbours in {closed:,} of {len(status['topics']):,} rings",
        f"{status['published']:,} published, {status['delivered']:,} delivered",
    ]
    if status["refused"]:
        parts.append("refused: " + ", ".join(f"{many:,} by {why}" for why, many in sorted(status["refused"].items())))
    if unsent := sum(status["unsent"].values()):
        parts.append(f"{unsent:,} could not be sent")
    return " · ".join(parts)


async def _next(events: AsyncIterator[Delivered]) -> Delivered | None:
    return await anext(events, None)


def _write(text: str) -> None:
    """Write to the output; by the descriptor, as the input is read."""
    rest = text.encode()
    while rest:
        rest = rest[os.write(1, rest) :]


def _lines() -> Iterator[str]:
    """Lines of the input, without their ends; of one that is too long for an event there is no more than that shows it.

    By the descriptor: a thread that waits in `sys.stdin` has a lock that the end of a program needs.
    """
    rest = b""
    while read := os.read(0, LARGEST_EVENT):
        *lines, rest = (rest + read).split(b"\n")
        # What is left out would be taken for a line of its own.
        rest = rest[: _LONGEST_LINE + 1]
        yield from (line[: _LONGEST_LINE + 1].decode(errors="replace") for line in lines)
    if rest:
        yield rest.decode(errors="replace")


def _understood(line: str, usual: str | None) -> tuple[str, ...]:
    """Read a line of the input; `ConfigError` says how one is written."""
    if line.startswith("{"):
        return _from_json(line)
    topic, tab, text = line.partition("\t")
    if tab:
        return "publish", topic, text
    if usual is None:
        raise ConfigError(f"{line!r:.80} names no topic: {_FORMS}; or name one for all by --publish")
    return "publish", usual, line


def _from_json(line: str) -> tuple[str, ...]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{line!r:.80} is no JSON ({error}): {_FORMS}") from error
    match said:
        case {"topic": str() as topic, "text": str() as text, **more} if not more:
            return "publish", topic, text
        case {"subscribe": str() as topic, **more} if not more:
            return "subscribe", topic
        case {"unsubscribe": str() as topic, **more} if not more:
            return "unsubscribe", topic
    raise ConfigError(f"{line!r:.80} means nothing here: {_FORMS}")
