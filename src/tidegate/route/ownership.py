"""Who owns a word when nothing was learned about it."""

from zlib import crc32


def owner(term: str, matchers: int) -> int:
    """Return the matcher that owns a term: the same in every process, on every machine, in every version.

    Python's own hash is salted anew in each process. CRC-32 is a standard, one call, and its remainder spreads words,
    names and numbered tags as evenly as chance would.

    >>> owner("storm", 16), owner("#eclipse", 16)
    (5, 13)
    """
    return crc32(term.encode()) % matchers
