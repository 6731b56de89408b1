"""What brokers do with posts: send them on to where they are matched, or make chunks of them."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from tidegate.overlay.borders import Point
from tidegate.overlay.carriers import Carried, Notice, OnceCarrier, PlainCarrier, is_publication, nbytes_of
from tidegate.overlay.chain import Chain, Link
from tidegate.overlay.feeds import Feed, Posts, streams_of
from tidegate.overlay.network import Network
from tidegate.overlay.prompt import PromptChunker
from tidegate.overlay.reading import ChunkReader, EventReader
from tidegate.overlay.rechunking import Rechunker
from tidegate.overlay.setting import Setting
from tidegate.rank.event import Event
from tidegate.rank.messages import Assembly, End, Message, Part, Start


class Brokers(ABC):
    """What all brokers know: who reads what, and the ways there."""

    def __init__(self, chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting, network: Network) -> None:
        """Start with nothing published."""
        self.chain, self.posts, self.feeds, self.setting, self.network = chain, posts, feeds, setting, network
        self._events: dict[tuple[int, int], Event] = {}
        self.delivered: list[dict[int, float]] = [{} for _ in feeds]
        """By feed, when which posts were delivered."""
        self.streams = streams_of(feeds, cover=setting.cover)
        self.matching: list[list[int]] = [[] for _ in posts.times]
        """By post, the streams that it belongs to."""
        self._onwards: dict[tuple[int, int], dict[int, list[Link]]] = {}
        self._readers: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, stream in enumerate(self.streams):
            for post in stream.model.matched.tolist():
                self.matching[post].append(number)
            for feed in stream.feeds:
                self._readers[number, feeds[feed].edge].append(feed)
            for source in posts.used:
                onwards: dict[int, list[Link]] = defaultdict(list)
                for link in chain.links(source, stream.edges):
                    onwards[link[0]].append(link)
                self._onwards[source, number] = onwards

    @abstractmethod
    def publish(self, post: int, source: int) -> None:
        """Let a post arise at its source."""

    def flush(self) -> None:  # noqa: B027  (there may be nothing to do)
        """Send on what was held back for more to come, if there is any."""

    def onwards(self, source: int, stream: int, broker: int) -> Sequence[Link]:
        """Return the links by which a broker sends on what a stream gets from a source."""
        return self._onwards[source, stream].get(broker, ())

    def readers(self, stream: int, edge: int) -> Sequence[int]:
        """Return the feeds that are served by a stream and read at an edge broker."""
        return self._readers[stream, edge]

    def event(self, post: int, feed: Feed) -> Event:
        """Return a post as a feed sees it."""
        # Asked for at every hop: made once for all feeds that score alike.
        name = post, id(feed.scores)
        if name not in self._events:
            self._events[name] = feed.event(post, self.posts)
        return self._events[name]

    def deliver(self, feed: int, events: Iterable[Event]) -> None:
        """Let a subscriber have events."""
        for event in events:
            self.delivered[feed][int(event.id)] = self.network.now


class EventBrokers(Brokers):
    """Send on whatever is matched; it is ranked where it is read."""

    def __init__(self, chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting, network: Network) -> None:
        """Start with nothing published."""
        super().__init__(chain, posts, feeds, setting, network)
        self._reading = [EventReader(feed.windows) for feed in feeds]

    def publish(self, post: int, source: int) -> None:
        """Let a post arise at its source."""
        self._send(post, source, source)

    def _send(self, post: int, source: int, broker: int) -> None:
        for link in dict.fromkeys(link for one in self.matching[post] for link in self.onwards(source, one, broker)):
            self.network.send(link, partial(self._arrive, post, source, link[1]), publication=True)

    def _arrive(self, post: int, source: int, broker: int) -> None:
        for stream in self.matching[post]:
            for feed in self.readers(stream, broker):
                self.deliver(feed, self._reading[feed].receive(self.event(post, self.feeds[feed])))
        self._send(post, source, broker)


class ChunkBrokers(Brokers):
    """Make chunks at the source, and read them at the other end."""

    def __init__(self, chain: Chain, posts: Posts, feeds: Sequence[Feed], setting: Setting, network: Network) -> None:
        """Start with nothing published."""
        super().__init__(chain, posts, feeds, setting, network)
        windows = {str(number): stream.model.windows for number, stream in enumerate(self.streams)}
        self._chunkers = {
            (source, number): PromptChunker(str(number), stream.model.windows)
            for source in posts.used
            for number, stream in enumerate(self.streams)
        }
        self._began: dict[tuple[int, int], float] = {}
        self._last: dict[tuple[int, int], int] = {}
        for post, source in enumerate(posts.sources.tolist()):
            self._last |= {(source, number): post for number in self.matching[post]}
        make = OnceCarrier if setting.way == "B-CHUNK" else PlainCarrier
        self._carriers: dict[tuple[Link, int], OnceCarrier | PlainCarrier] = defaultdict(make)
        self._rechunkers = {source: Rechunker(setting.together, windows) for source in posts.used}
        self._assemblies: dict[tuple[int, int], Assembly] = defaultdict(Assembly)
        self._reading = [ChunkReader(feed.windows) for feed in feeds]

    def publish(self, post: int, source: int) -> None:
        """Let a post arise at its source."""
        for number in self.matching[post]:
            chunker, model = self._chunkers[source, number], self.streams[number].model
            messages = list(chunker.receive(self.event(post, model)))
            time = float(self.posts.times[post])
            if chunker.length == 1:
                self._began[source, number] = time
            point = Point(chunker.length, int(self.posts.positions[post]), self._began[source, number], time)
            borders = self.setting.borders_of(source, model)
            is_due = post == self._last[source, number] or borders.is_due(point, model.windows.shift)
            if chunker.can_finish and is_due:
                messages += chunker.finish()
            for message in messages:
                # Chunks of two sources have different numbers.
                chunk = message.chunk * self.chain.brokers + source
                self._send(message._replace(chunk=chunk), source, source)

    def flush(self) -> None:
        """Send on what was held back for more to come."""
        for source, rechunker in self._rechunkers.items():
            for message in rechunker.flush():
                self._send(message, source, self.chain.core_of(source))

    def _send(self, message: Message, source: int, broker: int) -> None:
        for link in self.onwards(source, int(message.feed), broker):
            for carried in self._carriers[link, source].send(message):
                self.network.send(
                    link,
                    partial(self._arrive, carried, source, link),
                    publication=is_publication(carried),
                    nbytes=nbytes_of(carried),
                )

    def _arrive(self, carried: Carried, source: int, link: Link) -> None:
        broker = link[1]
        for told in self._carriers[link, source].receive(carried):
            message = self._as_message(told)
            if broker in self.chain.edges:
                self._read(message, broker)
            elif self.setting.together > 1 and broker == self.chain.core_of(source):
                for recombined in self._rechunkers[source].receive(message):
                    self._send(recombined, source, broker)
            else:
                self._send(message, source, broker)

    def _as_message(self, told: Message | Notice) -> Message:
        """Return what was told with the score that its own stream gives: a link may have carried it for another."""
        model = self.streams[int(told.feed)].model
        if isinstance(told, Notice):
            event = self.event(int(told.id), model)
            return Part(told.feed, told.chunk, "top", event, told.rank, is_news=False)
        if isinstance(told, Part):
            return told._replace(event=self.event(int(told.event.id), model))
        return told

    def _read(self, message: Message, edge: int) -> None:
        number = int(message.feed)
        chunk = self._assemblies[number, edge].receive(message)
        for feed in self.readers(number, edge):
            reading = self._reading[feed]
            if isinstance(message, Start):
                reading.begin(message.chunk)
            elif isinstance(message, End):
                assert chunk is not None
                self.deliver(feed, reading.end(message.chunk, chunk))
            elif message.role == "left":
                self.deliver(feed, reading.start(message.chunk, message.event))
            elif message.role == "top":
                self.deliver(feed, reading.win(message.chunk, message.event, message.rank))
