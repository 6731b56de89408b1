import pickle
from unicodedata import is_normalized

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.text.texts import texts
from tidegate.errors import ConfigError
from tidegate.text.analyzer import Analyzer
from tidegate.text.profile import PAPER, SOCIAL, profile_named, surface_of
from tidegate.text.stopwords import STOP_WORDS
from tidegate.text.vocabulary import Vocabulary


def test_words_are_stemmed_and_tags_and_names_are_not() -> None:
    analyzer = Analyzer()
    assert [analyzer.term(surface) for surface in ("storms", "#storms", "@storms", "the", "2027")] == [
        "storm",
        "#storms",
        "@storms",
        None,
        "2027",
    ]


def test_each_language_stems_and_stops_in_its_own_way() -> None:
    german = Analyzer(profile_named("social", language="german"))
    assert german.term("häusern") == german.term("häuser") == "haus"
    assert german.term("und") is None
    assert german.term("the") == "the"


def test_a_word_without_a_stem_is_its_own_term() -> None:
    tatweel = "\N{ARABIC TATWEEL}"
    assert Analyzer(profile_named("social", language="arabic")).terms([tatweel, tatweel * 3]) == [tatweel, tatweel * 3]


@pytest.mark.parametrize("language", ["arabic", "persian", "greek", "hindi", "turkish", "yiddish", "english"])
@given(st.one_of(texts, st.text(st.characters(min_codepoint=0x600, max_codepoint=0x6FF), max_size=8)))
@example("ؤٔٿڤ")
@settings(max_examples=100, deadline=None)
def test_terms_are_their_own_surface_form_and_never_empty(language: str, text: str) -> None:
    analyzer = Analyzer(profile_named("social", language=language))
    for term in analyzer.terms([token.surface for token in analyzer.tokens(text)]):
        assert term is None or term == surface_of(term) != ""
        assert term is None or is_normalized("NFC", term)


def test_the_paper_profile_uses_porters_stemmer() -> None:
    assert Analyzer(PAPER).term("skies") == "ski"
    assert Analyzer(SOCIAL).term("skies") == "sky"


def test_stop_words_are_compared_as_surface_forms() -> None:
    analyzer = Analyzer(profile_named("social", stop_words=["Straße", "don’t"]))
    assert analyzer.is_stop_word("strasse")
    assert analyzer.term("don't") is None
    assert not analyzer.is_stop_word("the")


@pytest.mark.parametrize("language", STOP_WORDS)
def test_listed_stop_words_are_surface_forms_of_one_token(language: str) -> None:
    analyzer = Analyzer(profile_named("social", language=language))
    for word in STOP_WORDS[language]:
        assert [token.surface for token in analyzer.tokens(word)] == [word]


def test_a_pickled_analyzer_is_as_good_as_the_original() -> None:
    analyzer = Analyzer(profile_named("paper", stop_words=["storms"]))
    travelled = pickle.loads(pickle.dumps(analyzer))
    assert travelled.profile == analyzer.profile
    assert travelled.term("floods") == "flood"


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"name": "tweets"}, ["tweets", "social", "paper"]),
        ({"name": "social", "language": "klingon"}, ["klingon", "english"]),
        ({"name": "social", "language": "porter"}, ["porter", "english"]),
        ({"name": "social", "max_bytes": 0}, ["max_bytes is 0"]),
    ],
)
def test_unknown_settings_are_refused_by_name(setting: dict[str, object], named: list[str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        profile_named(**setting)  # type: ignore[arg-type]
    assert all(part in str(refusal.value) for part in named)


def test_ids_follow_frequency_and_later_terms_are_appended() -> None:
    vocabulary = Vocabulary.by_frequency({"rare": 1, "common": 9, "also": 1})
    assert list(vocabulary) == ["common", "also", "rare"]
    assert vocabulary.intern("new") == 3
    assert vocabulary.intern("also") == 1
    assert [vocabulary.id(term) for term in ("common", "new", "absent")] == [0, 3, -1]
    assert vocabulary.term(3) == "new"
    assert len(vocabulary) == 4
    assert "new" in vocabulary
    assert "absent" not in vocabulary
