"""Queries as indexes see them: a set of conjunctions, and the one text all spellings of a query share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter

from tidegate.query.condition import Condition, Phrase, Reader
from tidegate.query.region import Region
from tidegate.text.posts import HAS_PLACE


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What a post must have and must not have, all at once; every tuple sorted and distinct.

    `positive` is never empty and enough to find the conjunction by: it has the terms that follow from the
    phrases, and `has:place` where there is a region and nothing else. The rest is verified.
    """

    positive: tuple[str, ...]
    negative: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    without_phrases: tuple[Phrase, ...] = ()
    regions: tuple[Region, ...] = ()
    outside: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A post satisfies a query if it satisfies one of its conjunctions, which are in canonical order.

    Queries that mean the same by order, repetition, case or stem are equal; `canonical` is one of the texts
    that parse to them (in a parser that allows its length), and `id` the 128-bit BLAKE2b of it, in hex.
    """

    conjunctions: tuple[Conjunction, ...]
    canonical: str
    id: str


def conjunction_of(conditions: Iterable[Condition]) -> Conjunction:
    """Return the conjunction of these conditions, at least one of which is wanted."""
    terms: tuple[set[str], set[str]] = (set(), set())
    phrases: tuple[set[Phrase], set[Phrase]] = (set(), set())
    regions: tuple[set[Region], set[Region]] = (set(), set())
    for what, wanted in conditions:
        if isinstance(what, str):
            terms[wanted].add(what)
        elif isinstance(what, tuple):
            phrases[wanted].add(what)
        else:
            regions[wanted].add(what)
    return Conjunction(
        positive=tuple(sorted(terms[True])) or (HAS_PLACE,),
        negative=tuple(sorted(terms[False])),
        phrases=tuple(sorted(phrases[True])),
        without_phrases=tuple(sorted(phrases[False])),
        regions=tuple(sorted(regions[True], key=str)),
        outside=tuple(sorted(regions[False], key=str)),
    )


class Scribe:
    """Writes conjunctions in the subscription language, so that they are read back as they are."""

    def __init__(self, reader: Reader) -> None:
        """Write what this reader reads."""
        self._reader = reader
        self.term: Callable[[str], str] = lru_cache(maxsize=1 << 17)(self._term)
        """The text of a term: the bare word where it is its own stem, else the stem by name."""

    def query(self, conjunctions: Iterable[Conjunction]) -> Query:
        """Return the query of these conjunctions."""
        texts = [(self.conjunction(conjunction), conjunction) for conjunction in conjunctions]
        texts.sort(key=itemgetter(0))
        canonical = " OR ".join(text for text, _ in texts)
        return Query(tuple(conjunction for _, conjunction in texts), canonical, id_of(canonical))

    def conjunction(self, conjunction: Conjunction) -> str:
        """Return the text of a conjunction, without the terms that follow from the rest of it."""
        return " ".join(
            [
                *map(self.term, self.stated(conjunction)),
                *map(phrase_text, conjunction.phrases),
                *map(str, conjunction.regions),
                *("-" + self.term(term) for term in conjunction.negative),
                *("-" + phrase_text(phrase) for phrase in conjunction.without_phrases),
                *(f"-{region}" for region in conjunction.outside),
            ]
        )

    def stated(self, conjunction: Conjunction) -> list[str]:
        """Return the positive terms that do not follow from a phrase or a region."""
        implied = {term for phrase in conjunction.phrases for term in self._reader.implied(phrase)}
        return [term for term in conjunction.positive if term not in implied and term != HAS_PLACE]

    def _term(self, term: str) -> str:
        if term[0] == "=":
            return f'"{term[1:]}"'
        if term[0] in "#@" or term[-1] == "*" or ":" in term:
            return term
        analyzer = self._reader.analyzer
        # The first test only saves the second, which every new word of a batch would pay for.
        is_token = term.isascii() and term.isalnum()
        is_token = is_token or [token.surface for token in analyzer.tokens(term, clipped=False)] == [term]
        return term if is_token and analyzer.term(term) == term else f"stem:{term}"


def phrase_text(phrase: Phrase) -> str:
    """Return a phrase as the subscription language writes it."""
    return f'"{" ".join(phrase)}"'


def id_of(canonical: str) -> str:
    """Return the id of the query with this canonical text."""
    return blake2b(canonical.encode(), digest_size=16).hexdigest()
