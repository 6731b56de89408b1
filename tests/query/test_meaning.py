import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.strategies import (
    STEMS,
    Branch,
    Tree,
    holds,
    leaves,
    posts,
    query_texts,
    respellings,
    text_of,
    trees,
)
from tidegate.errors import QueryError
from tidegate.query.conjunction import Query
from tidegate.query.parse import parse
from tidegate.query.semantics import PostView, satisfies
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import profile_named

ANALYZER = Analyzer()
several_posts = st.lists(posts(), min_size=1, max_size=6)


def parsed(text: str) -> Query | None:
    """The query, or None if no post can match it; nothing else is wrong with these texts."""
    try:
        return parse(text, ANALYZER)
    except QueryError as error:
        if error.problem.startswith("no post can match"):
            return None
        raise


def test_the_strategies_know_the_stems() -> None:
    assert {word: ANALYZER.term(word) for word in STEMS} == STEMS


@settings(max_examples=500, deadline=None)
@given(trees(), several_posts)
def test_the_normal_form_means_what_the_tree_means(tree: Tree, several: list[PostView]) -> None:
    query = parsed(text_of(tree))
    for post in several:
        assert (query is not None and satisfies(query, post, ANALYZER)) is holds(tree, post)


@settings(max_examples=300, deadline=None)
@given(st.data(), trees())
def test_order_repetition_case_and_stem_do_not_change_the_query(data: st.DataObject, tree: Tree) -> None:
    assert parsed(data.draw(respellings(tree))) == parsed(text_of(tree))


@settings(max_examples=300, deadline=None)
@given(query_texts())
def test_the_canonical_form_parses_back_to_the_same_query(text: str) -> None:
    query = parsed(text)
    if query is not None:
        assert parse(query.canonical, ANALYZER) == query


@settings(deadline=None)
@given(
    st.text(max_size=12),
    st.sampled_from(["{}", '"{}"', '"x {}"', "x -{}", "{}*", "#{}", "from:{}", "stem:{}"]),
)
@example("İstanbul ŉ ς ᾳ", '"{}"')
@example("\u0345a", "{}")
def test_any_text_is_refused_or_has_a_canonical_form_that_parses_back(text: str, shape: str) -> None:
    try:
        query = parse(shape.format(text), ANALYZER)
    except QueryError:
        return
    assert parse(query.canonical, ANALYZER) == query


@pytest.mark.parametrize("language", ["arabic", "persian", "greek", "hindi", "turkish", "german", "yiddish"])
@settings(deadline=None, max_examples=100)
@given(st.one_of(st.text(max_size=8), st.text(st.characters(min_codepoint=0x370, max_codepoint=0x6FF), max_size=8)))
@example("\N{ARABIC TATWEEL}")
@example("ؤٔٿڤ")
@example("İstanbul ŉ ς ᾳ ΌΔΟΣ")
def test_in_any_language_the_canonical_form_finds_the_post_that_says_it(language: str, text: str) -> None:
    analyzer = Analyzer(profile_named("social", language=language, stop_words=[]))
    words = " ".join(token.surface for token in analyzer.tokens(text))
    if words:
        query = parse(words, analyzer)
        again = parse(query.canonical, analyzer)
        assert again.id == query.id
        assert satisfies(again, PostView(text), analyzer)


@settings(deadline=None)
@given(leaves(), leaves(), leaves())
def test_de_morgan(one: Tree, other: Tree, anchor: Tree) -> None:
    def excluded(*children: Tree) -> tuple[Tree, ...]:
        return tuple(Branch("not", (child,)) for child in children)

    for kind, dual in (("and", "or"), ("or", "and")):
        outside = Branch("and", (anchor, *excluded(Branch(kind, (one, other)))))
        inside = Branch("and", (anchor, Branch(dual, excluded(one, other))))
        assert parsed(text_of(outside)) == parsed(text_of(inside))


@settings(deadline=None)
@given(query_texts(), query_texts())
def test_different_queries_have_different_ids(one: str, other: str) -> None:
    first, second = parsed(one), parsed(other)
    if first is not None and second is not None:
        assert (first.id == second.id) is (first.conjunctions == second.conjunctions)


@settings(deadline=None)
@given(trees())
def test_every_conjunction_can_be_found_by_a_term(tree: Tree) -> None:
    query = parsed(text_of(tree))
    for conjunction in query.conjunctions if query else ():
        assert conjunction.positive
        assert not set(conjunction.positive) & set(conjunction.negative)
        assert list(conjunction.positive) == sorted(set(conjunction.positive))
