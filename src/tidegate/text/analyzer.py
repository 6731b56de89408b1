"""From surface forms to terms: the stem of a word, a tag or a name as it is, nothing for a stop word."""

from collections.abc import Sequence

from Stemmer import Stemmer

from tidegate.text.profile import SOCIAL, Profile, surface_of
from tidegate.text.tokens import Token, tokens

# A stream never runs out of new words: a full memory is emptied, and the common words return at once.
_REMEMBERED = 1 << 17


class Analyzer:
    """A profile at work; cheap to pickle, and to be had once per process.

    >>> analyzer = Analyzer()
    >>> [analyzer.term(token.surface) for token in analyzer.tokens("The storms of #Storms")]
    [None, 'storm', None, '#storms']
    """

    def __init__(self, profile: Profile = SOCIAL) -> None:
        """Load the stemmer of the profile's language."""
        self.profile = profile
        self._stemmer = Stemmer(profile.stemmer, 0)
        self._remembered: dict[str, str | None] = {}

    def __reduce__(self) -> tuple[type["Analyzer"], tuple[Profile]]:
        """Pickle as the profile: stemmers do not travel."""
        return Analyzer, (self.profile,)

    def tokens(self, text: str, *, clipped: bool = True) -> list[Token]:
        """Return the tokens of a text, as `tidegate.text.tokens` defines them."""
        return tokens(text, self.profile, clipped=clipped)

    def is_stop_word(self, surface: str) -> bool:
        """Whether the surface form is too common to be a term."""
        return surface in self.profile.stop_words

    def term(self, surface: str) -> str | None:
        """Return the term a token of this surface form stands for, or None for a stop word."""
        try:
            return self._remembered[surface]
        except KeyError:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            (term,) = self.terms([surface])
            self._remembered[surface] = term
            return term

    def terms(self, surfaces: Sequence[str]) -> list[str | None]:
        """Return `term` of each, without remembering them: for many words at once that are all new."""
        stop_words = self.profile.stop_words
        found: list[str | None] = []
        for surface, stem in zip(surfaces, self._stemmer.stemWords(surfaces), strict=True):
            if surface in stop_words:
                found.append(None)
            elif surface[0] in "#@" or not stem:  # a lone tatweel is a word, but nothing is left of it
                found.append(surface)
            else:
                # A stemmer may cut a surface form so that what is left is none: letter and mark that NFC would join.
                found.append(stem if stem.isascii() else surface_of(stem))
        return found
