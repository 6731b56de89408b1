"""Whatever the index and the history, the matcher finds exactly what the definition of the language says."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import posts, query_texts
from tidegate.errors import QueryError
from tidegate.index.compiled import Compiled
from tidegate.index.contract import Index
from tidegate.index.matcher import Matcher
from tidegate.index.registry import INDEXES
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()


def table(views: Sequence[PostView]) -> pa.Table:
    columns = {
        "text": pa.string(),
        "author": pa.string(),
        "lang": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
    return pa.table({name: pa.array([getattr(v, name) for v in views], kind) for name, kind in columns.items()})


def expected(queries: dict[str, str], views: Sequence[PostView]) -> set[tuple[int, str]]:
    parsed = {subscription: parse(text, ANALYZER) for subscription, text in queries.items()}
    return {
        (row, subscription)
        for row, view in enumerate(views)
        for subscription, query in parsed.items()
        if satisfies(query, view, ANALYZER)
    }


def assert_exact(matcher: Matcher | Compiled, queries: dict[str, str], views: Sequence[PostView]) -> None:
    found = matcher.match(table(views)).pairs()
    assert len(found) == len(set(found)), "a match is reported twice"
    assert set(found) == expected(queries, views)


@pytest.mark.parametrize("index_class", INDEXES.values(), ids=INDEXES.keys())
@given(texts=st.lists(query_texts(), max_size=12), views=st.lists(posts(), max_size=6))
@settings(max_examples=60, deadline=None)
def test_every_index_matches_as_the_language_is_defined(
    index_class: type[Index], texts: list[str], views: list[PostView]
) -> None:
    matcher = Matcher(ANALYZER, index_class=index_class)
    asked = {str(i): text for i, text in enumerate(texts)}
    for refusal in matcher.subscribe_many(list(asked), list(asked.values())):
        assert isinstance(refusal.error, QueryError)
        del asked[refusal.subscription]
    assert_exact(matcher, asked, views)
    matcher.merge()
    assert_exact(matcher, asked, views)
    matcher.close()


@pytest.mark.parametrize("index_class", INDEXES.values(), ids=INDEXES.keys())
@given(texts=st.lists(query_texts(), max_size=12), views=st.lists(posts(), max_size=6))
@settings(max_examples=25)
def test_what_is_compiled_matches_alike_before_and_after_it_is_saved(
    index_class: type[Index], texts: list[str], views: list[PostView], tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = {str(i): text for i, text in enumerate(texts)}
    compiled, refused = Compiled.build(list(asked), list(asked.values()), ANALYZER, index_class=index_class)
    for refusal in refused:
        del asked[refusal.subscription]
    assert_exact(compiled, asked, views)
    path = tmp_path_factory.mktemp("segments") / "compiled.arrow"
    compiled.save(path)
    assert_exact(Compiled.open(path), asked, views)


@given(
    steps=st.lists(st.one_of(query_texts(), st.integers(0, 20), st.just("merge")), max_size=15),
    views=st.lists(posts(), min_size=1, max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_any_history_of_subscribing_and_unsubscribing(steps: list[str | int], views: list[PostView]) -> None:
    matcher = Matcher(ANALYZER)
    asked: dict[str, str] = {}
    for name, step in enumerate(steps):
        if step == "merge":
            matcher.merge()
        elif isinstance(step, int):
            if asked:
                gone = sorted(asked)[step % len(asked)]
                matcher.unsubscribe(gone)
                del asked[gone]
        else:
            try:
                matcher.subscribe(str(name), step)
                asked[str(name)] = step
            except QueryError:
                pass
        assert_exact(matcher, asked, views)
    assert len(matcher) == len(asked)
    assert matcher.n_queries == len({parse(text, ANALYZER).id for text in asked.values()})
    matcher.close()


@given(texts=st.lists(query_texts(), max_size=8), views=st.lists(posts(), max_size=4))
@settings(max_examples=60, deadline=None)
def test_every_match_can_say_why(texts: list[str], views: list[PostView]) -> None:
    matcher = Matcher(ANALYZER)
    matcher.subscribe_many([str(i) for i in range(len(texts))], texts)
    found = matcher.match(table(views))
    for row, view in enumerate(views):
        matched = set(found.queries.row(row).tolist())
        for query in range(matcher.n_queries):
            assert (matcher.why(query, view) is not None) == (query in matched)
    matcher.close()
