import pytest

from tidegate.errors import QueryError
from tidegate.query.conjunction import Conjunction
from tidegate.query.normal import Limits
from tidegate.query.parse import parse, parse_many
from tidegate.query.region import Circle, Rectangle
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import PAPER, profile_named

ANALYZER = Analyzer()


def only_conjunction(text: str, analyzer: Analyzer = ANALYZER) -> Conjunction:
    (conjunction,) = parse(text, analyzer).conjunctions
    return conjunction


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("storm", "storm"),
        ("Storms FLOODING", "flood storm"),
        ("storm AND flood", "flood storm"),
        ("storm or flood", "flood storm"),
        ("flood OR storm rain", "flood OR rain storm"),
        ("(flood OR storm) rain", "flood rain OR rain storm"),
        ("storm -rain", "storm -rain"),
        ("storm NOT rain", "storm -rain"),
        ("storm --rain", "rain storm"),
        ("NOT(rain) storm", "storm -rain"),
        ("storm -(rain OR flood)", "storm -flood -rain"),
        ("storm -(rain flood)", "storm -flood OR storm -rain"),
        ("storm -(rain -flood)", "flood storm OR storm -rain"),
        ('"Storm Warning"', '"storm warning"'),
        ("“storm warning”", '"storm warning"'),
        ('storm "storm warning"', '"storm warning"'),
        ('storm"warning"', '"warning" storm'),
        ("coca-cola", '"coca cola"'),
        ("台風", '"台 風"'),
        ("Storm!", "storm"),
        ("storm*", "storm*"),
        ("#Ecl*", "#ecl*"),
        ("#Eclipse @ESA", "#eclipse @esa"),
        ('"#Eclipse"', "#eclipse"),
        ("from:@NASA", "from:nasa"),
        ("FROM:nasa Lang:EN-gb", "from:nasa lang:en"),
        ("in:( -10.50, 0 ,1e1,+20 )", "in:(-10.5,0,10,20)"),
        ("NEAR:(48.86,2.35,10)", "near:(48.86,2.35,10)"),
        ("Within:( 4 44, -10 44 , -10 36,4 44)", "within:(-10 36,4 44,-10 44)"),
        ("12:30", '"12 30"'),
        ("storm OR (storm rain)", "storm"),
        ('storm OR "storm warning"', "storm"),
        ("(storm -storm) OR rain", "rain"),
        ("(from:a from:b) OR rain", "rain"),
        ("the storm of storms", "storm"),
        ("storm -(the rain)", "storm -rain"),
        ("ons", "stem:on"),
        ("the's", "stem:the"),
        ("stormsing", "stem:storms"),
    ],
)
def test_a_query_has_this_canonical_form_which_parses_back(text: str, canonical: str) -> None:
    query = parse(text, ANALYZER)
    assert query.canonical == canonical
    assert parse(canonical, ANALYZER) == query


def test_a_phrase_is_found_by_the_stems_of_its_words_but_not_by_its_stop_words() -> None:
    assert only_conjunction('"Floods of the Rhine"') == Conjunction(
        positive=("flood", "rhine"), phrases=(("floods", "of", "the", "rhine"),)
    )


def test_a_phrase_of_stop_words_is_found_by_its_exact_words() -> None:
    assert only_conjunction('"to be"') == Conjunction(positive=("=be", "=to"), phrases=(("to", "be"),))


def test_a_quoted_word_is_exact() -> None:
    assert only_conjunction('"The"') == Conjunction(positive=("=the",))


def test_an_excluded_phrase_excludes_none_of_its_words() -> None:
    assert only_conjunction('storm -"flood warning" -"the"') == Conjunction(
        positive=("storm",), negative=("=the",), without_phrases=(("flood", "warning"),)
    )


def test_a_place_alone_is_found_by_its_having_a_place() -> None:
    assert only_conjunction("near:(1,2,3) -in:(170,-5,-170,5)") == Conjunction(
        positive=("has:place",), regions=(Circle(1, 2, 3),), outside=(Rectangle(170, -5, -170, 5),)
    )


