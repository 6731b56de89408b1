"""Random feeds: windows, and events cut into chunks that keep them in step."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from hypothesis import strategies as st

from tidegate.rank.event import Event
from tidegate.rank.windows import Windows


def events_of(scores: Iterable[float], publisher: str = "p") -> list[Event]:
    """Events with these scores, one a second."""
    return [Event(f"{publisher}{number:03}", float(score), float(number)) for number, score in enumerate(scores)]


def cut(events: Sequence[Event], lengths: Sequence[int]) -> list[list[Event]]:
    """Events in stretches of these lengths."""
    return [list(events[a:b]) for a, b in pairwise([0, *accumulate(lengths)])]


@st.composite
def windows(draw: st.DrawFn, widest: int = 7) -> Windows:
    """Windows of any kind."""
    width = draw(st.integers(1, widest))
    return Windows(draw(st.integers(1, width)), width, draw(st.integers(1, width)))


@st.composite
def feeds(draw: st.DrawFn) -> tuple[Windows, list[list[Event]]]:
    """Windows, and a stream in stretches; scores repeat often."""
    by = draw(windows())
    lengths = [by.shift * draw(st.integers(1, 6)) for _ in range(draw(st.integers(1, 6)))]
    scores = draw(st.lists(st.integers(0, 6), min_size=sum(lengths), max_size=sum(lengths)))
    return by, cut(events_of(scores), lengths)
