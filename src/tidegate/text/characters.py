"""The alphabet of the scanner: one number per code point that says what the character is and how it folds.

Built from Python's own Unicode tables on first use, so that the scanner and the definition of tokens agree.
"""

import re
import sys
from functools import cache
from typing import NamedTuple
from unicodedata import category, combining, decomposition, is_normalized

import numpy as np
from numpy.typing import NDArray

from tidegate.kernels import njit
from tidegate.text.tokens import IDEOGRAPHS

Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint32]
Words = NDArray[np.uint64]

SEPARATOR, SPACE, LETTER, MARK, IDEOGRAPH = range(5)
_KIND_SHIFT = 21
FOLDED = (1 << _KIND_SHIFT) - 1
"""The bits of the folded code point; the three above them are the kind."""
CONTEXT = 1 << 24
"""Set where a character cannot be folded alone: NFC may join, move or replace it, or it folds to several."""
SPECIAL, LINKING = 1, 2
"""Bytes that may make more of the ASCII letters before them than a word: a longer token, or a link."""


class Alphabet(NamedTuple):
    """What the scanner knows of characters, in arrays."""

    codes: Codes
    """Kind, folded form and `CONTEXT` of every code point."""
    letters: Bytes
    """For each byte, the folded byte if it is an ASCII letter, digit or underscore; else 0 or a mark."""


@cache
def alphabet() -> Alphabet:
    """Return the alphabet; the first call takes some tenths of a second."""
    codes = np.zeros(sys.maxunicode + 1, dtype=np.uint32)
    joining = _joining()
    ideograph = re.compile(f"[{IDEOGRAPHS}]")
    for code in range(len(codes)):
        char = chr(code)
        major = category(char)[0]
        if char.isspace():
            codes[code] = SPACE << _KIND_SHIFT
        elif major in "LMN" or char == "_":
            kind = MARK if major == "M" else IDEOGRAPH if ideograph.match(char) else LETTER
            folded = char.casefold()
            alone = len(folded) == 1 and _stands_alone(char, joining) and _stands_alone(folded, joining)
            codes[code] = kind << _KIND_SHIFT | (ord(folded) if alone else CONTEXT | code)
    letters = np.zeros(256, dtype=np.uint8)
    letters[:128] = np.where(codes[:128] >> _KIND_SHIFT == LETTER, codes[:128] & FOLDED, 0)
    letters[[ord(char) for char in "#@'"]] = SPECIAL
    letters[128:] = SPECIAL
    letters[[ord(char) for char in ".:"]] = LINKING
    return Alphabet(codes, letters)


def _stands_alone(char: str, joining: frozenset[str]) -> bool:
    """Whether any string of such characters is in NFC, by the quick check of Unicode Annex 15."""
    return combining(char) == 0 and char not in joining and is_normalized("NFC", char)


def _joining() -> frozenset[str]:
    """What NFC may join to the character before: seconds of canonical pairs, Hangul vowels and finals."""
    canonical = (decomposition(chr(code)) for code in range(sys.maxunicode + 1))
    pairs = (parts.split() for parts in canonical if parts and parts[0] != "<")
    seconds = {chr(int(parts[1], 16)) for parts in pairs if len(parts) == 2}
    return frozenset(seconds.union(map(chr, range(0x1161, 0x1176)), map(chr, range(0x11A8, 0x11C3))))


@njit(cache=True)
def kind_of(codes: Codes, code: int) -> int:
    """Return the kind of a code point."""
    return (codes[code] >> _KIND_SHIFT) & 7  # type: ignore[no-any-return]


@njit(cache=True)
def kind_at(codes: Codes, data: Bytes, i: int, end: int) -> int:
    """Return the kind of the character at `i`; the end of the text separates."""
    return kind_of(codes, decoded(data, i, end)[0]) if i < end else SEPARATOR


@njit(cache=True)
def decoded(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Return the code point at `i` and its number of bytes; a byte that is no UTF-8 is read as a NUL."""
    byte: int = np.int64(data[i])  # type: ignore[assignment]
    if byte < 0x80:
        return byte, 1
    width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    if byte < 0xC2 or i + width > end:
        return 0, 1
    code = byte & (0x7F >> width)
    for k in range(1, width):
        if data[i + k] & 0xC0 != 0x80:
            return 0, 1
        code = code << 6 | (data[i + k] & 0x3F)
    return (code, width) if code <= 0x10FFFF else (0, 1)


@njit(cache=True)
def encode(code: int, out: Bytes, at: int) -> int:
    """Write a code point as UTF-8 to `out[at:]`; return where it ends."""
    if code < 0x80:
        out[at] = code
        return at + 1
    width = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    for k in range(width - 1, 0, -1):
        out[at + k] = 0x80 | code & 0x3F
        code >>= 6
    out[at] = (0xF00 >> width) & 0xFF | code
    return at + width
