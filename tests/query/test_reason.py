from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import posts, queries
from tidegate.query.conjunction import Query
from tidegate.query.parse import parse
from tidegate.query.reason import Reason, Span, explain
from tidegate.query.semantics import PostView, satisfies
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()


def reason_for(query: str, post: PostView) -> Reason:
    reason = explain(parse(query, ANALYZER), post, ANALYZER)
    assert reason is not None
    return reason


def test_every_occurrence_of_a_term_is_a_span_of_the_original_text() -> None:
    text = "Ünder STORMS: a storm, #Storm!"
    reason = reason_for("storm #storm", PostView(text))
    assert [(text[span.start : span.end], span.what) for span in reason.spans] == [
        ("STORMS", "storm"),
        ("storm", "storm"),
        ("#Storm", "#storm"),
    ]


def test_a_phrase_is_one_span_and_its_words_elsewhere_are_none() -> None:
    reason = reason_for('"flood warning"', PostView("Warning! A flood  warning."))
    assert reason.spans == (Span(11, 25, '"flood warning"'),)


def test_the_first_satisfied_conjunction_is_named() -> None:
    reason = reason_for("storm OR flood OR rain", PostView("rain and storm"))
    assert (reason.conjunction, reason.canonical) == (1, "rain")


def test_what_is_not_in_the_text_is_named_apart() -> None:
    post = PostView("anything", author="NASA", lang="en", lat=5, lon=5)
    reason = reason_for("from:nasa lang:en in:(0,0,10,10) -rain", post)
    assert reason.spans == ()
    assert reason.others == ("from:nasa", "lang:en", "in:(0,0,10,10)")
    assert reason_for("in:(0,0,10,10)", post).others == ("in:(0,0,10,10)",)


def test_highlights_of_overlapping_spans_are_merged() -> None:
    text = "Heavy storm warning today"
    reason = reason_for('"heavy storm" "storm warning" sto* today', PostView(text))
    assert reason.highlight(text, "<b>", "</b>") == "<b>Heavy storm warning</b> <b>today</b>"


def test_a_text_behind_the_length_limit_is_left_as_it_is() -> None:
    text = "storm " * 5000
    highlighted = reason_for("storm", PostView(text)).highlight(text, "[", "]")
    assert highlighted.replace("[", "").replace("]", "") == text
    assert highlighted.endswith(" storm ")


@settings(max_examples=300, deadline=None)
@given(queries(ANALYZER), st.lists(posts(), min_size=1, max_size=5))
def test_there_is_a_reason_exactly_if_the_query_is_satisfied(query: Query, several: list[PostView]) -> None:
    for post in several:
        reason = explain(query, post, ANALYZER)
        assert (reason is not None) is satisfies(query, post, ANALYZER)
        if reason is not None:
            stated = parse(reason.canonical, ANALYZER)
            assert stated.conjunctions == (query.conjunctions[reason.conjunction],)
            assert satisfies(stated, post, ANALYZER)
            assert reason.highlight(post.text, "", "") == post.text
