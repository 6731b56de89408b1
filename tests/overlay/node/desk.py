"""A peer without sockets, in a time that goes by when it is told to: what it says is kept, and nobody hears it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from tests.overlay.node.peers import settings
from tests.overlay.node.profiles import HERE, SMALL, profile
from tidegate.deliver.ends import Address
from tidegate.overlay.node.correspondence import Correspondence
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.messages import Kind, Letter
from tidegate.overlay.node.profile import Profile
from tidegate.overlay.node.sealing import Opened
from tidegate.overlay.poldercast.settings import MODULES, Settings

ME, NASA = 1, 10


class _Loop(asyncio.SelectorEventLoop):
    """Whose time stands still by itself."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Desk:
    """The letters of a peer that follows some topics, by default one."""

    def __init__(
        self,
        key: bytes | None = None,
        topics: tuple[int, ...] = (NASA,),
        gossip: Settings = SMALL,
        period_s: float = 1.0,
    ) -> None:
        """It knows nobody; it has not begun."""
        self.said: list[tuple[Kind, int, Letter]] = []
        """What kind of letter went to whom."""
        self._answered = 0
        directory = Directory(ME, HERE, gossip)
        directory.follow(topics)
        self.settings = replace(settings(key=key, period_s=period_s), gossip=gossip)
        self.letters = Correspondence(self.settings, directory, self._say, lambda _: False)

    def _say(self, kind: Kind, to: int, at: Address, body: bytes) -> int:
        self.said.append((kind, to, Letter.from_bytes(body, self.letters.gossiping.most_named)))
        return len(self.said)

    def read(self, kind: Kind, letter: Letter) -> None:
        """Have it read a letter from whoever that is of."""
        self.letters.read(Opened(kind, letter.sender.id, 0, letter.to_bytes()))

    def opened(self, *modules: int) -> int:
        """How many gossips of these modules, or of all, it has opened."""
        wanted = modules or range(len(MODULES))
        return sum(kind is Kind.OPEN and letter.module in wanted for kind, _, letter in self.said)

    def answer_all(self) -> None:
        """Answer what it has opened since it was last answered; nobody is named."""
        opened, self._answered = self.said[self._answered :], len(self.said)
        for kind, to, letter in opened:
            if kind is Kind.OPEN:
                self.read(Kind.ANSWER, Letter(letter.module, _other(to)))

    def meet(self, *others: int) -> None:
        """Have these open a gossip; they follow the same topic."""
        for other in others:
            self.read(Kind.OPEN, Letter(0, _other(other)))

    def calm_down(self) -> None:
        """Let it be in no haste, with nothing under way."""
        for module in range(len(MODULES)):
            while module in self.letters._haste:
                self.letters._haste.spend(module)
            self.letters._stop(module)


def _other(peer: int) -> Profile:
    return profile(peer, {NASA})


async def passing(seconds: float) -> None:
    """Let so much time go by, and all be done that is due by then."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _Loop)
    loop.now += seconds
    for _ in range(3):
        await asyncio.sleep(0)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test in a time of its own."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(test())
