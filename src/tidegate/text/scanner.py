"""The scanner: reads one token of UTF-8 after another, and spells it, without a Python object.

A token is spelled by its folded bytes. One with a character that does not fold alone (`CONTEXT`) is spelled
as it was written, and its surface form is left to Python; no folded spelling contains such a character, so
that the two kinds never meet. `tidegate.text.tokens` is the definition that the scanner follows.
"""

import numpy as np

from tidegate.csr import Int32, Int64
from tidegate.kernels import njit
from tidegate.text.characters import (
    CONTEXT,
    FOLDED,
    IDEOGRAPH,
    LETTER,
    LINKING,
    MARK,
    SPACE,
    SPECIAL,
    Alphabet,
    Bytes,
    Codes,
    Words,
    decoded,
    encode,
    kind_at,
    kind_of,
)
from tidegate.text.tokens import CLIP_WINDOW

_HASH, _AT, _APOSTROPHE = ord("#"), ord("@"), ord("'")
_CURLED_APOSTROPHE = ord("’")


@njit(cache=True)
def spell_rows(
    alphabet: Alphabet,
    signs: bool,
    max_bytes: int,
    data: Bytes,
    offsets: Int64,
    spelled: Words,
    word_ends: Int32,
    row_ends: Int64,
) -> int:
    """Spell the tokens of all texts `data[offsets[i]:offsets[i + 1]]`; return how many texts were cut.

    Each spelling is padded with zeros to whole words in `spelled`. Where its words end goes to `word_ends`,
    and how many tokens there are by the end of each text, to `row_ends`; `room_for` tells their lengths.
    """
    codes, letters = alphabet
    out = spelled.view(np.uint8)
    at = 0
    count = 0
    cut = 0
    for row in range(len(row_ends)):
        i = offsets[row]
        end = _clipped(data, i, offsets[row + 1], max_bytes)
        cut += end < offsets[row + 1]
        while i < end:
            begin = i
            size = 0
            # Most tokens are ASCII letters, perhaps with a sign, before a separator; others go the long way.
            if signs and (data[i] == _HASH or data[i] == _AT) and i + 1 < end and letters[data[i + 1]] > LINKING:
                out[at] = data[i]
                size = 1
                i += 1
            mark = letters[data[i]]
            while mark > LINKING:
                out[at + size] = mark
                size += 1
                i += 1
                mark = letters[data[i]] if i < end else np.uint8(0)
            if mark == SPECIAL or (mark == LINKING and 3 <= size <= 5):
                i, size = _next_token(codes, letters, signs, data, begin, end, out, at)
            else:
                i += 1
            if size > 0:
                while size & 7:
                    out[at + size] = 0
                    size += 1
                at += size
                word_ends[count] = at >> 3
                count += 1
        row_ends[row] = count
    return cut


def room_for(sizes: Int64) -> tuple[int, int]:
    """Return how many words and how many tokens texts of these sizes can have at most.

    A token takes two bytes with what separates it from the next; folding never doubles a character's bytes.
    """
    tokens = int(sizes.sum()) // 2 + len(sizes)
    return tokens + int(sizes.sum()) // 4, tokens


@njit(cache=True)
def _clipped(data: Bytes, begin: int, end: int, max_bytes: int) -> int:
    """Return where the part of a text that is matched ends: the rule of `tidegate.text.tokens.clip`."""
    limit = begin + max_bytes
    if end <= limit:
        return end
    for cut in range(limit - 1, max(limit - CLIP_WINDOW, begin) - 1, -1):
        if data[cut] == 32 or 9 <= data[cut] <= 13:
            return cut
    while limit > begin and data[limit] & 0xC0 == 0x80:
        limit -= 1
    return limit


