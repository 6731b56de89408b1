import time

import pytest

from tidegate.errors import QueryError
from tidegate.query.parse import parse
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse(text, ANALYZER)
    assert caught.value.query == text
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "position", "problem", "hint"),
    [
        ("", 0, "empty", "write a word"),
        (" \n ", 0, "empty", "write a word"),
        ("-storm", 0, "nothing but exclusions", "must have"),
        ("the -storm", 4, "nothing but exclusions", "must have"),
        ("storm OR -rain", 9, "nothing but exclusions", "must have"),
        ("storm OR NOT (rain flood)", 9, "nothing but exclusions", "must have"),
        ("-in:(1,2,3,4)", 0, "nothing but exclusions", "must have"),
        ("the", 0, "stop word", "quote it"),
        ("of the", 0, "stop word", "quote it"),
        ("storm OR the", 9, "stop word", "quote it"),
        ("storm (rain OR (of the))", 16, "stop word", "quote it"),
        ("storm -the", 6, "excluded", '-"the"'),
        ("(storm", 0, "closing parenthesis", "')'"),
        ("storm (rain (flood)", 6, "closing parenthesis", "')'"),
        ("storm (", 6, "closing parenthesis", "')'"),
        ("storm) rain", 5, "no '('", "remove"),
        (')"', 0, "no '('", "remove"),
        ("storm ()", 6, "empty", "in them"),
        ('storm "rain', 6, "quotation mark", "closing"),
        ('"rain" “', 7, "quotation mark", "closing"),
        ('storm ""', 6, "no word", "remove"),
        ('storm "!?"', 6, "no word", "remove"),
        ("storm OR", 6, "'OR' has nothing after", "add a word"),
        ("storm OR OR rain", 6, "'OR' has nothing after", "add a word"),
        ("(storm OR) rain", 7, "'OR' has nothing after", "add a word"),
        ("OR storm", 0, "'OR' has nothing before", "quote it"),
        ("(AND storm)", 1, "'AND' has nothing before", "quote it"),
        ("storm NOT", 6, "'NOT' has nothing after", "add a word"),
        ("(storm -)", 7, "'-' has nothing after", "add a word"),
        ("storm - rain", 6, "no word in '-'", "letters"),
        ("storm ???", 6, "no word in '???'", "letters"),
        ("storm *", 6, "no word before", "storm*"),
        ("storm #*", 6, "no word before", "storm*"),
        ("storm s*", 6, "too short", "at least 2"),
        ("storm #e*", 6, "too short", "at least 2"),
        ("sto*rm", 0, "only at the end", "storm*"),
        ("storm**", 0, "only at the end", "storm*"),
        ("coca-col*", 0, "single word", "apart"),
        ("storm form:nasa", 6, "no field 'form:'", "did you mean from:"),
        ("https://esa.int", 0, "no field 'https:'", "quote"),
        ("storm from:", 6, "no account", "from:nasa"),
        ("from:na*", 0, "no account", "from:nasa"),
        ("from:@@nasa", 0, "no account", "from:nasa"),
        ("from:\ud800", 0, "no account", "from:nasa"),
        ("lang:english", 0, "no language", "lang:en"),
        ("stem:#storm", 0, "no stem", "without"),
        ("in:5", 0, "parentheses", "in:(west,south,east,north)"),
        ("near:", 0, "parentheses", "near:(lat,lon,radius_km)"),
        ("storm in:(1,5,2,4)", 12, "inside out", "west,south"),
        ("in:(1,2,1,3)", 0, "no area", "near:"),
        ("in:(1,2,3,2)", 0, "no area", "near:"),
        ("in:(180,2,-180,3)", 0, "no area", "near:"),
        ("in:(1, 200 ,2,4)", 7, "latitude of 200", "-90 to 90"),
        ("in:(1,2,500,4)", 8, "longitude of 500", "-180 to 180"),
        ("within:", 0, "parentheses", "within:(lon lat,lon lat,lon lat)"),
        ("within:(1 2,3,4 5)", 12, "'3' is no corner", "three corners or more"),
        ("within:(170 0,-170 0,-170 5,170 5,170 0)", 14, "more than half around", "antimeridian"),
        ("within:(1 2,3 4)", 0, "no area", "at least three corners"),
        ("within:(1 2,x 4,5 6)", 12, "'x' is not a number", "within:(lon lat"),
        ("within:(0 0,0 99,5 6)", 12, "latitude of 99", "-90 to 90"),
        ("near:(-90.5,0,1)", 6, "latitude of -90.5", "-90 to 90"),
        ("near:(0,181,1)", 8, "longitude of 181", "-180 to 180"),
        ("near:(0,0,0)", 10, "radius of 0", "20040"),
        ("near:(0,0,20041)", 10, "radius of 20041", "20040"),
        ("in:(1,nan,2,4)", 6, "'nan' is not a number", "west,south"),
        ("near:(0,0,1e999)", 10, "'1e999' is not a number", "radius_km"),
        ("in:(1,,2,4)", 6, "'' is not a number", "west,south"),
        ("in:(1,2,3)", 0, "takes 4 numbers", "west,south"),
        ("near:(1,2,3,4)", 0, "takes 3 numbers", "radius_km"),
        ("in:()", 0, "takes 4 numbers", "west,south"),
        ("storm -storms", 6, "no post can match", "remove one"),
        ('-storm "storms"', 0, "no post can match", "remove one"),
        ('"storm warning" -warning', 16, "no post can match", "remove one"),
        ("#storms -#sto*", 8, "no post can match", "remove one"),
        ("from:esa from:nasa", 9, "only one author", "OR"),
        ("lang:en lang:de", 8, "only one language", "OR"),
        (" ".join(f"w{i:02}" for i in range(65)), 64 * 4, "more than 64 terms", "fewer"),
        ("x (" + " OR ".join(f"w{i:02}" for i in range(65)) + ")", 3, "more than 64 alternatives", "fewer"),
        ("w" * 4097, 4096, "4097 characters", "4096"),
    ],
)
def test_a_query_is_refused_with_position_problem_and_hint(text: str, position: int, problem: str, hint: str) -> None:
    error = refusal(text)
    assert problem in error.problem
    assert hint in error.hint
    assert error.position == position


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"(a{i} OR b{i})" for i in range(40)),
        "x -(" + " OR ".join(f"(a{i} b{i})" for i in range(40)) + ")",
        "".join(f"(s{i} OR (t{i} " for i in range(200)) + "x" + "))" * 200,
        "-(" * 1000 + "storm",
        "(" * 4096,
        '"' * 4095,
        "-" * 4096,
    ],
)
def test_a_hostile_query_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    refusal(text)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("text", ["(" * 2000 + "storm" + ")" * 2000, "-(" * 1000 + "storm" + ")" * 1000])
def test_parentheses_around_nothing_new_may_be_as_deep_as_the_text_is_long(text: str) -> None:
    assert parse(text, ANALYZER).canonical == "storm"


def test_repetition_does_not_count_against_the_limits() -> None:
    assert parse("(storm OR rain) " * 200, ANALYZER).id == parse("storm OR rain", ANALYZER).id
    assert parse("storm " * 600, ANALYZER).id == parse("storm", ANALYZER).id
