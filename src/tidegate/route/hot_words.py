"""Hot words (S³-TM §5.1): a word too common for one matcher is split into versions, of which a post draws one.

The draw is by hash of post and word, the same in every process and in every version: a replay routes alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.index.strings import flat_strings, strings
from tidegate.kernels import njit
from tidegate.route.sample import Sample
from tidegate.text.characters import Bytes

Hashes = NDArray[np.uint64]

# FNV-1a of 64 bits.
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
# The finaliser of splitmix64.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BY_30, _BY_27, _BY_31 = np.uint64(30), np.uint64(27), np.uint64(31)


@dataclass(frozen=True)
class Split:
    """A sample in which every post has, in place of a hot word, the version that it draws."""

    whole: Sample
    """The sample as it was."""
    sample: Sample
    """The same posts; a regular word is its own and only version."""
    base: Int32
    """By word of `sample`: the word of `whole` it is a version of."""
    version: Int32
    """By word of `sample`: which version, from 0 on. One that no post has drawn is not there."""
    versions: Int64
    """By word of `whole`: how many versions it has."""


def version_counts(frequency: Int64, matchers: int) -> Int64:
    """Return by word the number of versions, so that none has more than half of a matcher's share of all occurrences.

    That is the limit F = ½ Σf/N; a word of more than F is hot, and has ⌈f/F⌉ versions, or one for each matcher.

    >>> version_counts(np.array([6, 3, 1]), 2)
    array([2, 2, 1])
    """
    total = max(int(frequency.sum()), 1)
    return np.clip(-(-2 * matchers * frequency // total), 1, matchers)


def split(sample: Sample, matchers: int) -> Split:
    """Split the hot words of a sample; the number of a post stands for its id."""
    versions = version_counts(sample.frequency, matchers)
    starts = offsets_of(versions)
    base = np.repeat(np.arange(len(versions), dtype=np.int32), versions)
    version = (np.arange(len(base)) - starts[base]).astype(np.int32)
    ids = post_hashes(pa.array(np.arange(len(sample))))
    posts = Csr(sample.posts.offsets, _drawn_rows(sample.posts, starts, ids, word_hashes(sample.words)))
    hot = int(np.count_nonzero(versions > 1))  # they come first: words are in order of falling frequency
    names = [
        f"{word}\t{number}"  # no word has a tab in it
        for word, count in zip(sample.words.slice(0, hot).to_pylist(), versions[:hot].tolist(), strict=True)
        for number in range(count)
    ]
    parts, order = Sample.renumbered(posts, pa.concat_arrays([strings(names), sample.words.slice(hot)]))
    return Split(sample, parts, base[order], version[order], versions)


def word_hashes(words: pa.Array | pa.ChunkedArray) -> Hashes:
    """Return a 64-bit hash of the UTF-8 bytes of each word, the same for ever."""
    return _fnv(*flat_strings(strings(words)))  # type: ignore[no-any-return]


def post_hashes(ids: pa.Array | pa.ChunkedArray) -> Hashes:
    """Return a 64-bit hash of each post's id, the same for ever: of its bytes, or of a number's decimal digits."""
    if pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type) or pa.types.is_fixed_size_binary(ids.type):
        # Without a look at them: ids that are no UTF-8 are told apart as well.
        ids = _viewed_as_text(ids)
    return word_hashes(ids)


def _viewed_as_text(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = ids.cast(pa.large_binary())
    return (whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole).view(pa.large_string())


@njit(cache=True, nogil=True)
def drawn(post_hash: np.uint64, word_hash: np.uint64, versions: int) -> Any:
    """Return the version of a word, from 0 to `versions`, that a post draws: even, and independent between words."""
    mixed = post_hash ^ word_hash
    mixed = (mixed ^ (mixed >> _BY_30)) * _FIRST
    mixed = (mixed ^ (mixed >> _BY_27)) * _SECOND
    mixed ^= mixed >> _BY_31
    return np.int64(mixed % np.uint64(versions))


@njit(cache=True, nogil=True)
def _fnv(offsets: Int64, data: Bytes) -> Any:
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for row in range(len(hashes)):
        code = _BASIS
        for k in range(offsets[row], offsets[row + 1]):
            code = (code ^ np.uint64(data[k])) * _PRIME
        hashes[row] = code
    return hashes


@njit(cache=True, nogil=True)
def _drawn_rows(posts: Csr, starts: Int64, ids: Hashes, words: Hashes) -> Any:
    """Return the values of the posts with each word as its drawn version; those of word `w` begin at `starts[w]`."""
    values = np.empty(len(posts.values), np.int32)
    for post in range(len(posts.offsets) - 1):
        for k in range(posts.offsets[post], posts.offsets[post + 1]):
            word = posts.values[k]
            versions = starts[word + 1] - starts[word]
            values[k] = starts[word] + (drawn(ids[post], words[word], versions) if versions > 1 else 0)
    return values
