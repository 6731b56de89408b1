"""The posts of a run: as they are written, for Spark to read, and as the plain words that all engines agree on."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.bench.stored import stored_texts
from tidegate.csr import Csr, Int64
from tidegate.errors import ConfigError
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.vocabulary import Vocabulary
from tidegate.workload.posts import posts as generated_posts

# One task reads one file or several: with many of like size, two cores get the same amount of work.
_FILES: Final = 16


@dataclass(frozen=True)
class Corpus:
    """Posts, and which of the words below each of them has."""

    texts: pa.Array
    words: pa.Array
    """Plain words that are terms as they stand, by falling number of posts: neither stop words nor inflected."""
    terms: Csr
    """By post: its words, as numbers."""

    @classmethod
    def read(cls, path: Path | None, count: int, seed: int) -> "Corpus":
        """Take `count` posts of a file, over again if it has fewer, or generate as many.

        They come in a random order: stored posts may be sorted by place or time, and what is measured on the first of
        them has to hold for all.
        """
        texts = generated_posts(count, seed)["text"].combine_chunks() if path is None else stored_texts(path)
        texts = texts.cast(pa.large_string()).fill_null("")
        order = np.random.default_rng(seed).permutation(len(texts))
        return cls.of(texts.take(pa.array(np.resize(order, count))))

    @classmethod
    def of(cls, texts: pa.Array) -> "Corpus":
        """Read the posts with these texts."""
        analyzer = Analyzer()
        written = pc.unique(pc.list_flatten(pc.utf8_split_whitespace(pc.utf8_lower(texts))))
        plain = written.filter(pc.match_substring_regex(written, "^[a-z]+$"))
        listed = plain.to_pylist()
        own = [word for word, term in zip(listed, analyzer.terms(listed), strict=True) if word == term]
        terms = Lexicon(analyzer, Vocabulary(own)).scan(texts).terms
        if len(terms.values) == 0:
            raise ConfigError("no post has a plain word: subscriptions cannot be drawn from these posts")
        order = np.argsort(-np.bincount(terms.values, minlength=len(own)), kind="stable")
        ranks = np.empty(len(own), np.int32)
        ranks[order] = np.arange(len(own), dtype=np.int32)
        return cls(texts, pa.array(own, pa.string()).take(pa.array(order)), Csr(terms.offsets, ranks[terms.values]))

    @property
    def uses(self) -> Int64:
        """By word: how many posts have it."""
        return np.bincount(self.terms.values, minlength=len(self.words))

    def write(self, folder: Path, first: int = 0, count: int | None = None, *, files: int = _FILES) -> Path:
        """Write posts `first` to `first + count` as they are; the id of a post is its number."""
        stop = len(self.texts) if count is None else first + count
        return _write(folder, self.texts.slice(first, stop - first), first, files)

    def write_plain(self, folder: Path, count: int) -> Path:
        """Write the first posts as their plain words, each once, with a space between: any tokeniser finds these."""
        terms = self.terms.slice(0, count)
        lists = pa.ListArray.from_arrays(pa.array(terms.offsets, pa.int32()), self.words.take(pa.array(terms.values)))
        return _write(folder, pc.binary_join(lists, " "), 0, 2)


def _write(folder: Path, texts: pa.Array, first: int, files: int) -> Path:
    folder.mkdir(parents=True)
    table = pa.table({"id": np.arange(first, first + len(texts)), "text": texts.cast(pa.string())})
    ends = np.linspace(0, len(texts), files + 1).astype(int)
    for number, (begin, end) in enumerate(pairwise(ends)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{number:04}.parquet")
    return folder
