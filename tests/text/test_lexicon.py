import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.texts import pieces, texts
from tidegate.errors import ConfigError
from tidegate.text import lexicon as lexicon_module
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon, Scan
from tidegate.text.profile import PAPER, SOCIAL, Profile, profile_named
from tidegate.text.spellings import Spellings
from tidegate.text.vocabulary import Vocabulary

rows = st.lists(st.one_of(st.none(), texts), max_size=8)


def terms_of(analyzer: Analyzer, text: str | None, vocabulary: Vocabulary) -> list[int]:
    """What a scan is to emit for a text, straight from the definitions."""
    found: dict[int, None] = {}
    for token in analyzer.tokens(text or ""):
        surface = token.surface
        emitted = [f"={surface}", *(f"{surface[:n]}*" for n in range(len(surface) + 1))]
        term = analyzer.term(surface)
        emitted += [term] if term is not None else []
        found.update(dict.fromkeys(sorted(vocabulary.id(t) for t in emitted if t in vocabulary)))
    return list(found)


def terms_like(analyzer: Analyzer, sample: list[str | None], rng: random.Random) -> list[str]:
    """Terms of every kind, of which some occur in the sample."""
    surfaces = [token.surface for text in sample for token in analyzer.tokens(text or "")]
    chosen = rng.sample(surfaces, len(surfaces) // 2)
    terms = [analyzer.term(surface) for surface in chosen]
    exact = [f"={surface}" for surface in chosen[::2]]
    prefixes = [f"{surface[: rng.randint(1, 3)]}*" for surface in chosen[::3]]
    return [term for term in [*terms, *exact, *prefixes, "absent", "from:nasa"] if term is not None]


def assert_exact(scan: Scan, lexicon: Lexicon, sample: list[str | None]) -> None:
    for i, text in enumerate(sample):
        assert scan.terms.row(i).tolist() == terms_of(lexicon.analyzer, text, lexicon.vocabulary), repr(text)
    assert scan.terms.rows == len(sample)


@pytest.mark.parametrize("profile", [SOCIAL, PAPER], ids=lambda profile: profile.name)
@given(rows)
@settings(max_examples=300, deadline=None)
def test_the_scanner_reads_any_text_as_the_definition_does(profile: Profile, sample: list[str | None]) -> None:
    lexicon = Lexicon(Analyzer(profile))
    wanted = [[token.surface for token in lexicon.analyzer.tokens(text or "")] for text in sample]
    ids = {surface: lexicon.surface_id(surface) for row in wanted for surface in row}
    scan = lexicon.scan(pa.array(sample, pa.string()), sequences=True)
    assert scan.surfaces is not None
    assert [scan.surfaces.row(i).tolist() for i in range(len(sample))] == [[ids[s] for s in row] for row in wanted]


@given(rows, rows, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_scans_are_exact_on_first_sight_on_second_and_after_more_terms(
    first: list[str | None], second: list[str | None], rng: random.Random
) -> None:
    analyzer = Analyzer()
    lexicon = Lexicon(analyzer, Vocabulary(terms_like(analyzer, first, rng)))
    for sample in (first, second, first):
        assert_exact(lexicon.scan(pa.array(sample, pa.string())), lexicon, sample)
        lexicon.add_terms(terms_like(analyzer, [*first, *second], rng))
    assert_exact(lexicon.scan(pa.array(first + second, pa.string())), lexicon, first + second)


@given(rows, st.integers(1, 40), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_long_texts_are_cut_as_the_definition_cuts_them(
    sample: list[str | None], limit: int, rng: random.Random
) -> None:
    analyzer = Analyzer(profile_named("social", max_bytes=limit))
    lexicon = Lexicon(analyzer, Vocabulary(terms_like(analyzer, sample, rng)))
    scan = lexicon.scan(pa.array(sample, pa.string()))
    assert_exact(scan, lexicon, sample)
    assert scan.truncated == sum(len((text or "").encode()) > limit for text in sample)


@given(st.lists(pieces, max_size=30), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_forgetting_spellings_changes_no_result(sample: list[str], rng: random.Random) -> None:
    analyzer = Analyzer()
    rows: list[str | None] = list(sample)
    vocabulary = Vocabulary(terms_like(analyzer, rows, rng))
    lexicon = Lexicon(analyzer, vocabulary, max_spellings=3)
    for text in rows:
        assert_exact(lexicon.scan(pa.array([text], pa.string())), lexicon, [text])


@pytest.mark.parametrize(("length", "most"), [(8, 100), (400, 16)], ids=["many", "long"])
def test_a_lexicon_remembers_no_more_spellings_than_it_may(length: int, most: int) -> None:
    lexicon = Lexicon(Analyzer(), max_spellings=100)
    remembered = []
    for i in range(1000):
        lexicon.scan(pa.array([f"{i}".zfill(length)]))
        remembered.append(lexicon.n_spellings)
    assert max(remembered) == most + 1  # the block that exceeds the limit is still learned
    assert remembered.count(1) == 1 + 999 // (most + 1)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["scan", "intern", "add"]), rows), max_size=8), st.randoms())
@settings(max_examples=100, deadline=None)
def test_lexicons_that_share_a_vocabulary_each_emit_all_its_terms(
    steps: list[tuple[bool, str, list[str | None]]], rng: random.Random
) -> None:
    analyzer, vocabulary = Analyzer(), Vocabulary()
    pair = Lexicon(analyzer, vocabulary), Lexicon(analyzer, vocabulary)
    for second, action, sample in steps:
        lexicon, terms = pair[second], terms_like(analyzer, sample, rng)
        if action == "add":
            lexicon.add_terms(terms)
        elif action == "intern":
            for term in terms:
                vocabulary.intern(term)
        assert_exact(lexicon.scan(pa.array(sample, pa.string())), lexicon, sample)
    everything = [text for *_, sample in steps for text in sample]
    for lexicon in pair:
        assert_exact(lexicon.scan(pa.array(everything, pa.string())), lexicon, everything)


def test_a_prefix_that_another_lexicon_put_into_the_vocabulary_is_emitted() -> None:
    vocabulary = Vocabulary(["storm"])
    one, other = Lexicon(Analyzer(), vocabulary), Lexicon(Analyzer(), vocabulary)
    assert other.scan(pa.array(["stormy"])).terms.values.tolist() == []
    assert one.add_terms(["sto*"]).tolist() == other.add_terms(["sto*"]).tolist() == [1]
    assert other.scan(pa.array(["stormy"])).terms.values.tolist() == [1]


@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_any_arrow_column_of_strings_will_do(arrow_type: pa.DataType) -> None:
    sample = ["skipped", "storm", None, "", "the storms", "last"]
    column = pa.array(sample, pa.string()).cast(arrow_type)
    lexicon = Lexicon(Analyzer())
    lexicon.add_terms(["storm", "skip", "last"])
    chunked = pa.chunked_array([column.slice(1, 2), column.slice(0, 0), column.slice(3, 2)])
    for texts_given in (column.slice(1, 4), chunked):
        assert_exact(lexicon.scan(texts_given), lexicon, sample[1:5])


def test_no_texts_give_no_rows() -> None:
    lexicon = Lexicon(Analyzer())
    for empty in (pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        scan = lexicon.scan(empty, sequences=True)
        assert scan.terms.rows == 0
        assert scan.surfaces is not None
        assert scan.surfaces.rows == 0
    assert lexicon.scan(pa.nulls(3)).terms.rows == 3


def test_a_column_of_no_strings_is_refused_by_its_type() -> None:
    with pytest.raises(ConfigError, match="struct"):
        Lexicon(Analyzer()).scan(pa.array([{"a": 1}]))


def test_binary_texts_that_are_no_utf8_are_refused_with_the_remedy() -> None:
    lexicon = Lexicon(Analyzer(), Vocabulary(["storm"]))
    assert lexicon.scan(pa.array([b"storm"])).terms.values.tolist() == [0]
    with pytest.raises(ConfigError, match=r"type binary.*UTF-8.*decode"):
        lexicon.scan(pa.array([b"storm", b"storm\xff"]))


def test_surfaces_nobody_asked_for_are_minus_one() -> None:
    lexicon = Lexicon(Analyzer())
    storm = lexicon.surface_id("Storm")
    scan = lexicon.scan(pa.array(["the STORM storms", "Storm"]), sequences=True)
    assert scan.surfaces is not None
    assert scan.surfaces.row(0).tolist() == [-1, storm, -1]
    late = lexicon.surface_id("THE")
    again = lexicon.scan(pa.array(["the STORM storms"]), sequences=True)
    assert again.surfaces is not None
    assert again.surfaces.row(0).tolist() == [late, storm, -1]


def test_many_prefixes_at_once_reach_spellings_seen_before() -> None:
    lexicon = Lexicon(Analyzer())
    lexicon.scan(pa.array(["storm flood"]))
    ids = lexicon.add_terms([*(f"absent{i}*" for i in range(100)), "flo*", "st*"])
    assert lexicon.n_spellings == 0  # cheaper to learn again than to compare
    assert lexicon.scan(pa.array(["storm flood"])).terms.row(0).tolist() == [ids[-1], ids[-2]]


def test_a_few_prefixes_reach_spellings_seen_before_without_forgetting_them() -> None:
    lexicon = Lexicon(Analyzer())
    lexicon.scan(pa.array(["storm flood"]))
    ids = lexicon.add_terms(["flo*", "st*"])
    assert lexicon.n_spellings == 2
    assert lexicon.scan(pa.array(["storm flood"])).terms.row(0).tolist() == [ids[1], ids[0]]


def hash_of(spelling: str) -> int:
    """The hash of the table of spellings, in plain Python."""
    code, data = 0, spelling.encode()
    for k in range(0, len(data), 8):
        code = (code ^ int.from_bytes(data[k : k + 8], "little")) * 0x9E3779B97F4A7C15 % 2**64
        code ^= code >> 32
    return code


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("collidescqrlombx", "collidescalodaek"),
        ("collidesjrkqrnjr", "collidesjrqriocd"),
        # One begins with the other: only their lengths tell them apart.
        ("collidesqwenqiozuepflycs", "collidesqwenqioz"),
        ("collideswrkxovcevdlnkbjt", "collideswrkxovce"),
    ],
)
def test_words_whose_hashes_collide_are_told_apart_by_their_bytes(one: str, other: str) -> None:
    # All that a slot of the first table shows of a word of two parts is equal: place, check and first part.
    assert (hash_of(one) ^ hash_of(other)) & 0xFFFFFFFE_00000FFF == 0
    assert one[:8] == other[:8]
    for words in ([one, other], [other, one]):
        lexicon = Lexicon(Analyzer())
        ids = [lexicon.surface_id(word) for word in words]
        for _ in ("first sight", "second"):
            scan = lexicon.scan(pa.array(words), sequences=True)
            assert scan.surfaces is not None
            assert scan.surfaces.values.tolist() == ids


def test_words_that_share_a_slot_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of a lexicon starts small, and holds many times its first size here."""
    monkeypatch.setattr(lexicon_module, "_BLOCK", 1000)
    words = [f"w{i}{'x' * (i % 25)}" for i in range(20_000)]
    lexicon = Lexicon(Analyzer(profile_named("social", stop_words=[])))
    ids = [lexicon.surface_id(word) for word in words]
    scan = lexicon.scan(pa.array(words), sequences=True)
    assert scan.surfaces is not None
    assert scan.surfaces.values.tolist() == ids


def test_bytes_that_are_no_utf8_separate_and_harm_nobody() -> None:
    garbage = [
        b"storm\xff\xfe storm",
        b"\xe9",
        b"\xc3(storm",
        b"\xf5\x80\x80\x80storm",
        b"a\xcc",
        b"\xed\xa0\x80storm",
    ]
    column = pa.array(garbage, pa.binary()).view(pa.string())
    lexicon = Lexicon(Analyzer())
    lexicon.add_terms(["storm"])
    terms = lexicon.scan(column).terms
    assert [terms.row(i).tolist() for i in range(6)] == [[0], [], [0], [0], [], [0]]


def test_a_hundred_thousand_terms_added_late_reach_words_seen_before() -> None:
    lexicon = Lexicon(Analyzer())
    words = [f"word{i}" for i in range(100_000)]
    assert len(lexicon.scan(pa.array(words)).terms.values) == 0
    ids = lexicon.add_terms(words)
    assert np.array_equal(lexicon.scan(pa.array(words)).terms.values, ids)


def test_spellings_of_one_surface_are_entries_of_their_own() -> None:
    spellings = Spellings(SOCIAL)
    data = np.frombuffer("Straße STRASSE straße Kiel KIEL".encode(), np.uint8)
    data.flags.writeable = False
    tokens, ends, cut = spellings.read(data, np.array([0, len(data)]))
    assert spellings.spelled(0, len(spellings)) == ["Straße", "strasse", "straße", "kiel"]
    assert (tokens.tolist(), ends.tolist(), cut) == ([0, 1, 2, 3, 3], [5], 0)
