from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.texts import texts
from tidegate.errors import ConfigError
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.posts import HAS_PLACE, author_term, lang_term, post_terms, read_posts

SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "author": pa.string(),
        "lang": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
)
degrees = st.one_of(st.none(), st.floats(-400, 400), st.just(float("nan")))
posts = st.fixed_dictionaries(
    {
        "text": st.one_of(st.none(), texts),
        "author": st.sampled_from([None, "", "NASA", "@nasa", "Straße", "esa"]),
        "lang": st.sampled_from([None, "", "en", "EN-us", "pt_BR"]),
        "lat": degrees,
        "lon": degrees,
    }
)


def has_place(post: dict[str, Any]) -> bool:
    lat, lon = post["lat"], post["lon"]
    return lat is not None and lon is not None and -90 <= lat <= 90 and -180 <= lon <= 180


@given(st.lists(posts, max_size=10))
@settings(max_examples=100, deadline=None)
def test_posts_have_the_terms_of_the_definition(sample: list[dict[str, Any]]) -> None:
    lexicon = Lexicon(Analyzer())
    expected = [
        post_terms(lexicon.analyzer, post["text"], post["author"], post["lang"], has_place(post)) for post in sample
    ]
    lexicon.add_terms(sorted({*set().union(*expected), "from:nasa", HAS_PLACE} - {"from:strasse"}))
    read = read_posts(pa.Table.from_pylist(sample, schema=SCHEMA), lexicon)
    found = [{lexicon.vocabulary.term(i) for i in read.terms.row(row)} for row in range(len(read))]
    assert found == [terms - {"from:strasse"} for terms in expected]
    assert np.array_equal(np.isnan(read.lat), [not has_place(post) for post in sample])
    assert np.array_equal(np.isnan(read.lon), np.isnan(read.lat))


def test_the_other_columns_may_be_missing() -> None:
    lexicon = Lexicon(Analyzer())
    lexicon.add_terms(["storm", HAS_PLACE])
    read = read_posts(pa.table({"body": ["storm", None]}), lexicon, text="body", sequences=True)
    assert read.terms.row(0).tolist() == [0]
    assert read.terms.row(1).tolist() == []
    assert np.isnan(read.lat).all()
    assert read.surfaces is not None
    assert len(read) == 2


def test_record_batches_and_chunked_tables_are_read_alike() -> None:
    lexicon = Lexicon(Analyzer())
    lexicon.add_terms(["storm", "from:esa", "from:nasa"])
    batch = pa.record_batch({"text": ["a storm", "calm", "storm"], "author": ["NASA", "esa", None]})
    table = pa.Table.from_batches([batch.slice(0, 1), batch.slice(1, 2)])
    for source in (batch, table):
        read = read_posts(source, lexicon)
        assert [read.terms.row(i).tolist() for i in range(3)] == [[0, 2], [1], [0]]


def test_a_place_that_is_not_on_earth_is_dropped_and_counted() -> None:
    places = {
        "text": ["a"] * 5,
        "lat": [54.3, 200.0, 0.0, None, 90.0],
        "lon": [10.1, 0.0, float("inf"), 3.0, -180.0],
    }
    read = read_posts(pa.table(places), Lexicon(Analyzer()))
    assert read.misplaced == 2
    assert np.isnan(read.lon).tolist() == [False, True, True, True, False]


def test_the_number_of_truncated_posts_is_reported() -> None:
    assert read_posts(pa.table({"text": ["x " * 20_000, "x"]}), Lexicon(Analyzer())).truncated == 1


def test_accounts_and_languages_have_one_term_each() -> None:
    assert author_term(" @STRASSE ") == author_term("Straße") == "from:strasse"
    assert lang_term("EN") == lang_term("en-GB") == lang_term("en_US") == "lang:en"


def test_a_missing_text_column_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'text'.*body, author"):
        read_posts(pa.table({"body": ["x"], "author": ["y"]}), Lexicon(Analyzer()))


def test_a_column_of_another_type_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'lat' is of type struct"):
        read_posts(pa.table({"text": ["x"], "lat": [{"north": 1}]}), Lexicon(Analyzer()))


@pytest.mark.parametrize(
    "lats",
    [
        pa.array(["54.3", "north", "-1e1", None, "", "4_5"]),
        pa.array(["54.3", "north", "-1e1", None, "", "4_5"]).dictionary_encode(),
        pa.array(["54.3", "north", "-1e1", None, "", "4_5"], pa.string_view()),
        pa.array([b"54.3", b"\xff", b"-1e1", None, b"", b"4_5"]),
        pa.array([54, 2**60, -10, None, 2**53 + 1, -(2**62)]),
        pa.array([54.3, 1e300, -10, None, 91, -90.5]),
    ],
    ids=lambda lats: str(lats.type),
)
def test_what_is_no_latitude_loses_its_own_place_only_and_is_counted(lats: pa.Array) -> None:
    table = pa.table({"text": ["a"] * 6, "lat": lats, "lon": [0] * 6})
    for source in (table, pa.concat_tables([table.slice(0, 2), table.slice(2)])):
        read = read_posts(source, Lexicon(Analyzer()))
        assert read.misplaced == 3
        assert read.lat[[0, 2]].tolist() == pytest.approx([54.3, -10], rel=0.01)
        assert np.isnan(read.lat[[1, 3, 4, 5]]).all()


def test_how_a_coordinate_is_read_does_not_depend_on_its_neighbours() -> None:
    spellings = ["1", "+1", " 1", "1.", ".1", "1e1", "1_0", "1e999", "nan", "inf", "٣", "0x1", ""]
    lexicon = Lexicon(Analyzer())

    def latitudes(lats: list[str]) -> list[float]:
        count = len(lats)
        table = pa.table({"text": ["a"] * count, "lat": lats, "lon": [0.0] * count})
        return list(read_posts(table, lexicon).lat)

    alone = [latitudes([spelling])[0] for spelling in spellings]
    assert latitudes(spellings) == pytest.approx(alone, nan_ok=True)


@pytest.mark.parametrize("parameter", ["text", "author", "lang", "lat", "lon"])
def test_a_column_that_is_asked_for_must_be_there(parameter: str) -> None:
    posts = pa.table({"text": ["x"], "by": ["y"]})
    with pytest.raises(ConfigError, match=r"no column 'writer'.*text, by"):
        read_posts(posts, Lexicon(Analyzer()), **{parameter: "writer"})  # type: ignore[arg-type]


def test_columns_may_have_any_name() -> None:
    lexicon = Lexicon(Analyzer())
    lexicon.add_terms(["storm", "from:esa", "lang:de", HAS_PLACE])
    posts = pa.table({"t": ["storm"], "a": ["ESA"], "l": ["de"], "north": [1], "east": [2], "author": ["nasa"]})
    read = read_posts(posts, lexicon, text="t", author="a", lang="l", lat="north", lon="east")
    assert read.terms.row(0).tolist() == [0, 1, 2, 3]
    assert (read.lat.tolist(), read.lon.tolist()) == ([1.0], [2.0])


@pytest.mark.parametrize("name", ["text", "author", "lat"])
def test_a_column_that_is_there_twice_is_refused_by_name(name: str) -> None:
    values = pa.array(["1"])
    posts = pa.Table.from_arrays([values] * 4, names=["text", "author", "lat", name])
    for source in (posts, posts.to_batches()[0]):
        with pytest.raises(ConfigError, match=rf"2 columns.*'{name}'"):
            read_posts(source, Lexicon(Analyzer()))
