"""The vocabulary: terms and their int32 ids.

Every kind of term is a string of one name space: `storm` (a stem), `#eclipse`, `@esa`, `from:nasa`,
`lang:en`, `has:place`, `storm*` (a prefix of surface forms) and `=the` (one exact surface form).
"""

from collections.abc import Iterable, Iterator, Mapping


class Vocabulary:
    """Terms by id; an id, once given, stays. Ids built `by_frequency` rank the commonest term 0.

    >>> vocabulary = Vocabulary(["storm", "#eclipse"])
    >>> vocabulary.id("#eclipse"), vocabulary.id("flood"), vocabulary.intern("flood"), vocabulary.term(2)
    (1, -1, 2, 'flood')
    """

    def __init__(self, terms: Iterable[str] = ()) -> None:
        """Number the terms in the order in which they come."""
        self._terms = list(dict.fromkeys(terms))
        self._ids = {term: i for i, term in enumerate(self._terms)}

    @classmethod
    def by_frequency(cls, counts: Mapping[str, int]) -> "Vocabulary":
        """Number the terms by falling count, and terms of one count in alphabetical order."""
        return cls(sorted(counts, key=lambda term: (-counts[term], term)))

    def id(self, term: str) -> int:
        """Return the id of a term, or -1 for one that has none."""
        return self._ids.get(term, -1)

    def intern(self, term: str) -> int:
        """Return the id of a term, giving it the next one if it has none."""
        known = self._ids.setdefault(term, len(self._terms))
        if known == len(self._terms):
            self._terms.append(term)
        return known

    def term(self, term_id: int) -> str:
        """Return the term with this id."""
        return self._terms[term_id]

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the terms in the order of their ids."""
        return iter(self._terms)

    def __contains__(self, term: str) -> bool:
        """Whether the term has an id."""
        return term in self._ids
