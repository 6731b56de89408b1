"""Everything that delivers, as it would be run: a service, a job that matches, and PostgreSQL between them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from tidegate.bench.delivery.listener import Listener
from tidegate.bench.delivery.process import Process
from tidegate.bench.delivery.server import Server
from tidegate.bench.delivery.service import PATIENCE_S, Service
from tidegate.serve.postbox import Postbox
from tidegate.store.store import Store

Part = Literal["service", "database", "pipeline"]
PARTS: Final[tuple[Part, ...]] = ("service", "database", "pipeline")

# No two have one stem: a post has a word, or it has not.
_WORDS: Final = ("alder", "beech", "cedar", "fern", "hazel", "maple", "oak", "palm", "reed", "thorn", "willow", "yew")
_WORDS_PER_POST: Final = 3
_SUBSCRIPTIONS: Final = 3


class Site:
    """The three parts, a writer, and subscribers who listen. A part that was killed can be started again."""

    def __init__(self, folder: Path, server: Server, trigger: str) -> None:
        """Put everything into a folder and a new database; nothing runs before `start`."""
        self.trigger, self._folder, self._server = trigger, folder, server
        self.posted: dict[str, str] = {}
        """The texts of posts that were acknowledged, by id."""
        self.service = Service(folder, server.database())
        self.keys: dict[str, str] = {}
        self.listeners: dict[str, Listener] = {}
        self._wanted: dict[str, dict[str, str]] = {}
        self._pipeline: Process | None = None

    def start(self, subscribers: int, seed: int) -> None:
        """Start all parts. A subscriber asks for several words: some posts match several of its subscriptions."""
        # Spark takes longer to start than all the rest: what it needs to find is made first.
        Store.open(self.service.store)
        Postbox(self.service.posts)
        self.restart("pipeline")
        self.service.start()
        generator = random.Random(seed)
        for name in (f"reader{number}" for number in range(subscribers)):
            self.keys[name] = key = self.service.sign_up(name)
            self._wanted[name] = self._subscribe(key, generator)
            self.listeners[name] = Listener(self.service.port, key)

    @property
    def pipeline(self) -> Process:
        """The job."""
        assert self._pipeline is not None
        return self._pipeline

    def post(self, id_: str, generator: random.Random) -> dict[str, Any]:
        """A post with some of the words."""
        return {"id": id_, "text": " ".join(generator.sample(_WORDS, _WORDS_PER_POST))}

    def hand_in(self, post: dict[str, Any]) -> None:
        """Hand in a post; raise `UnansweredError` unless it is acknowledged. What is presence is not remembered."""
        self.service.ask("POST", "/posts", self.service.operator_key, post)
        if "topic" not in post:
            self.posted[post["id"]] = post["text"]

    def told(self) -> dict[str, dict[str, set[str]]]:
        """Of what each subscriber has to be told, and by which subscriptions, as plain Python finds them."""
        told: dict[str, dict[str, set[str]]] = {name: {} for name in self._wanted}
        for id_, text in self.posted.items():
            words = set(text.split())
            for name, subscriptions in self._wanted.items():
                if reasons := {subscription for subscription, word in subscriptions.items() if word in words}:
                    told[name][id_] = reasons
        return told

    def kill(self, part: Part) -> None:
        """End a part with SIGKILL."""
        match part:
            case "service":
                self.service.kill()
            case "database":
                self._server.kill()
            case "pipeline":
                self.pipeline.kill()

    def restart(self, part: Part) -> None:
        """Start a part again; raise `TidegateError` for a service that finds no database."""
        match part:
            case "service":
                self.service.start()
            case "database":
                self._server.restart()
            case "pipeline":
                self._pipeline = self._run_pipeline()

    def close(self) -> None:
        """End everything but the database server."""
        for listener in self.listeners.values():
            listener.close()
        if self._pipeline is not None:
            self._pipeline.kill()
        self.service.kill()

    def _subscribe(self, key: str, generator: random.Random) -> dict[str, str]:
        """Subscribe to some words; return them by subscription."""
        words = generator.sample(_WORDS, _SUBSCRIPTIONS)
        answers = [self.service.ask("POST", "/subscriptions", key, {"query": word}, PATIENCE_S) for word in words]
        return {answer["subscription"]["id"]: word for answer, word in zip(answers, words, strict=True)}

    def _run_pipeline(self) -> Process:
        options = {
            "--store": self.service.store,
            "--posts": f"json:{self.service.posts}",
            "--matches": f"inbox:{self.service.database}",
            "--checkpoint": self._folder / "checkpoint",
            "--trigger": self.trigger,
        }
        arguments = [str(each) for option in options.items() for each in option]
        return Process.tidegate("run", *arguments, log=self._folder / "run.log")


@contextmanager
def running_site(folder: Path, server: Server, trigger: str, subscribers: int, seed: int) -> Iterator[Site]:
    """A site for as long as the context lasts."""
    site = Site(folder, server, trigger)
    try:
        site.start(subscribers, seed)
        yield site
    finally:
        site.close()
