"""Conditions: what one leaf of a query asks of a post, once its words are folded, stemmed and checked."""

import re
from difflib import get_close_matches
from functools import lru_cache
from itertools import accumulate
from math import isfinite
from typing import NamedTuple, TypeAlias

from lark import Token

from tidegate.errors import QueryError
from tidegate.query.region import Region, RegionError, circle, polygon, rectangle
from tidegate.query.syntax import position_of
from tidegate.text.analyzer import Analyzer
from tidegate.text.posts import author_term, lang_term
from tidegate.text.profile import surface_of

MIN_PREFIX = 2
"""Characters before a `*`: a shorter prefix would be in almost every post."""

Phrase: TypeAlias = tuple[str, ...]
"""Surface forms that follow each other."""

What: TypeAlias = str | Phrase | Region
"""A term, a phrase or a place."""

_PLACES = {
    "in": "in:(west,south,east,north)",
    "near": "near:(lat,lon,radius_km)",
    "within": "within:(lon lat,lon lat,lon lat)",
}
_FIELDS = ("from", "lang", "in", "near", "within", "stem")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
_NOT_IN_STEMS = re.compile(r"[#@=*:]")


class Condition(NamedTuple):
    """Something a post must have (`wanted`) or must not have."""

    what: What
    wanted: bool


class Reader:
    """Reads the leaves of queries with an analyzer, and remembers them."""

    def __init__(self, analyzer: Analyzer) -> None:
        """Read words as this analyzer reads posts."""
        self.analyzer = analyzer
        self._remembered = lru_cache(maxsize=1 << 14)(self._reading)

    def read(self, leaf: Token, query: str) -> tuple[What, ...]:
        """Return what a leaf asks for, and after it the terms that follow from it; nothing for a stop word.

        Raises `QueryError` where the leaf asks for nothing that could be.
        """
        try:
            return self._remembered(leaf.type, str(leaf))
        except _ReadError as error:
            position = position_of(leaf) + error.offset
            raise QueryError(error.problem, query, position, error.hint) from None

    def implied(self, phrase: Phrase) -> list[str]:
        """Return terms that every post with this phrase has, for an index to find it by."""
        terms = [term for word in phrase if (term := self.analyzer.term(word)) is not None]
        return terms or [self.exact(word) for word in phrase]

    def exact(self, surface: str) -> str:
        """Return the term for exactly this surface form; tags and names are exact as they are."""
        return surface if surface[0] in "#@" and self.analyzer.term(surface) else "=" + surface

    def entails(self, one: What, other: What) -> bool:
        """Tell whether every post with the one has the other, as far as their spelling shows it."""
        if one == other:
            return True
        if not isinstance(one, str) or not isinstance(other, str):
            return False
        if other[-1] == "*":
            # Of a stem it is not known how the words it stands for begin.
            is_surface = one[0] in "=#@" or one[-1] == "*"
            return is_surface and one.strip("=*").startswith(other[:-1])
        return one[0] == "=" and self.analyzer.term(one[1:]) == other

    def _reading(self, kind: str, text: str) -> tuple[What, ...]:
        match kind:
            case "WORD":
                return (self._prefix(text),) if "*" in text else self._word(text)
            case "PHRASE":
                return self._phrase(text[1:-1])
            case "PLACE":
                return (_place(text),)
            case _:
                return (_field(text),)

    def _word(self, text: str) -> tuple[What, ...]:
        surfaces = self._surfaces(text)
        if not surfaces:
            raise _ReadError(f"there is no word in {text!r}", "a word has letters or digits")
        if len(surfaces) > 1:
            return surfaces, *self.implied(surfaces)
        term = self.analyzer.term(surfaces[0])
        return () if term is None else (term,)

    def _phrase(self, text: str) -> tuple[What, ...]:
        surfaces = self._surfaces(text)
        if not surfaces:
            raise _ReadError("there is no word in the quotation marks", "write one, or remove them")
        if len(surfaces) > 1:
            return surfaces, *self.implied(surfaces)
        return (self.exact(surfaces[0]),)

    def _prefix(self, text: str) -> str:
        stump = text[:-1]
        if not text.endswith("*") or "*" in stump:
            raise _ReadError("a '*' stands only at the end of a word", "write for example storm*")
        tokens = self.analyzer.tokens(stump, clipped=False)
        if not tokens or tokens[-1].end != len(stump):
            raise _ReadError("the '*' has no word before it", "write for example storm*")
        if len(tokens) > 1:
            raise _ReadError("only a single word can end in '*'", "write the words apart")
        surface = tokens[0].surface
        if len(surface.lstrip("#@")) < MIN_PREFIX:
            hint = f"give at least {MIN_PREFIX} characters before the '*'"
            raise _ReadError(f"the prefix {text!r} is too short", hint)
        return surface + "*"

    def _surfaces(self, text: str) -> Phrase:
        return tuple([token.surface for token in self.analyzer.tokens(text, clipped=False)])