@njit(cache=True)
def _next_token(
    codes: Codes, letters: Bytes, signs: bool, data: Bytes, i: int, end: int, out: Bytes, at: int
) -> tuple[int, int]:
    """Pass what stands at `i`, spelling it at `out[at:]` if it is a token.

    Returns where it ends, and the size of the spelling, or 0.
    """
    size = 0
    if letters[data[i]] > LINKING:
        after = _after_link(codes, letters, data, i, end)
        if after > i:
            return after, 0
        i, size = _spell(codes, letters, False, data, i, i, end, out, at)
    elif data[i] == _AT:
        after = i + 1
        while after < end and letters[data[after]] > LINKING:
            after += 1
        if after == i + 1:
            return after, 0
        if signs:
            _, size = _spell(codes, letters, False, data, i, i + 1, after, out, at)
        i = after
    elif data[i] == _HASH:
        if not signs or kind_at(codes, data, i + 1, end) not in (LETTER, IDEOGRAPH):
            return i + 1, 0
        i, size = _spell(codes, letters, True, data, i, i + 1, end, out, at)
    elif data[i] < 128:
        return i + 1, 0
    else:
        code, width = decoded(data, i, end)
        kind = kind_of(codes, code)
        if kind == LETTER:
            i, size = _spell(codes, letters, False, data, i, i, end, out, at)
        elif kind == IDEOGRAPH:
            after = i + width
            while kind_at(codes, data, after, end) == MARK:
                after += decoded(data, after, end)[1]
            i, size = _spell(codes, letters, True, data, i, i, after, out, at)
        else:
            return i + width, 0
    # A sign right behind a token begins nothing.
    if i < end and (data[i] == _HASH or data[i] == _AT):
        i += 1
    return i, size


@njit(cache=True)
def _spell(
    codes: Codes, letters: Bytes, joined: bool, data: Bytes, begin: int, i: int, end: int, out: Bytes, at: int
) -> tuple[int, int]:
    """Spell the token at `begin`, whose letters start at `i`; return its end and the size of the spelling.

    In a `joined` token (a tag, or a single ideograph) ideographs count as letters, and apostrophes do not.
    """
    size = i - begin
    if size > 0:
        out[at] = data[begin]
    context = False
    while i < end:
        folded = letters[data[i]]
        if folded > LINKING:
            out[at + size] = folded
            size += 1
            i += 1
            continue
        if data[i] < 128 and (joined or data[i] != _APOSTROPHE):
            break
        code, width = decoded(data, i, end)
        kind = kind_of(codes, code)
        if kind in (LETTER, MARK) or (joined and kind == IDEOGRAPH):
            context |= codes[code] & CONTEXT != 0
            size = encode(codes[code] & FOLDED, out, at + size) - at
        elif (
            not joined and code in (_APOSTROPHE, _CURLED_APOSTROPHE) and kind_at(codes, data, i + width, end) == LETTER
        ):
            out[at + size] = _APOSTROPHE
            size += 1
        else:
            break
        i += width
    if context:
        size = i - begin
        for k in range(size):
            out[at + k] = data[begin + k]
    return i, size


@njit(cache=True)
def _after_link(codes: Codes, letters: Bytes, data: Bytes, i: int, end: int) -> int:
    """Return where the link at `i` ends, or `i` if there is none."""
    if not _is_link(letters, data, i, end):
        return i
    while i < end:
        code, width = decoded(data, i, end)
        if kind_of(codes, code) == SPACE:
            break
        i += width
    return i


@njit(cache=True)
def _is_link(folded: Bytes, data: Bytes, i: int, end: int) -> bool:
    """Whether `www.`, `http://` or `https://` stands at `i`."""
    first = folded[data[i]]
    if first == ord("w"):
        return (
            end - i >= 4
            and folded[data[i + 1]] == ord("w")
            and folded[data[i + 2]] == ord("w")
            and data[i + 3] == ord(".")
        )
    if (
        first != ord("h")
        or end - i < 7
        or folded[data[i + 1]] != ord("t")
        or folded[data[i + 2]] != ord("t")
        or folded[data[i + 3]] != ord("p")
    ):
        return False
    colon = i + 5 if folded[data[i + 4]] == ord("s") else i + 4
    return end - colon >= 3 and data[colon] == ord(":") and data[colon + 1] == ord("/") and data[colon + 2] == ord("/")
