"""From the text of a subscription to its `Query`: one at a time, or many with the bad ones set aside."""

from collections.abc import Iterable
from functools import lru_cache
from sys import maxsize

from tidegate.errors import QueryError
from tidegate.query.condition import Reader
from tidegate.query.conjunction import Conjunction, Query, Scribe, conjunction_of, id_of
from tidegate.query.normal import Limits, normal_form
from tidegate.query.syntax import syntax_tree
from tidegate.text.analyzer import Analyzer

_KEYWORDS = frozenset(("AND", "OR", "NOT"))
_NO_LIMITS = Limits(max_length=maxsize, max_conjunctions=maxsize, max_terms=maxsize, max_depth=maxsize)


def parse(text: str, analyzer: Analyzer, limits: Limits = Limits()) -> Query:  # noqa: B008
    """Return the query a text stands for, or raise `QueryError` with the position and a hint.

    >>> query = parse('Storms OR (flood -"flood of tears")', Analyzer())
    >>> query.canonical
    'flood -"flood of tears" OR storm'
    >>> [conjunction.positive for conjunction in query.conjunctions]
    [('flood',), ('storm',)]
    """
    return _parser(analyzer, limits).parse(text)


def parse_canonical(canonical: str, analyzer: Analyzer) -> Query:
    """Read back the canonical text of a query that was accepted before, under whatever limits."""
    return _parser(analyzer, _NO_LIMITS).parse(canonical)


def parse_many(
    texts: Iterable[str | None],
    analyzer: Analyzer,
    limits: Limits = Limits(),  # noqa: B008
) -> tuple[list[Query | None], list[QueryError]]:
    """Return a query or None for each text, and the errors of the Nones, in their order.

    >>> queries, errors = parse_many(["storm", "(flood", "rain"], Analyzer())
    >>> [query and query.canonical for query in queries], len(errors)
    (['storm', None, 'rain'], 1)
    """
    parser = _parser(analyzer, limits)
    read: dict[str, Query] = {}  # popular searches repeat in a batch
    queries: list[Query | None] = []
    errors: list[QueryError] = []
    for given in texts:
        text = "" if given is None else given
        # What is no text may not even be fit to look up.
        query = read.get(text) if isinstance(text, str) else None
        if query is None:
            try:
                query = read[text] = parser.parse(text)
            except QueryError as error:
                errors.append(error)
        queries.append(query)
    return queries, errors


class Parser:
    """An analyzer, limits, and a memory of the words that were read."""

    def __init__(self, analyzer: Analyzer, limits: Limits) -> None:
        """Read with this analyzer and refuse what exceeds these limits."""
        self.reader = Reader(analyzer)
        self.scribe = Scribe(self.reader)
        self.limits = limits

    def parse(self, text: str) -> Query:
        """Return the query, as the function `parse` does."""
        if not isinstance(text, str):
            hint = "write it as text, for example: storm"
            raise QueryError(f"a query is text, not {type(text).__name__}", str(text), 0, hint)
        if len(text) > self.limits.max_length:
            problem = f"the query has {len(text)} characters"
            hint = f"at most {self.limits.max_length} are allowed"
            raise QueryError(problem, text, self.limits.max_length, hint)
        return self._parse_plain(text) or self._parse_any(text)

    def _parse_any(self, text: str) -> Query:
        unfolded = normal_form(syntax_tree(text), text, self.reader, self.limits)
        return self.scribe.query(map(conjunction_of, unfolded))

    def _parse_plain(self, text: str) -> Query | None:
        """Return the query of bare words, the same as by the grammar, or None where that has to decide."""
        if not (text.isascii() and text.replace(" ", "").isalnum()):
            return None
        words = text.split()
        if not _KEYWORDS.isdisjoint(words):
            return None
        # A word of ASCII letters and digits is one token, and lower case is all its folding.
        terms = {term for word in words if (term := self.reader.analyzer.term(word.lower())) is not None}
        if not 0 < len(terms) <= self.limits.max_terms:
            return None
        positive = tuple(sorted(terms))
        canonical = " ".join(map(self.scribe.term, positive))
        return Query((Conjunction(positive),), canonical, id_of(canonical))


@lru_cache(maxsize=8)
def _parser(analyzer: Analyzer, limits: Limits) -> Parser:
    return Parser(analyzer, limits)
