"""The text in HTML, in time proportional to its length however it is mangled.

The parsers at hand take hours over some megabytes of brackets, and a feed may send those.
"""

import html
import re
from typing import Final

# Possessive quantifiers (`*+`): an unfinished tag is given up at once, not tried again at every length.
_TAG: Final = re.compile(r"<(/?)([a-z][a-z0-9:-]*+)[^<>]*+>|<[!?][^<>]*+>", re.IGNORECASE)
_HIDDEN: Final = frozenset({"script", "style"})
# Tags within a word or sentence; any other begins something new, and words must not grow together across it.
_INLINE: Final = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "dfn", "em", "font", "i", "ins"}
    | {"kbd", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "u"}
)


def text_of(markup: str) -> str:
    """The words of an HTML fragment on one line: no tags, comments, scripts or styles, and references resolved.

    >>> text_of("<p>un<b>believ</b>able<br>you &amp; me</p><script>f()</script>")
    'unbelievable you & me'
    """
    markup = _without_comments(markup)
    pieces: list[str] = []
    at, hidden = 0, False
    for tag in _TAG.finditer(markup):
        if not hidden:
            pieces.append(markup[at : tag.start()])
        at = tag.end()
        name = (tag[2] or "").lower()
        if name in _HIDDEN:
            hidden = not tag[1]
        if name not in _INLINE:
            pieces.append(" ")
    if not hidden:
        pieces.append(markup[at:])
    return " ".join(html.unescape("".join(pieces)).split())


def _without_comments(markup: str) -> str:
    # A piece without an end is within the comment that began before it.
    first, *others = markup.split("<!--")
    return first + "".join(piece.partition("-->")[2] for piece in others)
