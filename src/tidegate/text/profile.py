"""Profiles: how a text becomes terms. A profile is plain data, so that it travels to any worker."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from unicodedata import normalize

from Stemmer import algorithms

from tidegate.errors import ConfigError
from tidegate.text.stopwords import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Profile:
    """How texts are cut into tokens and how tokens become terms; build one with `profile_named`."""

    name: str
    language: str
    stemmer: str
    """The PyStemmer algorithm: the language, except where a profile fixes another."""
    stop_words: frozenset[str]
    """Surface forms that are no terms."""
    signs: bool
    """Whether `#tag` and `@name` are terms of their own; if not, a tag is a word and a name is dropped."""
    max_bytes: int = 16384
    """A text of more UTF-8 bytes is cut before matching."""


SOCIAL = Profile("social", "english", "english", STOP_WORDS["english"], signs=True)
"""The default: Unicode words, hashtags and mentions kept as terms of their own."""
PAPER = Profile("paper", "english", "porter", STOP_WORDS["english"], signs=False)
"""As S³-TM §6.1: links, screen names and punctuation out, numbers kept, Porter stems, stop words."""

_PROFILES = {profile.name: profile for profile in (SOCIAL, PAPER)}


def profile_named(
    name: str,
    *,
    language: str | None = None,
    stop_words: Iterable[str] | None = None,
    max_bytes: int | None = None,
) -> Profile:
    """Return the profile of that name, with another language, stop words or length limit where given.

    A language brings its own stop words (none where there is no list) unless `stop_words` replaces them.

    >>> profile_named("social", language="german").stemmer
    'german'
    >>> profile_named("social", stop_words=["RT"]).stop_words
    frozenset({'rt'})
    """
    if name not in _PROFILES:
        raise ConfigError(f"no text profile is called {name!r}: choose one of {', '.join(_PROFILES)}")
    profile = _PROFILES[name]
    if language is not None and language != profile.language:
        if language not in _languages():
            raise ConfigError(f"no stemmer for language {language!r}: choose one of {', '.join(_languages())}")
        stops = STOP_WORDS.get(language, frozenset())
        profile = replace(profile, language=language, stemmer=language, stop_words=stops)
    if stop_words is not None:
        profile = replace(profile, stop_words=frozenset(surface_of(word) for word in stop_words))
    if max_bytes is not None:
        if max_bytes < 1:
            raise ConfigError(f"max_bytes is {max_bytes}: the limit of a text is at least 1 byte")
        profile = replace(profile, max_bytes=max_bytes)
    return profile


def surface_of(raw: str) -> str:
    """Return the form that all spellings of one word share: NFC, case-folded, with a plain apostrophe.

    >>> surface_of("Straße"), surface_of("DON’T")
    ('strasse', "don't")
    """
    if raw.isascii():
        return raw.lower()
    return normalize("NFC", normalize("NFC", raw.replace("’", "'")).casefold())


@cache
def _languages() -> tuple[str, ...]:
    # Algorithms that are variants of a language, not languages.
    return tuple(name for name in algorithms() if name not in {"porter", "dutch_porter"})
