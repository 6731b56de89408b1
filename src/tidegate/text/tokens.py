"""What a token is: the definition in plain Python, which the scanner is held to and queries are read with.

A token is a run of letters, numbers, marks and underscores that does not begin with a mark; an apostrophe
between two of them stays inside. Han ideographs and Hiragana are a token each. Links separate.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple
from unicodedata import category

from tidegate.text.profile import Profile, surface_of

# Scripts written without spaces, one token per character. Unassigned code points in between are no letters.
IDEOGRAPHS = (
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b001-\U0001b11f\U0001b132\U0001b150-\U0001b152\U00020000-\U0003ffff"
)
CLIP_WINDOW = 256
"""How many bytes `clip` gives up at most to end between two words."""
_ASCII_SPACE = b" \t\n\r\v\f"


class Token(NamedTuple):
    """One token and the code points `text[start:end]` it was written with, its `#` or `@` included."""

    surface: str
    start: int
    end: int


def tokens(text: str, profile: Profile, *, clipped: bool = True) -> list[Token]:
    """Return the tokens of a text in order; what lies behind the profile's length limit is not looked at.

    That limit is for posts. A query has its own, and is read whole: not `clipped`.

    >>> from tidegate.text.profile import SOCIAL, PAPER
    >>> [token.surface for token in tokens("Don’t miss @ESA's #Eclipse: https://esa.int 台風", SOCIAL)]
    ["don't", 'miss', '@esa', 's', '#eclipse', '台', '風']
    >>> [token.surface for token in tokens("RT @esa: #Eclipse 2027", PAPER)]
    ['rt', 'eclipse', '2027']
    """
    found = _pattern(profile.signs).finditer(clip(text, profile.max_bytes) if clipped else text)
    return [Token(surface_of(match["token"]), *match.span("token")) for match in found if match["token"]]


def clip(text: str, max_bytes: int) -> str:
    """Return the part of a text that is matched: all of it up to `max_bytes` UTF-8 bytes.

    A longer text ends at its last ASCII white space within `CLIP_WINDOW` bytes of the limit, or else at the
    last whole character.
    """
    if 4 * len(text) <= max_bytes:
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    for cut in range(max_bytes - 1, max(max_bytes - CLIP_WINDOW, 0) - 1, -1):
        if data[cut] in _ASCII_SPACE:
            return data[:cut].decode()
    return data[:max_bytes].decode("utf-8", "ignore")


@cache
def _pattern(signs: bool) -> re.Pattern[str]:
    """A match is a token, or else something to drop whole: a link, or a name where names are no terms.

    A sign right behind a token is swallowed with it: in `a#b` or `a@b.c` it begins no tag and no name.
    """
    mark = "".join(_ranges("M"))
    letter = rf"[^\W{IDEOGRAPHS}]"
    part = rf"{letter}+(?:[{mark}]+{letter}*)*"
    # Case is ignored in ASCII only, or `ſ` would pass for an `s`.
    link = r"(?ai:https?://|www\.)\S*"
    name = r"@[A-Za-z0-9_]+"
    tag = rf"#\w[\w{mark}]*"
    word = rf"{part}(?:['’]{part})*"
    # With the marks that belong to it: か and its voicing may be two code points.
    ideograph = rf"(?=\w)[{IDEOGRAPHS}][{mark}]*"
    if signs:
        return re.compile(rf"{link}|(?P<token>{tag}|{name}|{ideograph}|{word})[#@]?")
    return re.compile(rf"{link}|(?:{name}|(?P<token>{ideograph}|{word}))[#@]?")


def _ranges(major: str) -> Iterator[str]:
    """Character-class ranges of all code points of a major Unicode category."""
    for inside, run in groupby(map(chr, range(sys.maxunicode + 1)), lambda c: category(c).startswith(major)):
        if inside:
            first = last = next(run)
            for last in run:  # noqa: B007
                pass
            yield f"{first}-{last}"
