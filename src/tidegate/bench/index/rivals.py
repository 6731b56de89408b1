"""Rivals in the same run: perq and a DuckDB join on the rarest word. Same rules, same posts, same matches.

All three go from text to subscriptions, on one core. The words are plain and their own stems, so that three
tokenisers agree on them.
"""

import random
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from tidegate.bench.index.measure import require_same, timed
from tidegate.bench.index.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.bench.stored import stored_texts
from tidegate.csr import Csr, from_rows, offsets_of
from tidegate.errors import ConfigError
from tidegate.index.matcher import Matcher
from tidegate.text.analyzer import Analyzer
from tidegate.workload.subscriptions import items
from tidegate.workload.terms import real
from tidegate.workload.words import invented_words

Rule = list[str]
"""Words a post must have, all of them."""

_GENERATED_WORDS: Final = 100_000
_RULE_LENGTHS: Final = (2, 3)
_ROUNDS: Final = 3
_WORD: Final = re.compile("[a-z]+")


class Engine(ABC):
    """Matches posts with rules that it is given once, numbered from 0."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, rules: list[Rule]) -> None:
        """Take the rules; timed as building."""

    @abstractmethod
    def read(self, texts: list[str]) -> Any:
        """Return the posts in the form in which the engine likes to be given them; not timed."""

    @abstractmethod
    def match(self, posts: Any) -> Any:
        """Return all matches in the engine's own form; timed."""

    @abstractmethod
    def rules_of(self, matches: Any) -> Csr:
        """Return the rules that each post matches; not timed."""


class Tidegate(Engine):
    """Ours, as an application uses it."""

    name: ClassVar[str] = "tidegate"

    def __init__(self, rules: list[Rule]) -> None:
        """Subscribe to every rule, and fold all of them into the main index."""
        self._matcher = Matcher()
        queries = [" ".join(rule) for rule in rules]
        refused = self._matcher.subscribe_many([str(i) for i in range(len(rules))], queries)
        if refused:
            raise refused[0].error
        self._matcher.merge()

    def read(self, texts: list[str]) -> pa.Table:
        """One column of an Arrow table."""
        return pa.table({"text": texts})

    def match(self, posts: pa.Table) -> Csr:
        """Match, and fan out to subscriptions, which are numbered in the order of subscribing."""
        return self._matcher.match(posts).subscriptions

    def rules_of(self, matches: Csr) -> Csr:
        """As they are."""
        return matches


class Perq(Engine):
    """The Python package perq, its index in memory."""

    name: ClassVar[str] = "perq"

    def __init__(self, rules: list[Rule]) -> None:
        """Index the rules, each word a clause of its own."""
        import perq  # noqa: PLC0415 - a rival is needed by this benchmark alone

        store = perq.MemoryStore()
        perq.index((perq.Query(i, [(word,) for word in rule]) for i, rule in enumerate(rules)), store)
        self._matcher = perq.QueryMatcher(store)
        self._document = perq.Document.from_text

    def read(self, texts: list[str]) -> list[str]:
        """Strings."""
        return texts

    def match(self, posts: list[str]) -> list[list[int]]:
        """List the rules of every post."""
        return [list(self._matcher.matches(self._document(text))) for text in posts]

    def rules_of(self, matches: list[list[int]]) -> Csr:
        """Its lists as rows."""
        return from_rows(matches)


class DuckDbJoin(Engine):
    """A rule is found by its rarest word; two further joins ask for its other words.

    Each join is materialised: left to itself the planner joins the words of posts with each other first, which
    takes a hundred times as long.
    """

    name: ClassVar[str] = "DuckDB join"

    _SQL: ClassVar[str] = """
        WITH words AS MATERIALIZED (
            SELECT post, unnest(list_distinct(string_split(text, ' '))) AS word FROM posts
        ),
        with_rarest AS MATERIALIZED (
            SELECT post, rule, second, third FROM words JOIN rules ON word = rarest
        ),
        with_second AS MATERIALIZED (
            SELECT post, rule, third FROM with_rarest JOIN words USING (post) WHERE word = second
        )
        SELECT post, rule FROM with_second JOIN words USING (post) WHERE word = third
    """

    def __init__(self, rules: list[Rule]) -> None:
        """Keep the rules as a table, rarest word first; the third word of two is the second again."""
        import duckdb  # noqa: PLC0415 - a rival is needed by this benchmark alone

        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")
        uses = Counter(word for rule in rules for word in rule)
        ordered = [sorted(rule, key=uses.__getitem__) for rule in rules]
        columns = {
            name: [rule[min(i, len(rule) - 1)] for rule in ordered]
            for i, name in enumerate(("rarest", "second", "third"))
        }
        self._connection.register("given", pa.table({"rule": np.arange(len(rules), dtype=np.int32), **columns}))
        self._connection.execute("CREATE TABLE rules AS SELECT * FROM given")

    def read(self, texts: list[str]) -> pa.Table:
        """A numbered column of texts."""
        return pa.table({"post": np.arange(len(texts)), "text": texts})

    def match(self, posts: pa.Table) -> tuple[int, dict[str, Any]]:
        """Join; the columns of the result stay columns."""
        self._connection.register("posts", posts)
        return len(posts), self._connection.execute(self._SQL).fetchnumpy()

    def rules_of(self, matches: tuple[int, dict[str, Any]]) -> Csr:
        """Its pairs grouped by post."""
        n_posts, pairs = matches
        order = np.argsort(pairs["post"], kind="stable")
        return Csr(offsets_of(np.bincount(pairs["post"], minlength=n_posts)), pairs["rule"][order])


