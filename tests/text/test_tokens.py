import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.texts import texts
from tidegate.text.profile import PAPER, SOCIAL, profile_named, surface_of
from tidegate.text.tokens import clip, tokens


def surfaces(text: str, profile=SOCIAL) -> list[str]:  # type: ignore[no-untyped-def]
    return [token.surface for token in tokens(text, profile)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Storm over KIEL", ["storm", "over", "kiel"]),
        ("DON’T rock 'n' roll", ["don't", "rock", "n", "roll"]),
        ("#Eclipse eclipse", ["#eclipse", "eclipse"]),
        ("##x a#b # #", ["#x", "a", "b"]),
        ("me@esa.int @ESA's", ["me", "esa", "int", "@esa", "s"]),
        ("@a@b", ["@a", "b"]),
        ("see https://t.co/x#y, www.esa.int and HTTP://X end", ["see", "and", "end"]),
        ("https: www http", ["https", "www", "http"]),
        ("台風です #台風", ["台", "風", "で", "す", "#台風"]),
        ("東京タワー", ["東", "京", "タワー"]),
        ("か\u3099", ["が"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("e\u0301te\u0301 ÉTÉ", ["été", "été"]),
        ("❤️#love ️", ["#love"]),
        ("3.5 snake_case x²", ["3", "5", "snake_case", "x²"]),
        ("", []),
    ],
)
def test_social_tokens_are(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


def test_the_paper_profile_drops_names_and_links_and_reads_tags_as_words() -> None:
    assert surfaces("RT @nasa: #Storm 2013 http://t.co/x don't", PAPER) == ["rt", "storm", "2013", "don't"]


@given(texts)
def test_a_token_is_the_surface_form_of_its_span_and_spans_do_not_overlap(text: str) -> None:
    end = 0
    for token in tokens(text, SOCIAL):
        assert end <= token.start < token.end
        assert token.surface == surface_of(text[token.start : token.end])
        end = token.end


@given(texts)
def test_surface_forms_are_their_own_surface_form(text: str) -> None:
    for surface in surfaces(text):
        assert surface_of(surface) == surface


@given(st.text(max_size=40), st.integers(1, 50))
def test_a_clipped_text_is_a_prefix_within_the_limit(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert text.startswith(clipped)
    assert len(clipped.encode()) <= limit
    assert (clipped == text) or len(text.encode()) > limit


def test_a_long_text_is_cut_between_words_where_it_can_be() -> None:
    assert clip("one two three", 10) == "one two"
    assert clip("a " + "b" * 300, 280) == "a " + "b" * 278
    assert clip("ééé", 3) == "é"


def test_what_lies_behind_the_limit_is_no_token() -> None:
    assert surfaces("storm " * 100, profile_named("social", max_bytes=20)) == ["storm"] * 3


def test_a_text_that_is_to_be_read_whole_has_no_limit() -> None:
    assert len(tokens("storm " * 100, profile_named("social", max_bytes=20), clipped=False)) == 100
