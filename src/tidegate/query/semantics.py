"""What a query means, straight from the definitions: the oracle that every index is compared with.

Nothing here is fast, and nothing needs to be.
"""

from dataclasses import dataclass

from tidegate.query.condition import Phrase
from tidegate.query.conjunction import Conjunction, Query
from tidegate.query.region import Region
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import post_terms


@dataclass(frozen=True, slots=True)
class PostView:
    """A post as queries see it. Coordinates off the globe, or only one of the two, are no place."""

    text: str
    author: str | None = None
    lang: str | None = None
    lat: float | None = None
    lon: float | None = None

    @property
    def place(self) -> tuple[float, float] | None:
        """Latitude and longitude, or None for a post without a place."""
        if self.lat is None or self.lon is None or not (abs(self.lat) <= 90.0 and abs(self.lon) <= 180.0):
            return None
        return self.lat, self.lon

    def is_in(self, region: Region) -> bool:
        """Tell whether the post has a place, and that in the region."""
        return self.place is not None and region.contains(*self.place)


def satisfies(query: Query, post: PostView, analyzer: Analyzer) -> bool:
    """Tell whether the post satisfies one of the query's conjunctions.

    >>> from tidegate.query.parse import parse
    >>> analyzer = Analyzer()
    >>> query = parse('storm* -"storm in a teacup"', analyzer)
    >>> [satisfies(query, PostView(text), analyzer) for text in ("Stormy!", "A storm in a teacup", "Calm")]
    [True, False, False]
    """
    return any(meets(conjunction, post, analyzer) for conjunction in query.conjunctions)


def meets(conjunction: Conjunction, post: PostView, analyzer: Analyzer) -> bool:
    """Tell whether the post has all that the conjunction wants and nothing that it excludes."""
    words = [token.surface for token in analyzer.tokens(post.text)]
    terms = post_terms(analyzer, post.text, post.author, post.lang, post.place is not None)

    def has(term: str) -> bool:
        if term.endswith("*"):
            return any(word.startswith(term[:-1]) for word in words)
        if term.startswith("="):
            return term[1:] in words
        return term in terms

    return (
        all(has(term) for term in conjunction.positive)
        and not any(has(term) for term in conjunction.negative)
        and all(occurrences(phrase, words) for phrase in conjunction.phrases)
        and not any(occurrences(phrase, words) for phrase in conjunction.without_phrases)
        and all(post.is_in(region) for region in conjunction.regions)
        and not any(post.is_in(region) for region in conjunction.outside)
    )


def occurrences(phrase: Phrase, words: list[str]) -> list[int]:
    """Return where in the words the phrase begins.

    >>> occurrences(("to", "be"), ["to", "be", "or", "not", "to", "be"])
    [0, 4]
    """
    size = len(phrase)
    return [i for i in range(len(words) - size + 1) if tuple(words[i : i + size]) == phrase]
