"""Rivals in the same run: Spark SQL and DuckDB, joins on the rarest word. Same rules, same posts, same matches."""

from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.bench.index.measure import timed
from tidegate.bench.pipeline.corpus import Corpus
from tidegate.bench.pipeline.subscribed import Subscribed
from tidegate.bench.pipeline.throughput import Throughput
from tidegate.bench.report import Report, Row
from tidegate.errors import TidegateError
from tidegate.spark.trials.batch import matched_pairs
from tidegate.spark.trials.rival import SqlRival

_POSTS: Final = """
    WITH posts AS MATERIALIZED (
        SELECT id, list_distinct(string_split(text, ' ')) AS has FROM read_parquet(?)
    )
"""
_TARGET: Final = 100.0
_CORES: Final = 2


class DuckDbRival:
    """The twin of the Spark SQL, on as many cores."""

    _SQL: ClassVar[str] = """
        SELECT id, subscription
        FROM (SELECT id, has, unnest(has) AS word FROM posts) JOIN rules ON word = rarest
        WHERE list_has_all(has, words)
    """

    def __init__(self, rules: Path, posts: Path) -> None:
        """Read rules (subscription, rarest, words) into memory; posts (id, text) are of words with a space between."""
        import duckdb  # noqa: PLC0415 - a rival is needed by this benchmark alone

        self._posts = str(posts / "*.parquet")
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {_CORES}")
        self._connection.execute("CREATE TABLE rules AS SELECT * FROM read_parquet(?)", [str(rules)])

    def seconds(self) -> float:
        """The time of matching; the rows come as Arrow columns."""
        return timed(self.pairs)[0]

    def pairs(self) -> pa.Table:
        """All matches, as rows of post and subscription."""
        return self._connection.sql(f"{_POSTS} {self._SQL}", params=[self._posts]).to_arrow_table()

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()


class DuckDbStepwise(DuckDbRival):
    """What pays in DuckDB: another join asks for the second rarest word, so that few lists are left to compare.

    Each step is materialised: left to itself the planner joins the words of posts with each other first.
    """

    _SQL: ClassVar[str] = """
        , words_of AS MATERIALIZED (SELECT id, unnest(has) AS word FROM posts),
        with_rarest AS MATERIALIZED (SELECT id, subscription, words FROM words_of JOIN rules ON word = rarest),
        with_second AS MATERIALIZED (
            SELECT id, subscription, words FROM with_rarest JOIN words_of USING (id) WHERE word = words[2]
        )
        SELECT id, subscription FROM with_second JOIN posts USING (id) WHERE list_has_all(has, words)
    """


def report_rivals(
    report: Report,
    spark: Any,
    folder: Path,
    corpus: Corpus,
    subscribed: Subscribed,
    paces: Throughput,
    n_posts: int,
    rounds: int,
) -> None:
    """Add the rivals' pace on the first posts, whose matches must be Tidegate's."""
    posts, rules = corpus.write_plain(folder / "plain", n_posts), folder / "rules.parquet"
    # Several row groups, so that both cores read.
    pq.write_table(subscribed.searches.rules(), rules, row_group_size=max(len(subscribed) // 8, 1_000))
    written = corpus.write(folder / "as-written", 0, n_posts, files=2)
    expected = matched_pairs(spark, written, subscribed.store, subscribed.at)
    ours = paces.replicate.best
    rows: list[Row] = [_row("tidegate, replicate", paces.replicate.posts, ours, ours, len(expected) / n_posts)]
    for key, name, rival in (
        ("speedup_over_spark_sql", "Spark SQL", SqlRival(spark, rules, posts)),
        ("speedup_over_duckdb", "DuckDB likewise", DuckDbRival(rules, posts)),
        ("speedup_over_duckdb_word_by_word", "DuckDB, word by word", DuckDbStepwise(rules, posts)),
    ):
        found = rival.pairs()  # warms up, too
        require_same_pairs(name, found, expected)
        pace = n_posts / min(rival.seconds() for _ in range(rounds))
        rival.close()
        rows.append(_row(name, n_posts, pace, ours, len(found) / n_posts))
        report.summary[key] = ours / pace
    report.section(
        f"Rivals: {len(subscribed):,} subscriptions, join on the rarest word, then compare the others",
        rows,
        note=(
            f"rivals match the first {n_posts:,} posts only, and are given their plain words, where Tidegate reads the "
            f"text as written; the same matches there; best of {rounds}; target: {_TARGET:.0f} ×"
        ),
    )


def require_same_pairs(name: str, found: pa.Table, expected: pa.Table) -> None:
    """Raise unless both hold the same matches, each once."""
    if not np.array_equal(_sorted_pairs(found), _sorted_pairs(expected)):
        raise TidegateError(
            f"wrong answers: {name} finds {len(found):,} matches, tidegate {len(expected):,}, or others"
        )


def _sorted_pairs(pairs: pa.Table) -> Any:
    """Every match as one integer, sorted."""
    posts = pairs.column("id").cast(pa.int64()).to_numpy()
    return np.sort((posts << 32) | pc.cast(pairs.column("subscription"), pa.int64()).to_numpy())


def _row(name: str, posts: int, pace: float, ours: float, matches: float) -> Row:
    return {
        "engine": name,
        "posts": posts,
        "posts/s": pace,
        "µs a post": 1e6 / pace,
        "tidegate is × as fast": ours / pace,
        "matches a post": matches,
    }
