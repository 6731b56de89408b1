"""The lexicon: which spellings in a stream stand for which subscribed terms.

It learns. A spelling is analysed in Python when it is first seen, and costs one look-up from then on, whether
or not anybody subscribed to it; a term added later reaches the spellings seen before.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.csr import Csr, Int32, Int64, offsets_of
from tidegate.errors import ConfigError
from tidegate.growth import with_room
from tidegate.text.analyzer import Analyzer
from tidegate.text.characters import Bytes
from tidegate.text.emissions import Emissions
from tidegate.text.profile import surface_of
from tidegate.text.spellings import Spellings
from tidegate.text.vocabulary import Vocabulary

# Texts are scanned in blocks of so many bytes: what one pass leaves to the next is still in the cache.
_BLOCK = 1 << 20
# A new prefix is compared with every known spelling. For more than these at once, learning anew is cheaper.
_FEW_PREFIXES = 64


class Scan(NamedTuple):
    """What a scan found, one row per text."""

    terms: Csr
    """The distinct term ids in order of first occurrence (rising, where one token emits several)."""
    surfaces: Csr | None
    """If asked for: one id per token, in order, -1 for a surface form without an id."""
    truncated: int
    """How many texts were longer than the profile's limit, and were cut."""


class Lexicon:
    """Turns texts into the ids of the terms added to it; belongs to one thread, and changes with use.

    >>> lexicon = Lexicon(Analyzer())
    >>> lexicon.add_terms(["storm", "#kiel", "flo*"])
    array([0, 1, 2], dtype=int32)
    >>> lexicon.scan(pa.array(["Storms and floods in #Kiel", None, "storm storms"])).terms
    Csr(offsets=array([0, 3, 3, 4]), values=array([0, 2, 1, 0], dtype=int32))
    """

    def __init__(
        self, analyzer: Analyzer, vocabulary: Vocabulary | None = None, *, max_spellings: int = 2_000_000
    ) -> None:
        """Start with the terms of `vocabulary`, which the lexicon shares: it extends it, and so may others.

        When more than `max_spellings` are known, all are forgotten, and learned again as they are seen.
        """
        self.analyzer = analyzer
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self.max_spellings = max_spellings
        self._spellings = Spellings(analyzer.profile)
        self._surface_ids: dict[str, int] = {}
        self._exact: dict[str, int] = {}
        self._prefixes: dict[int, dict[str, int]] = {}  # by length, then by prefix
        self._wired = 0  # terms of the vocabulary that texts emit
        self._forget()
        self._wire()

    @property
    def n_spellings(self) -> int:
        """How many spellings are known, which is what a lexicon takes memory for."""
        return len(self._spellings)

    def add_terms(self, terms: Iterable[str]) -> Int32:
        """Return the ids of the terms; from now on, texts emit them."""
        ids = np.array([self.vocabulary.intern(term) for term in terms], dtype=np.int32)
        self._wire()
        return ids

    @property
    def surfaces(self) -> list[str]:
        """The surface forms that have an id, by id."""
        return list(self._surface_ids)

    def surface_id(self, word: str) -> int:
        """Return the id under which `Scan.surfaces` lists a surface form from now on."""
        surface = surface_of(word)
        if surface not in self._surface_ids:
            self._surface_ids[surface] = len(self._surface_ids)
            for entry in self._entries_of_surface(surface):
                self._surfaces[entry] = self._surface_ids[surface]
        return self._surface_ids[surface]

    def scan(self, texts: pa.Array | pa.ChunkedArray, *, sequences: bool = False) -> Scan:
        """Return the terms of every text, and with `sequences` its surface ids; a null is an empty text."""
        self._wire()
        terms: list[tuple[Int32, Int64]] = []
        surfaces: list[tuple[Int32, Int64]] = []
        truncated = 0
        for data, offsets in _blocks(texts):
            if self._spellings.exceed(self.max_spellings):
                self._forget()
            tokens, ends, cut = self._spellings.read(data, offsets)
            self._learn()
            terms.append(self._emissions.distinct(tokens, ends, len(self.vocabulary)))
            if sequences:
                surfaces.append((self._surfaces[tokens], ends))
            truncated += cut
        return Scan(_joined(terms), _joined(surfaces) if sequences else None, truncated)

    def _forget(self) -> None:
        """Return to knowing no spelling. Terms and surface ids stay, and are all that learning needs."""
        self._spellings.clear()
        self._learned = 0
        self._emissions = Emissions()
        self._surfaces: Int32 = np.empty(0, dtype=np.int32)  # per entry, the id of its surface form or -1
        self._altered: dict[int, str] = {}  # the surface form of entries that are spelled otherwise
        # The entries of a term (of stop words, for None) are a chain: its latest, and the one before each.
        self._latest: dict[str | None, int] = {}
        self._before: Int32 = np.empty(0, dtype=np.int32)

    def _learn(self) -> None:
        """Find out what the spellings stand for that the last block has brought."""
        first, stop = self._learned, len(self._spellings)
        if first == stop:
            return
        self._learned = stop
        spellings = self._spellings.spelled(first, stop)
        surfaces = [surface_of(spelling) for spelling in spellings]
        self._altered.update(
            (entry, surface)
            for entry, (surface, spelling) in enumerate(zip(surfaces, spellings, strict=True), first)
            if surface != spelling
        )
        terms = self.analyzer.terms(surfaces)
        before = []
        for entry, term in enumerate(terms, first):
            before.append(self._latest.get(term, -1))
            self._latest[term] = entry
        self._before = with_room(self._before, stop)
        self._before[first:stop] = before
        self._surfaces = with_room(self._surfaces, stop)
        self._surfaces[first:stop] = [self._surface_ids.get(surface, -1) for surface in surfaces]
        self._emissions.extend([-1 if term is None else self.vocabulary.id(term) for term in terms])
        if self._exact or self._prefixes:
            for entry, surface in enumerate(surfaces, first):
                for term_id in self._literal_ids(surface):
                    self._emissions.add(entry, term_id)

    def _literal_ids(self, surface: str) -> Iterator[int]:
        """The ids of the exact form and of the prefixes that a surface form satisfies."""
        if surface in self._exact:
            yield self._exact[surface]
        for length, prefixes in self._prefixes.items():
            if len(surface) >= length and surface[:length] in prefixes:
                yield prefixes[surface[:length]]

    def _wire(self) -> None:
        """Let the spellings known so far emit terms that are new, and remember those that are no stems.

        New are all that came into the vocabulary since the last time, whoever put them there.
        """
        new = range(self._wired, len(self.vocabulary))
        self._wired = new.stop
        prefixes: dict[str, int] = {}
        for term_id in new:
            term = self.vocabulary.term(term_id)
            if term.endswith("*"):
                prefixes[term[:-1]] = term_id
            elif term.startswith("="):
                self._exact[term[1:]] = term_id
                for entry in self._entries_of_surface(term[1:]):
                    self._emissions.add(entry, term_id)
            else:
                for entry in self._entries_of_term(term):
                    self._emissions.add(entry, term_id)
        for prefix, term_id in prefixes.items():
            self._prefixes.setdefault(len(prefix), {})[prefix] = term_id
        if len(prefixes) > _FEW_PREFIXES:
            self._forget()
            return
        for prefix, term_id in prefixes.items():
            for entry in self._entries_with_prefix(prefix):
                self._emissions.add(entry, term_id)

    def _entries_of_term(self, term: str | None) -> Iterator[int]:
        entry = self._latest.get(term, -1)
        while entry >= 0:
            yield entry
            entry = int(self._before[entry])

    def _entries_of_surface(self, surface: str) -> Iterator[int]:
        for entry in self._entries_of_term(self.analyzer.term(surface)):
            if self._surface(entry) == surface:
                yield entry

    def _entries_with_prefix(self, prefix: str) -> Iterator[int]:
        yield from (entry for entry in self._spellings.with_prefix(prefix) if entry not in self._altered)
        yield from (entry for entry, surface in self._altered.items() if surface.startswith(prefix))

    def _surface(self, entry: int) -> str:
        return self._altered.get(entry) or self._spellings.spelled(entry, entry + 1)[0]


