"""Word maps: which matcher owns a word, or each version of a hot one; learned from a sample, kept as one file."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of, taken
from tidegate.index.segment import read_segment, write_segment
from tidegate.index.strings import read_strings, string_arrays, strings
from tidegate.route.hot_words import Split, post_hashes, word_hashes
from tidegate.route.measures import Measured, measured_versions
from tidegate.route.ownership import owner
from tidegate.route.sample import Sample

_KIND = "words"


@dataclass(frozen=True)
class WordMap:
    """The owners of all words: learned for those of a sample, by hash for a word never seen.

    >>> sample = Sample.from_rows(Csr(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)), strings(["kiel", "storm"]))
    >>> words = WordMap.of(sample, np.array([3, 5], np.int32), 16)
    >>> words.owners_of(["kiel", "#eclipse", "storm"]).values, words.frequency_of(["kiel", "#eclipse", "storm"])
    (array([ 5, 13,  3], dtype=int32), array([1, 0, 2]))
    """

    matchers: int
    words: pa.LargeStringArray
    """The words of the sample, by falling frequency."""
    frequency: Int64
    """By word: in how many posts of the sample it was."""
    posts: int
    """How many posts the sample had."""
    owners: Csr
    """By word: the owner of each of its versions; a regular word has one."""

    @classmethod
    def of(cls, learned_from: Sample | Split, owner_of: Int32, matchers: int) -> Self:
        """Return the map by which word `w` of the sample, or of the split one, is owned by `owner_of[w]`."""
        if isinstance(learned_from, Sample):
            owners, sample = Csr(offsets_of(np.ones(len(owner_of), np.int64)), owner_of), learned_from
        else:
            owners, sample = _folded(learned_from, owner_of, matchers), learned_from.whole
        return cls(matchers, sample.words, sample.frequency, len(sample), owners)

    def owners_of(self, terms: Iterable[str]) -> Csr:
        """Return for each term the owners of its versions."""
        texts = strings(terms)
        numbers = self._numbers(texts)
        known, unknown = numbers >= 0, np.flatnonzero(numbers < 0)
        lengths = np.ones(len(numbers), np.int64)
        lengths[known] = np.diff(self.owners.offsets)[numbers[known]]
        values = np.empty(int(lengths.sum()), np.int32)
        offsets = offsets_of(lengths)
        values[np.repeat(known, lengths)] = taken(self.owners, numbers[known]).values
        values[offsets[unknown]] = [owner(term, self.matchers) for term in texts.take(pa.array(unknown)).to_pylist()]
        return Csr(offsets, values)

    def frequency_of(self, terms: Iterable[str]) -> Int64:
        """Return for each term in how many posts of the sample it was; 0 for one never seen."""
        numbers = self._numbers(strings(terms))
        found = np.zeros(len(numbers), np.int64)
        found[numbers >= 0] = self.frequency[numbers[numbers >= 0]]
        return found

    def measured(self, sample: Sample, subscribed: NDArray[np.bool_] | None = None) -> Measured:
        """Route the posts of a sample by this map, whose own sample it need not be; a post's number stands for its id.

        With `subscribed`, by word of the sample, words that nobody subscribed to lead nowhere.
        """
        owners = self.owners_of(sample.words)
        if subscribed is not None:
            lengths = np.diff(owners.offsets)
            owners = Csr(offsets_of(lengths * subscribed), owners.values[np.repeat(subscribed, lengths)])
        ids = post_hashes(pa.array(np.arange(len(sample))))
        return measured_versions(sample.posts, owners, self.matchers, ids, word_hashes(sample.words))

    def save(self, path: Path | str) -> None:
        """Write everything as one Arrow IPC file, whole or not at all."""
        arrays: dict[str, NDArray[Any]] = {
            "owners.offsets": self.owners.offsets,
            "owners.values": self.owners.values,
            "frequency": self.frequency,
            **string_arrays("words", self.words),
        }
        write_segment(path, _KIND, arrays, {"matchers": self.matchers, "posts": self.posts})

    @classmethod
    def open(cls, path: Path | str, *, verify: bool = True) -> Self:
        """Map what was saved; nothing is copied. A torn, foreign or altered file is refused by name."""
        arrays, numbers = read_segment(path, _KIND, verify=verify)
        owners = Csr(arrays["owners.offsets"], arrays["owners.values"])
        return cls(numbers["matchers"], read_strings(arrays, "words"), arrays["frequency"], numbers["posts"], owners)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words.to_pylist())}

    def _numbers(self, terms: pa.LargeStringArray) -> Int64:
        """Return for each term its number among the words, or -1."""
        rows = self._rows
        return np.fromiter((rows.get(term, -1) for term in terms.to_pylist()), np.int64, len(terms))


def _folded(split: Split, owner_of: Int32, matchers: int) -> Csr:
    """Put the owners of versions together by word. A version that no post had drawn is owned by hash."""
    offsets = offsets_of(split.versions)
    values = np.full(offsets[-1], -1, np.int32)
    values[offsets[split.base] + split.version] = owner_of
    for place in np.flatnonzero(values < 0).tolist():
        word = int(np.searchsorted(offsets, place, side="right")) - 1
        values[place] = owner(f"{split.whole.words[word].as_py()}\t{place - offsets[word]}", matchers)
    return Csr(offsets, values)