def test_a_place_beside_a_word_is_found_by_the_word() -> None:
    assert only_conjunction("lang:en in:(1,2,3,4)").positive == ("lang:en",)


@pytest.mark.parametrize(
    ("one", "other"),
    [("in:(180,0,-170,5)", "in:(-180,0,-170,5)"), ("near:(0,-180,5)", "near:(0.0,180,5)")],
)
def test_both_names_of_the_antimeridian_are_one_query(one: str, other: str) -> None:
    assert parse(one, ANALYZER).id == parse(other, ANALYZER).id


def test_the_id_has_128_bits_and_never_changes() -> None:
    # Stored subscriptions are keyed by it; this is `printf storm | b2sum -l 128`.
    assert parse("Storms", ANALYZER).id == "27c11ad052e7a750c271d162ff5f6c85"


def test_words_are_read_by_the_profile() -> None:
    paper = Analyzer(PAPER)
    assert only_conjunction("#Storms", paper).positive == ("storm",)
    german = Analyzer(profile_named("social", language="german"))
    assert only_conjunction("die Häuser", german).positive == ("haus",)


def test_plain_words_skip_the_grammar_and_give_the_same_query(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["storm", "Storm the FLOODS", " a storm  storm ", "or storm", "ons x1 42", "Generously HAPPILY"]
    by_grammar = [parse(f"({text})", ANALYZER) for text in texts]

    def fail(*_: object) -> None:
        pytest.fail("the grammar was asked")

    monkeypatch.setattr("tidegate.query.parse.syntax_tree", fail)
    assert [parse(text, ANALYZER) for text in texts] == by_grammar


def test_one_bad_subscription_does_not_stop_the_others() -> None:
    texts = ["storm", "(flood", None, "rain OR snow", "in:(0,200,1,1)"]
    queries, errors = parse_many(texts, ANALYZER)
    assert [query and query.canonical for query in queries] == ["storm", None, None, "rain OR snow", None]
    assert [(error.query, error.position) for error in errors] == [
        ("(flood", 0),
        ("", 0),
        ("in:(0,200,1,1)", 6),
    ]


def test_what_is_no_text_is_refused_and_does_not_stop_the_others() -> None:
    texts = ["storm", 5, 0, float("nan"), ["rain"], b"rain", None, "rain"]
    queries, errors = parse_many(texts, ANALYZER)  # type: ignore[arg-type]
    assert [query and query.canonical for query in queries] == ["storm", *[None] * 6, "rain"]
    kinds = ["int", "int", "float", "list", "bytes"]
    assert [error.problem for error in errors] == [
        *(f"a query is text, not {kind}" for kind in kinds),
        "the query is empty",
    ]
    assert errors[0].query == "5"
    with pytest.raises(QueryError, match="not int"):
        parse(5, ANALYZER)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        '"flood warning for the whole coast"',
        "#extraordinarilylongishword",
        "@a_name_of_more_than_20_letters",
        "extraordinarilylongish*",
        "extraordinarilylongishword",
        "überaußerordentlichlangewörter",
        "außerordentlich-lange-wörter",
        'storm -"flood warning for the whole coast"',
    ],
)
def test_the_length_limit_of_posts_cuts_no_query(text: str) -> None:
    short = Analyzer(profile_named("social", max_bytes=20))
    assert parse(text, short) == parse(text, ANALYZER)
    assert parse(parse(text, short).canonical, short) == parse(text, short)


def test_limits_are_the_callers() -> None:
    tight = Limits(max_length=20, max_conjunctions=2, max_terms=2, max_depth=1)
    assert parse("storm OR flood", ANALYZER, tight).canonical == "flood OR storm"
    for text in ("a" * 21, "rain OR storm OR ice", "rain storm ice", "rain (storm OR ice)"):
        with pytest.raises(QueryError):
            parse(text, ANALYZER, tight)