def _blocks(texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[Bytes, Int64]]:
    """Cut texts into blocks of some bytes: the UTF-8 of all, and the offsets of the block's texts in it."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        if len(chunk) == 0:
            continue
        data, offsets = _buffers(chunk)
        begin = 0
        while begin < len(chunk):
            end = int(np.searchsorted(offsets, offsets[begin] + _BLOCK, side="right")) - 1
            end = max(end, begin + 1)
            yield data, offsets[begin : end + 1]
            begin = end


def _buffers(chunk: pa.Array) -> tuple[Bytes, Int64]:
    """Return the bytes and the offsets of an Arrow array of strings, without its nulls."""
    if not (pa.types.is_string(chunk.type) or pa.types.is_large_string(chunk.type)):
        try:
            chunk = chunk.cast(pa.large_string())
        except pa.ArrowNotImplementedError as error:
            raise ConfigError(f"texts are of type {chunk.type}: a column of strings is needed") from error
        except pa.ArrowInvalid as error:
            raise ConfigError(
                f"texts are of type {chunk.type}, and some are no UTF-8 ({error}): decode the column to strings first"
            ) from error
    if chunk.null_count:
        chunk = pc.fill_null(chunk, "")
    width = np.int32 if pa.types.is_string(chunk.type) else np.int64
    _, offset_buffer, data_buffer = chunk.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=width)[chunk.offset : chunk.offset + len(chunk) + 1]
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    # Arrow buffers may or may not be writable, and kernels are compiled for one kind.
    data.flags.writeable = False
    return data, offsets.astype(np.int64)


def _joined(parts: list[tuple[Int32, Int64]]) -> Csr:
    """Put blocks of rows, given as values and ends, behind one another."""
    if not parts:
        return Csr(offsets_of([]), np.empty(0, dtype=np.int32))
    lengths = np.concatenate([np.diff(ends, prepend=0) for _, ends in parts])
    return Csr(offsets_of(lengths), np.concatenate([values for values, _ in parts]))
