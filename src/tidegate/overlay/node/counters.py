"""What a peer has said, heard and refused, counted by kind."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Counters:
    """All since the start; the names within are few, whatever comes."""

    sent: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    """By kind of message."""
    refused: Counter[str] = field(default_factory=Counter)
    """By reason: what was not heeded. Those of `Seal.opened`, and `meaning`: sealed, but nothing in the schema;
    `sender`: a letter with another's profile; `place`: a profile that names a place that may not be; `late`: an answer
    that nobody waits for; `topic`: an event that one does not follow; `often`: more letters than any peer opens, with
    answers to one place; `busy`: more than can be done at once; `connection`: one that ended before its message did, or
    was not heeded."""
    unsent: Counter[str] = field(default_factory=Counter)
    """By how it would have gone: `datagram` or `connection`."""
    bytes_sent: int = 0
    bytes_heard: int = 0
    """Of messages, whether heeded or not."""
    published: int = 0
    delivered: int = 0
    repeated: int = 0
    """Events that had come before."""
    overflowed: int = 0
    """Events that the reader of `Node.events` was too slow for."""
    silent: int = 0
    """Peers that were sent events, said nothing at all for long, or nothing of them for longer, and were forgotten."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(self).items()}
