"""A sample of the stream as a word map learns from it: posts as sets of words, numbered by how common they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Csr, Int32, Int64, offsets_of, taken
from tidegate.index.sets import ranked_items
from tidegate.index.strings import strings
from tidegate.kernels import njit
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Degrees, read_posts
from tidegate.text.vocabulary import Vocabulary


class _OpenVocabulary(Vocabulary):
    """Knows every term it is asked for, so that a lexicon emits all terms of a text and not only subscribed ones."""

    def id(self, term: str) -> int:
        return self.intern(term)


class Points(NamedTuple):
    """Where posts are from; both NaN where they do not say."""

    lat: Degrees
    lon: Degrees

    @classmethod
    def nowhere(cls, posts: int) -> "Points":
        """Of so many posts without a place."""
        return cls(np.full(posts, np.nan), np.full(posts, np.nan))

    @classmethod
    def joined(cls, parts: "Iterable[Points]") -> "Points":
        """Of several rows of posts, one after the other."""
        lats, lons = zip(cls.nowhere(0), *parts, strict=True)
        return cls(np.concatenate(lats), np.concatenate(lons))

    def only(self, rows: Int64) -> "Points":
        """Of some of the posts."""
        return Points(self.lat[rows], self.lon[rows])


@dataclass(frozen=True)
class Sample:
    """Posts and their words; a word's number is its rank by falling frequency, ties by the alphabet (of bytes).

    >>> sample = Sample.of(pa.table({"text": ["Storms in Kiel", "storm", None]}), Analyzer())
    >>> sample.words.to_pylist(), sample.frequency.tolist(), sample.posts
    (['storm', 'kiel'], [2, 1], Csr(offsets=array([0, 2, 3, 3]), values=array([0, 1, 0], dtype=int32)))
    """

    posts: Csr
    """By post: its distinct words, rising."""
    words: pa.LargeStringArray
    """By number; each is in some post."""
    frequency: Int64
    """By word: in how many posts it is."""
    points: Points | None = None
    """By post: its latitude and longitude, NaN where it says nothing of it; None if no post does."""

    @classmethod
    def of(cls, posts: pa.Table | pa.RecordBatch, analyzer: Analyzer, **columns: str) -> Self:
        """Read all terms of the posts that are no prefixes or exact forms: those that routing knows words by.

        The columns are those of `read_posts`: `text`, and `author`, `lang`, `lat`, `lon` where there are such.
        """
        vocabulary = _OpenVocabulary()
        read = read_posts(posts, Lexicon(analyzer, vocabulary), sequences=False, **columns)
        return cls.from_rows(read.terms, strings(vocabulary), Points(read.lat, read.lon))

    @classmethod
    def from_rows(cls, posts: Csr, words: pa.LargeStringArray, points: Points | None = None) -> Self:
        """Number the words of `posts`, which are rows of `words`, by frequency; words that no post has are dropped."""
        return cls.renumbered(posts, words, points)[0]

    @classmethod
    def renumbered(cls, posts: Csr, words: pa.LargeStringArray, points: Points | None = None) -> tuple[Self, Int64]:
        """Return the sample as `from_rows` does, and by its words the row of each in `words`."""
        distinct = ranked_items(posts, len(words))
        frequency = np.bincount(distinct.values, minlength=len(words))
        ranking = pa.table({"frequency": frequency, "word": words})
        order = (
            pc.sort_indices(ranking, [("frequency", "descending"), ("word", "ascending")]).to_numpy().astype(np.int64)
        )
        order = order[: np.count_nonzero(frequency)]
        numbers = np.empty(len(words), np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        posts = ranked_items(Csr(distinct.offsets, numbers[distinct.values]), len(order))
        known = None if points is None or np.isnan(points.lat).all() else points
        return cls(posts, words.take(pa.array(order)), frequency[order], known), order

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Return the posts of several samples, one after the other, as one."""
        samples = list(parts)
        words = pa.concat_arrays([strings([]), *(sample.words for sample in samples)]).dictionary_encode()
        starts = offsets_of([len(sample.words) for sample in samples])
        numbers = words.indices.to_numpy().astype(np.int32)
        values = [numbers[start + sample.posts.values] for start, sample in zip(starts, samples, strict=False)]
        lengths = [np.diff(sample.posts.offsets) for sample in samples]
        nothing = np.empty(0, np.int32)
        posts = Csr(offsets_of(np.concatenate([nothing, *lengths])), np.concatenate([nothing, *values]))
        return cls.from_rows(posts, words.dictionary, Points.joined(sample.at for sample in samples))

    def only(self, rows: Any) -> Self:
        """Return some of the posts, in the order of `rows`, as a sample with its own numbers."""
        numbers = np.asarray(rows, np.int64)
        points = None if self.points is None else self.points.only(numbers)
        return self.from_rows(taken(self.posts, numbers), self.words, points)

    @property
    def at(self) -> Points:
        """The points of all posts, whether they have any or not."""
        return Points.nowhere(len(self)) if self.points is None else self.points

    @cached_property
    def posts_of(self) -> Csr:
        """By word: the posts it is in, rising."""
        return Csr(*inverted(self.posts, offsets_of(self.frequency)))

    def __len__(self) -> int:
        """Return the number of posts."""
        return self.posts.rows


@njit(cache=True, nogil=True)
def inverted(posts: Csr, offsets: Int64) -> tuple[Int64, Int32]:
    """Return by word the posts it is in, rising; those of word `w` begin at `offsets[w]`."""
    ends = offsets[:-1].copy()
    values = np.empty(len(posts.values), np.int32)
    for post in range(len(posts.offsets) - 1):
        for k in range(posts.offsets[post], posts.offsets[post + 1]):
            word = posts.values[k]
            values[ends[word]] = post
            ends[word] += 1
    return offsets, values