def report_rivals(report: Report, sizes: Sizes, seed: int, posts: Path | None = None) -> None:
    """Add the times of the engines on the texts of a Parquet file, or on generated ones."""
    texts = _generated(sizes.rival_posts, seed) if posts is None else _stored(posts, sizes.rules)
    rules = draw_rules(texts, sizes.rules, seed)
    given = texts[: sizes.rival_posts]
    rows: dict[str, Row] = {}
    found: dict[str, Csr] = {}
    for engine_class, some in ((Tidegate, given), (DuckDbJoin, given), (Perq, given[: sizes.perq_posts])):
        name = engine_class.name
        rows[name], found[name] = _measured(engine_class, rules, some)
        require_same(name, found[name], Tidegate.name, found[Tidegate.name].slice(0, len(some)))
    source = "generated posts" if posts is None else f"posts of {posts.name}"
    report.section(
        f"Rivals: {len(rules):,} rules of two or three words, {source}, text to subscriptions, one core",
        list(rows.values()),
        note=(
            f"the same matches; {sum(map(len, given)) / len(given):.0f} bytes a post; best of {_ROUNDS} passes "
            "over the same posts, in the first of which ours learns their words"
        ),
    )
    for key, rival in (("perq_speedup", Perq), ("duckdb_speedup", DuckDbJoin)):
        report.summary[key] = rows[Tidegate.name]["posts/s"] / rows[rival.name]["posts/s"]


def draw_rules(texts: list[str], count: int, seed: int) -> list[Rule]:
    """Draw rules of two or three words, each rule from one post that has so many.

    >>> sorted(draw_rules(["river otter", "otter"], 1, seed=1)[0])
    ['otter', 'river']
    """
    generator = random.Random(seed)
    posts = [words for text in texts if len(words := sorted(set(text.split()))) >= min(_RULE_LENGTHS)]
    if not posts:
        raise ConfigError("no post has two plain words: rules cannot be drawn from these posts")
    return [
        generator.sample(words, min(generator.choice(_RULE_LENGTHS), len(words)))
        for words in generator.choices(posts, k=count)
    ]


def _measured(engine_class: type[Engine], rules: list[Rule], texts: list[str]) -> tuple[Row, Csr]:
    build_seconds, engine = timed(lambda: engine_class(rules))
    engine.match(engine.read(texts[:1]))  # compiles
    posts = engine.read(texts)
    rounds = [timed(lambda: engine.match(posts)) for _ in range(_ROUNDS)]
    seconds, matches = min(rounds, key=lambda one: one[0])
    found = engine.rules_of(matches)
    row = {
        "engine": engine.name,
        "posts": len(texts),
        "posts/s": len(texts) / seconds,
        "first pass, posts/s": len(texts) / rounds[0][0],
        "µs a post": seconds / len(texts) * 1e6,
        "matches a post": len(found.values) / len(texts),
        "build, s": build_seconds,
    }
    return row, found


def _generated(count: int, seed: int) -> list[str]:
    """Posts of 15 to 35 invented words, drawn by the law of the paper's items."""
    analyzer = Analyzer()
    words = _own_stems(invented_words(2 * _GENERATED_WORDS).to_pylist(), analyzer)
    posts = items(count, real(min(_GENERATED_WORDS, len(words))), seed)
    return [" ".join([words[term] for term in posts.row(i)]) for i in range(posts.rows)]


def _stored(path: Path, most: int) -> list[str]:
    """The plain words of stored posts, in order."""
    texts = [text.lower() for text in stored_texts(path).slice(0, most).to_pylist() if text]
    plain = set(_own_stems(sorted({word for text in texts for word in _WORD.findall(text)}), Analyzer()))
    return [" ".join([word for word in _WORD.findall(text) if word in plain]) for text in texts]


def _own_stems(words: Iterable[str], analyzer: Analyzer) -> list[str]:
    """The words that are terms as they are: neither stop words nor changed by stemming."""
    listed = list(words)
    return [word for word, term in zip(listed, analyzer.terms(listed), strict=True) if word == term]
