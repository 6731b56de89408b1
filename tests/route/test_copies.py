"""Which copy of a query answers, however visits and homes overlap."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.strings import strings
from tidegate.query.parse import parse
from tidegate.route.copies import Copies
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()
MATCHERS = 6
some_matchers = st.sets(st.integers(0, MATCHERS - 1)).map(sorted)


@given(
    homes=st.lists(some_matchers.filter(bool), min_size=1, max_size=5),
    visits=st.lists(some_matchers, min_size=1, max_size=4),
)
def test_whatever_is_visited_one_copy_answers_and_none_where_no_home_is(
    homes: list[list[int]], visits: list[list[int]]
) -> None:
    queries = [parse(f"w{number}", ANALYZER) for number in range(len(homes))]
    copies = Copies.of(queries, from_rows(homes))
    assert sorted(copies.queries.to_pylist()) == sorted(
        query.canonical for query, at in zip(queries, homes, strict=True) if len(at) > 1
    )
    answers = []
    for matcher in range(MATCHERS):
        here = [number for number, at in enumerate(homes) if matcher in at]
        duty = copies.duty(matcher, strings([queries[number].canonical for number in here]))
        # Every post that visits satisfies everything.
        found = from_rows([range(len(here)) if matcher in visited else [] for visited in visits])
        answered = found if duty is None else duty.answered(found, from_rows(visits))
        answers += [(post, here[number]) for post in range(len(visits)) for number in answered.row(post)]
    expected = [
        (post, number)
        for post, visited in enumerate(visits)
        for number, at in enumerate(homes)
        if set(at) & set(visited)
    ]
    assert sorted(answers) == expected


def test_a_matcher_without_copies_has_no_duty() -> None:
    queries = [parse(text, ANALYZER) for text in ("storm", "flood")]
    copies = Copies.of(queries, from_rows([[0, 2], [1]]))
    assert len(copies) == 1
    assert copies.duty(1, strings([queries[1].canonical])) is None
    assert copies.duty(2, strings([queries[0].canonical])) is not None
