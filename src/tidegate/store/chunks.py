"""Chunks of an import: records by the thousand, checked and made rows, in other processes when there are many."""

import gc
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from tidegate.errors import ConfigError, StoreError
from tidegate.rank.ranking import checked_ranking
from tidegate.rank.score import Scorable
from tidegate.store.checking import query_errors
from tidegate.store.fields import row_of
from tidegate.store.records import Broken, Record
from tidegate.store.schema import SUBSCRIPTION
from tidegate.text.analyzer import Analyzer

_REMEMBERED = 200_000
_GARBAGE = 500_000

_Asked: TypeAlias = tuple[str, str | None]
"""A query and its region."""


class Chunk(NamedTuple):
    """Records that follow each other in a file."""

    file: int
    """Its number among the files of the import."""
    position: int
    """How far the file has been read, in bytes."""
    records: list[Record]


class Reject(NamedTuple):
    """A record that does not count, and why."""

    line: int
    reason: str
    row: Any


class Checked(NamedTuple):
    """What became of the records of a chunk: rows of the store with their lines, and the others."""

    rows: pa.Table
    lines: list[int]
    refused: list[Reject]


def all_checked(
    chunks: Iterator[Chunk], processes: int, n_first: int, known: Scorable
) -> Iterator[tuple[Chunk, Checked]]:
    """Check chunks, in their order: `n_first` records here, as processes take a second to start, the rest there.

    `known` is what scores can go by.
    """
    n_here = 0
    for chunk in chunks:
        yield chunk, _check(chunk.records, known)
        n_here += len(chunk.records)
        if n_here >= n_first and processes > 1:
            break
    # Not by forking: Arrow and Delta have threads. Records by the thousand are all alive: looking for garbage among
    # them as often as Python does would take as long as the checking.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), gc.set_threshold, (_GARBAGE,))
    waiting: deque[tuple[Chunk, Future[Checked]]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk._replace(records=[]), pool.submit(_check, chunk.records, known)))
            if len(waiting) > 2 * processes:
                done, future = waiting.popleft()
                yield done, future.result()
        yield from ((chunk, future.result()) for chunk, future in waiting)
    except BrokenProcessPool as error:
        raise StoreError(
            "the processes that check queries have ended: in a program of your own, import below"
            " `if __name__ == '__main__':`, or with processes=1"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _check(records: list[Record], known: Scorable) -> Checked:
    """Return the rows of the good records, and why the others are refused."""
    refused: list[Reject] = []
    read: list[tuple[Record, dict[str, Any]]] = []
    for line, record in records:
        if isinstance(record, Broken):
            refused.append(Reject(line, record.reason, record.beginning))
            continue
        try:
            row = row_of(record)
            if "ranking" in row:
                checked_ranking(row["ranking"], known)
            read.append(((line, record), row))
        except ConfigError as error:
            refused.append(Reject(line, str(error), record))
    asked: list[_Asked] = [(row["query"], row.get("region")) for _, row in read]
    wrong = _problems(set(asked))
    refused += [
        Reject(line, wrong[pair], record)
        for ((line, record), _), pair in zip(read, asked, strict=True)
        if pair in wrong
    ]
    good = [(line, row) for ((line, _), row), pair in zip(read, asked, strict=True) if pair not in wrong]
    rows = pa.Table.from_pylist([row for _, row in good], schema=SUBSCRIPTION)
    return Checked(rows, [line for line, _ in good], sorted(refused, key=lambda reject: reject.line))


def _problems(asked: set[_Asked]) -> dict[_Asked, str]:
    """Return what is wrong with those of the queries and regions that cannot be accepted."""
    good = _good()
    new = list(asked - good)
    errors = query_errors([query for query, _ in new], [region for _, region in new], _analyzer())
    wrong = {new[i]: str(error) for i, error in errors.items()}
    if len(good) > _REMEMBERED:
        good.clear()
    good.update(pair for pair in new if pair not in wrong)
    return wrong


@cache
def _good() -> set[_Asked]:
    """Return what this process has accepted lately: popular queries are in every chunk."""
    return set()


@cache
def _analyzer() -> Analyzer:
    """One for each process, since the words it has met make it fast."""
    return Analyzer()