class _ReadError(Exception):
    """A leaf that cannot be read, and how far into it the reason lies."""

    def __init__(self, problem: str, hint: str, offset: int = 0) -> None:
        super().__init__(problem, hint, offset)
        self.problem = problem
        self.hint = hint
        self.offset = offset


def _field(text: str) -> str:
    name, _, value = text.partition(":")
    match name.lower():
        case "from":
            account = author_term(value) if value.isprintable() and "*" not in value else ""
            # A name that folds further each time it is read would have no canonical form.
            if account in ("", "from:") or author_term(account.removeprefix("from:")) != account:
                raise _ReadError(f"{value!r} is no account", "write for example from:nasa")
            return account
        case "lang":
            if not _LANGUAGE.fullmatch(value):
                raise _ReadError(f"{value!r} is no language code", "write for example lang:en")
            return lang_term(value)
        case "stem":
            # How canonical forms write a stem that is no word of its own: `stem:happi`. That no word at all has this
            # stem cannot be told: `stem:the` is the canonical form of `the's`, and `stem:storms` of `stormsing`.
            if not value or not value.isprintable() or _NOT_IN_STEMS.search(value):
                raise _ReadError(f"{value!r} is no stem", "write the word without stem:")
            return surface_of(value)
        case "in" | "near" | "within" as place:
            raise _ReadError(f"{place}: needs numbers in parentheses", f"write {_PLACES[place]}")
    likely = get_close_matches(name.lower(), _FIELDS, 1)
    guess = f"did you mean {likely[0]}:?" if likely else "fields are from:, lang:, in:, near: and within:"
    raise _ReadError(f"there is no field '{name}:'", f"{guess}; to search for the words, quote them")


def _place(text: str) -> Region:
    name = text.partition(":")[0].lower()
    opening = text.index("(") + 1
    parts = text[opening:-1].split(",")
    usage = f"write {_PLACES[name]}"
    begins = accumulate((len(part) + 1 for part in parts[:-1]), initial=opening)
    offsets = [begin + len(part) - len(part.lstrip()) for begin, part in zip(begins, parts, strict=True)]
    try:
        if name == "within":
            return polygon([_corner(part, usage, offset) for part, offset in zip(parts, offsets, strict=True)])
        expected = usage.count(",") + 1
        if len(parts) != expected:
            raise _ReadError(f"{name}: takes {expected} numbers", usage)
        numbers = [_number(part, usage, offset) for part, offset in zip(parts, offsets, strict=True)]
        return rectangle(*numbers) if name == "in" else circle(*numbers)
    except RegionError as error:
        offset = 0 if error.argument is None else offsets[error.argument]
        raise _ReadError(error.problem, error.hint, offset) from None


def _corner(text: str, usage: str, offset: int) -> tuple[float, float]:
    numbers = text.split()
    if len(numbers) != 2:
        raise _ReadError(f"{text.strip()!r} is no corner", f"{usage}, three corners or more", offset)
    return _number(numbers[0], usage, offset), _number(numbers[1], usage, offset)


def _number(text: str, usage: str, offset: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise _ReadError(f"{text.strip()!r} is not a number", usage, offset)
    return number
