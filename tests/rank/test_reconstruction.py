"""The criterion of correctness: what is right is explained, and what is not is rejected."""

from itertools import chain, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rank.feeds import events_of, windows
from tidegate.rank.chunks import chunk_of
from tidegate.rank.dechunking import Dechunker
from tidegate.rank.event import Event
from tidegate.rank.reconstruction import is_explained
from tidegate.rank.windows import Windows


@st.composite
def publishers(draw: st.DrawFn, most: int = 7) -> list[list[Event]]:
    """Up to three publishers with a few events each."""
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(lambda some: 0 < sum(some) <= most))
    return [
        events_of(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), publisher)
        for publisher, n in zip("abc", lengths, strict=False)
    ]


def legal_orders(sources: list[list[Event]]) -> list[tuple[Event, ...]]:
    """All orders in which every publisher's events keep theirs: the long way."""
    place = {event: position for one in sources for position, event in enumerate(one)}
    of = {event: number for number, one in enumerate(sources) for event in one}
    return [
        order
        for order in permutations(chain.from_iterable(sources))
        if all(place[a] < place[b] for i, a in enumerate(order) for b in order[i + 1 :] if of[a] == of[b])
    ]


@given(sources=publishers(most=6), by=windows(widest=4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_exactly_what_some_legal_order_delivers_is_explained(
    sources: list[list[Event]], by: Windows, data: st.DataObject
) -> None:
    explained = {frozenset(by.delivered(order)) for order in legal_orders(sources)}
    for delivered in explained:
        assert is_explained(sources, delivered, by)
    others = st.frozensets(st.sampled_from(list(chain.from_iterable(sources))))
    for _ in range(5):
        drawn = data.draw(others)
        assert is_explained(sources, drawn, by) == (drawn in explained)


def test_what_nobody_published_is_not_explained() -> None:
    assert not is_explained([events_of([1, 2])], [Event("x", 5.0)], Windows(1, 2, 1))


def test_the_naive_solution_is_rejected() -> None:
    """Each source chooses among its own windows, and nobody looks at those across sources."""
    by = Windows(2, 4, 1)
    sources = [events_of([12, 9, 1, 10, 5], "a"), events_of([10, 25, 27, 18, 28], "b")]
    naive = set(chain.from_iterable(by.delivered(source) for source in sources))
    assert not is_explained(sources, naive, by)


@given(
    sources=publishers(most=9),
    by=windows(widest=4),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_chunks_of_several_sources_in_any_order_are_explained(
    sources: list[list[Event]], by: Windows, data: st.DataObject
) -> None:
    # What is left over at the end of a source is in no chunk, and not in the stream yet.
    whole = [source[: len(source) - len(source) % by.shift] for source in sources]
    waiting = [[source[at : at + by.shift] for at in range(0, len(source), by.shift)] for source in whole]
    dechunker, found = Dechunker(by), set()
    while any(waiting):
        source = data.draw(st.sampled_from([number for number, one in enumerate(waiting) if one]))
        together = data.draw(st.integers(1, len(waiting[source])))
        stretch = list(chain.from_iterable(waiting[source][:together]))
        del waiting[source][:together]
        found.update(dechunker.receive(chunk_of(stretch, by)))
    assert is_explained(whole, found, by)
