"""An endless microblog: post number n is a function of the seed and n, whoever asks and in whatever pieces.

Posts are drawn in blocks of their own random state, so any range can be made again, anywhere, without what
came before it. Time is counted in posts: once in an era a topic flares up, and its share rises and falls.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from tidegate.csr import Int32, Int64
from tidegate.workload import words
from tidegate.workload.alias import State, random_state, sample_table
from tidegate.workload.posts import authors, languages, law, positions, texts, usual_topics
from tidegate.workload.terms import Floats

BLOCK: Final = 2_000
"""Posts drawn together: the least that is ever generated, even for one post."""
ERA: Final = 200_000
"""Posts with one flare among them; a whole number of blocks."""
SCHEMA: Final = pa.schema(
    {
        "id": pa.string(),
        "ts": pa.timestamp("us", tz="UTC"),
        "author": pa.string(),
        "text": pa.string(),
        "lang": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
)

_PEAKS: Final = (0.3, 0.8)
_LENGTHS: Final = (ERA // 8, ERA // 2)


class Microblog(NamedTuple):
    """The stream of a seed, its post number n written `n / per_second` seconds after `start`."""

    seed: int
    start: datetime
    per_second: float

    def posts(self, first: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Posts `first` to `stop`, in order, with the columns of `SCHEMA`; a core makes some 800,000 a second."""
        for number in range(first // BLOCK, -(-stop // BLOCK)):
            block = self._block(number)
            begin = max(first - number * BLOCK, 0)
            yield block.slice(begin, stop - number * BLOCK - begin)

    def _block(self, number: int) -> pa.RecordBatch:
        key = (self.seed, number)
        state, generator = random_state(key), np.random.default_rng(key)
        numbers = np.arange(number * BLOCK, (number + 1) * BLOCK, dtype=np.int64)
        places = sample_table(law(len(words.PLACES)), BLOCK, state)
        lat, lon = positions(places, generator)
        columns = {
            "id": pa.array(numbers).cast(pa.string()),
            "ts": self._times(numbers),
            "author": authors(BLOCK, state),
            "text": texts(self._topics(numbers, state, generator), places, state),
            "lang": languages(BLOCK, generator),
            "lat": lat,
            "lon": lon,
        }
        return pa.record_batch(columns, schema=SCHEMA)

    def _times(self, numbers: Int64) -> pa.Array:
        waited = (numbers * (1e6 / self.per_second)).astype(np.int64)
        start = pa.scalar(self.start, SCHEMA.field("ts").type).value
        return pa.array(start + waited).cast(SCHEMA.field("ts").type)

    def _topics(self, numbers: Int64, state: State, generator: np.random.Generator) -> Int32:
        flare = flare_of(self.seed, int(numbers[0]) // ERA)
        topics = usual_topics(len(numbers), state)
        topics[generator.random(len(numbers)) < flare.shares(numbers)] = flare.topic
        return topics


class Flare(NamedTuple):
    """A topic that many turn to for a while: `length` posts from number `first` on, `peak` of them in the middle."""

    topic: int
    first: int
    length: int
    peak: float

    def shares(self, numbers: Int64) -> Floats:
        """The share of posts drawn to the topic, beyond those that would be about it anyway."""
        phase = np.clip((numbers - self.first) / self.length, 0.0, 1.0)
        return np.asarray(self.peak * np.sin(np.pi * phase) ** 2)


def flare_of(seed: int, era: int) -> Flare:
    """The one flare among posts `era * ERA` to `(era + 1) * ERA`; it ends within them."""
    generator = np.random.default_rng((seed, era, ERA))  # the third part keeps it apart from the blocks
    length = int(generator.integers(*_LENGTHS))
    return Flare(
        topic=int(generator.integers(len(words.TOPICS))),
        first=era * ERA + int(generator.integers(ERA - length)),
        length=length,
        peak=float(generator.uniform(*_PEAKS)),
    )
