"""Reading posts once for several sets of subscriptions, each with a vocabulary of its own.

Reading text costs more than matching it against a small set: a store with a main level and a tail must not do it twice.
"""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from tidegate.csr import Csr, Int32
from tidegate.kernels import njit
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import Posts, read_posts
from tidegate.text.profile import Profile


class View(NamedTuple):
    """How one of the sets sees what was read: by common id its own, or -1."""

    terms: Int32
    surfaces: Int32

    @classmethod
    def of(cls, terms: Int32, surfaces: Int32) -> Self:
        """Turn around what leads from own ids to common ones."""
        return cls(_inverse(terms), _inverse(surfaces))

    def __call__(self, posts: Posts) -> Posts:
        """Return the posts in its own ids."""
        surfaces = posts.surfaces and Csr(posts.surfaces.offsets, _mapped(posts.surfaces.values, self.surfaces))
        return replace(posts, terms=kept(posts.terms, self.terms), surfaces=surfaces)


class CommonReading:
    """Grows with the sets it reads for; belongs to one thread. The set that is added first is seen fastest."""

    def __init__(self, profile: Profile) -> None:
        """Read by a profile, which all sets must share."""
        self.profile = profile
        self._lexicon = Lexicon(Analyzer(profile))
        self._sequences = False

    def add(self, terms: pa.LargeStringArray, surfaces: pa.LargeStringArray | None = None) -> View:
        """Read for one more set from now on, by its terms and surface forms; return how it sees what is read."""
        term_ids = self._lexicon.add_terms(terms.to_pylist())
        words = [] if surfaces is None else surfaces.to_pylist()
        self._sequences |= len(words) > 0
        return View.of(term_ids, np.array([self._lexicon.surface_id(word) for word in words], np.int32))

    def read(self, posts: pa.Table | pa.RecordBatch, **columns: str) -> Posts:
        """Read posts, named as for `read_posts`, into common ids."""
        return read_posts(posts, self._lexicon, sequences=self._sequences, **columns)


def _inverse(common: Int32) -> Int32:
    own = np.full(int(common.max(initial=-1)) + 1, -1, np.int32)
    own[common] = np.arange(len(common), dtype=np.int32)
    return own


@njit(cache=True, nogil=True)
def kept(terms: Csr, own: Int32) -> Csr:
    """Replace ids by a set's own, and leave out those it does not have."""
    offsets = np.zeros_like(terms.offsets)
    values = np.empty_like(terms.values)
    end = 0
    for row in range(len(offsets) - 1):
        for i in range(terms.offsets[row], terms.offsets[row + 1]):
            term = terms.values[i]
            if term < len(own) and own[term] >= 0:
                values[end] = own[term]
                end += 1
        offsets[row + 1] = end
    return Csr(offsets, values[:end])


@njit(cache=True, nogil=True)
def _mapped(surfaces: Int32, own: Int32) -> Int32:
    """Replace ids by a set's own; what it does not know is -1."""
    mapped = np.empty_like(surfaces)
    for i in range(len(surfaces)):
        mapped[i] = own[surfaces[i]] if 0 <= surfaces[i] < len(own) else np.int32(-1)
    return mapped
