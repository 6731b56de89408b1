import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.spark.sources.markup import text_of


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("un<b>believ</b>able", "unbelievable"),
        ("1 &lt; 2 &amp;amp; 3 > 2", "1 < 2 &amp; 3 > 2"),
        ("a <!-- <b>not</b> --> b <!-- <!-- --> c", "a b c"),
        ("a<!-- never ends", "a"),
        ("a<script>if (b<c && d>e) f()</script>g<STYLE>h{}</STYLE >i", "a g i"),
        ("a <img src='x'\n/> b <?php c ?> d", "a b d"),
        ("a < b and <b", "a < b and <b"),
    ],
)
def test_only_words_are_left(markup: str, text: str) -> None:
    assert text_of(markup) == text


@given(st.text())
def test_escaped_text_comes_back_on_one_line(text: str) -> None:
    plain = " ".join(text.split())
    assert text_of(html.escape(plain)) == plain


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<!--", "<a href='", "</", "<![CDATA[", "<script>", "&#", "<" + "a" * 999]
)
def test_a_megabyte_of_anything_takes_no_longer_than_a_megabyte_of_text(piece: str) -> None:
    text_of(piece * (1_000_000 // len(piece)))  # in quadratic time, this would take hours
