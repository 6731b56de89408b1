"""Why a post matched: the conjunction it satisfies, and where in its text."""

from dataclasses import dataclass
from typing import NamedTuple

from tidegate.query.condition import Reader
from tidegate.query.conjunction import Conjunction, Query, Scribe, phrase_text
from tidegate.query.semantics import PostView, meets, occurrences
from tidegate.text.analyzer import Analyzer
from tidegate.text.tokens import Token


class Span(NamedTuple):
    """`text[start:end]` of a post, and the word, prefix or phrase of the query it satisfies."""

    start: int
    end: int
    what: str


@dataclass(frozen=True, slots=True)
class Reason:
    """The first conjunction that a post satisfies.

    What the post has beside its text is in `others` (`from:nasa`, `lang:en`, `in:(…)`); what a conjunction
    excludes leaves no trace.
    """

    conjunction: int
    """Which of the query's conjunctions."""
    canonical: str
    """The text of that conjunction."""
    spans: tuple[Span, ...]
    """By position; they may overlap."""
    others: tuple[str, ...]

    def highlight(self, text: str, before: str = "**", after: str = "**") -> str:
        """Return the post's text with its spans marked, those that overlap or touch as one."""
        marked: list[str] = []
        done = 0
        for start, end in _merged(self.spans):
            marked += text[done:start], before, text[start:end], after
            done = end
        return "".join(marked) + text[done:]


def explain(query: Query, post: PostView, analyzer: Analyzer) -> Reason | None:
    """Return why the post satisfies the query, or None if it does not.

    >>> from tidegate.query.parse import parse
    >>> analyzer = Analyzer()
    >>> post = PostView("Storms ahead: flood warning for Kiel", lang="en")
    >>> reason = explain(parse('sunny OR (storm "flood warning" lang:en)', analyzer), post, analyzer)
    >>> reason.canonical, reason.others
    ('lang:en storm "flood warning"', ('lang:en',))
    >>> reason.highlight(post.text, "[", "]")
    '[Storms] ahead: [flood warning] for Kiel'
    """
    for index, conjunction in enumerate(query.conjunctions):
        if meets(conjunction, post, analyzer):
            return _reason(index, conjunction, post, analyzer)
    return None


def _reason(index: int, conjunction: Conjunction, post: PostView, analyzer: Analyzer) -> Reason:
    scribe = Scribe(Reader(analyzer))
    tokens = analyzer.tokens(post.text)
    words = [token.surface for token in tokens]
    spans = [
        Span(tokens[first].start, tokens[first + len(phrase) - 1].end, phrase_text(phrase))
        for phrase in conjunction.phrases
        for first in occurrences(phrase, words)
    ]
    others = []
    for term in scribe.stated(conjunction):
        found = [Span(token.start, token.end, scribe.term(term)) for token in tokens if _shows(token, term, analyzer)]
        spans += found
        if not found:
            others.append(term)
    others += map(str, conjunction.regions)
    return Reason(index, scribe.conjunction(conjunction), tuple(sorted(spans)), tuple(others))


def _shows(token: Token, term: str, analyzer: Analyzer) -> bool:
    if term.endswith("*"):
        return token.surface.startswith(term[:-1])
    if term.startswith("="):
        return token.surface == term[1:]
    return analyzer.term(token.surface) == term


def _merged(spans: tuple[Span, ...]) -> list[tuple[int, int]]:
    """Return the intervals that sorted spans cover."""
    merged: list[tuple[int, int]] = []
    for start, end, _ in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
