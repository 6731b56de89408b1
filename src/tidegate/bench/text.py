"""Benchmark `text`: how fast the scanner turns posts into term ids, beside plain Python on the same posts."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.bench.report import Report, Scale
from tidegate.bench.stored import stored_texts
from tidegate.errors import TidegateError
from tidegate.text.analyzer import Analyzer
from tidegate.text.lexicon import Lexicon
from tidegate.text.vocabulary import Vocabulary

_POSTS: dict[Scale, int] = {"small": 200_000, "paper": 1_000_000, "max": 4_000_000}
_POST_BYTES = 200
_WORDS = 150_000
_SUBSCRIBED = 100_000
_PYTHON_POSTS = 20_000
_REPEATS = 3
_TARGET = 500_000  # posts of 200 bytes a second

# What posts are made of: the share of each shape of word, and the syllables of made-up words.
_SHAPES = [
    (0.80, "{}"),
    (0.05, "{},"),
    (0.04, "{}."),
    (0.03, "#{}"),
    (0.03, "@{}"),
    (0.02, "https://t.co/{}"),
    (0.02, "{}’s"),
    (0.01, "\N{FIRE}"),
]
_ONSETS = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "st", "tr", "w"]
_VOWELS = ["a", "e", "i", "o", "u", "ea", "ou"]

_Result = TypeVar("_Result")


def run(scale: Scale, seed: int, posts: Path | None = None) -> Report:
    """Time the scanner on one core, on generated posts or on the column `text` of a Parquet file.

    Plain Python reads some of the posts in the same run, and has to find the same terms.
    """
    analyzer = Analyzer()
    texts = _generated(_POSTS[scale], seed) if posts is None else stored_texts(posts)
    vocabulary = _subscribed(texts, analyzer)
    Lexicon(analyzer).scan(texts.slice(0, 1))  # compiles

    lexicon = Lexicon(analyzer)
    adding, _ = _timed(lambda: lexicon.add_terms(vocabulary))
    first_pass, _ = _timed(lambda: lexicon.scan(texts))
    learned, _ = _best(lambda: lexicon.scan(texts))
    # The rivals meet on the same posts: in a file, the first ones need not be as long as the others.
    some = texts.slice(0, _PYTHON_POSTS)
    as_python = some.to_pylist()
    scanned, scan = _best(lambda: lexicon.scan(some))
    plain, expected = _best(lambda: [_plain_terms(text, analyzer, vocabulary) for text in as_python])
    if any(scan.terms.row(i).tolist() != terms for i, terms in enumerate(expected)):
        raise TidegateError("the scanner and plain Python disagree on the terms of a post")

    size = _size(texts)
    source = "generated" if posts is None else posts.name
    params = {"posts": len(texts), "terms": len(vocabulary), "seed": seed, "source": source}
    report = Report("text", scale, params)
    report.section(
        f"Posts of {size / len(texts):.0f} bytes to ids of {len(vocabulary):,} subscribed terms, one core",
        [
            _row("scanner", texts, learned, target=_TARGET if posts is None else None),
            _row("scanner, first pass (learns)", texts, first_pass),
            _row("scanner, some posts", some, scanned),
            _row("plain Python, the same posts", some, plain),
        ],
        note=f"the same terms in {len(some):,} posts, {len(scan.terms.values) / len(some):.1f} a post",
    )
    report.summary = {
        "posts_per_s": len(texts) / learned,
        "mb_per_s": size / learned / 1e6,
        "python_posts_per_s": len(some) / plain,
        "speedup": plain / scanned,
        "first_pass_posts_per_s": len(texts) / first_pass,
        "terms_added_per_s": len(vocabulary) / adding,
    }
    return report


def _row(reader: str, texts: pa.Array, seconds: float, target: int | None = None) -> dict[str, object]:
    mb_per_s = _size(texts) / seconds / 1e6
    return {"reader": reader, "posts/s": len(texts) / seconds, "MB/s": mb_per_s, "target, posts/s": target}


def _timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _best(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Time the work some times, and return the shortest time."""
    return min((_timed(work) for _ in range(_REPEATS)), key=lambda timed: timed[0])


def _size(texts: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(texts)).as_py() or 0)


def _plain_terms(text: str | None, analyzer: Analyzer, vocabulary: Vocabulary) -> list[int]:
    """What the scanner does, written plainly: the distinct ids of a post's terms by first occurrence."""
    found: dict[int, None] = {}
    for token in analyzer.tokens(text or ""):
        term = analyzer.term(token.surface)
        if term is not None and (term_id := vocabulary.id(term)) >= 0:
            found[term_id] = None
    return list(found)


def _subscribed(texts: pa.Array, analyzer: Analyzer) -> Vocabulary:
    """Return the commonest terms of the posts, as far as the first half million of them have so many."""
    counts: dict[str, int] = {}
    for text in texts.slice(0, 500_000).to_pylist():
        for word in (text or "").split():
            counts[word] = counts.get(word, 0) + 1
    by_term: dict[str, int] = {}
    for word, count in counts.items():
        for token in analyzer.tokens(word):
            term = analyzer.term(token.surface)
            if term is not None:
                by_term[term] = by_term.get(term, 0) + count
    ranked = Vocabulary.by_frequency(by_term)
    return Vocabulary(ranked.term(i) for i in range(min(_SUBSCRIBED, len(ranked))))


def _generated(count: int, seed: int) -> pa.Array:
    """Return posts of 200 bytes: made-up words by Zipf's law, with tags, names, links, accents and commas."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    chances = 1 / (np.arange(_WORDS) + 2.7)
    drawn = rng.choice(_WORDS, size=(count, _POST_BYTES // 4), p=chances / chances.sum())
    shapes = rng.choice(len(_SHAPES), size=drawn.shape, p=[share for share, _ in _SHAPES])
    posts = [
        " ".join([_SHAPES[shape][1].format(words[word]) for word, shape in zip(row, row_shapes, strict=True)])
        for row, row_shapes in zip(drawn.tolist(), shapes.tolist(), strict=True)
    ]
    return pa.array([post.encode()[:_POST_BYTES].decode(errors="ignore") for post in posts], pa.large_string())


def _words(rng: np.random.Generator) -> list[str]:
    """Distinct made-up words, the commonest short; a tenth begin with a capital, a few have an accent."""
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS] + ["é"]
    draws = rng.integers(len(syllables), size=(2 * _WORDS, 3)).tolist()
    endings = rng.choice(["", "", "", "n", "s", "ing", "ed"], size=2 * _WORDS).tolist()
    capitals = (rng.random(2 * _WORDS) < 0.1).tolist()
    words: dict[str, None] = {}
    for draw, ending, capital in zip(draws, endings, capitals, strict=True):
        length = 1 if len(words) < 100 else 2 if len(words) < 5000 else 3
        word = "".join(syllables[i] for i in draw[:length]) + ending
        words[word.capitalize() if capital else word] = None
    return list(words)[:_WORDS]
