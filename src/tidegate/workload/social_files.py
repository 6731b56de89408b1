"""A workload as a folder of Parquet: pairs grouped by subscriber, topics with their events, and traffic by the hour.

Pairs are in many files, written two at a time: there are as many in memory as are being written.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.csr import Csr, Int32
from tidegate.errors import ConfigError, StoreError
from tidegate.workload.social import Social
from tidegate.workload.traffic import publications, subscriptions

PAIRS, TOPICS, PUBLICATIONS, SUBSCRIPTIONS, ABOUT = (
    "pairs",
    "topics.parquet",
    "publications.parquet",
    "subscriptions.parquet",
    "workload.json",
)
"""Names in the folder; pairs are a folder themselves, and traffic is only there where it is known."""
_PAIR: Final = pa.schema([pa.field("subscriber", pa.int32(), nullable=False), pa.field("topic", pa.int32(), False)])
_BLOCKS: Final = 8
"""Of a file; each is a row group, so that no subscriber is in two of them."""

Done = Callable[[int, int], None]
"""Called with how many pairs are written, and of how many."""


def write_workload(social: Social, into: Path, *, threads: int = 2, done: Done | None = None) -> None:
    """Draw the pairs and write everything into a folder, which has to be new or empty.

    What is written depends on the workload alone, not on how many threads write.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise ConfigError(f"{into} is not empty: name a new folder, or remove what is there")
    try:
        (into / PAIRS).mkdir(parents=True)
        _write_pairs(social, into / PAIRS, threads, done)
        _write_rest(social, into)
    except OSError as error:
        raise StoreError(f"{into}: the workload cannot be written: {error}") from error


def _write_pairs(social: Social, folder: Path, threads: int, done: Done | None) -> None:
    own = local()
    blocks = len(social.blocks) - 1
    social.block(0)  # compiles, and tabulates what all threads draw from
    written = 0

    def write(first: int) -> int:
        if not hasattr(own, "seen"):
            own.seen = social.unseen()
        path = folder / f"part-{first // _BLOCKS:05d}.parquet"
        with pq.ParquetWriter(
            path,
            _PAIR,
            compression="zstd",
            use_dictionary=False,
            column_encoding={"subscriber": "DELTA_BINARY_PACKED", "topic": "PLAIN"},
        ) as file:
            rows = [
                _write_block(social, number, own.seen, file) for number in range(first, min(first + _BLOCKS, blocks))
            ]
        return sum(rows)

    with ThreadPoolExecutor(threads, "workload") as pool:
        for rows in pool.map(write, range(0, blocks, _BLOCKS)):
            written += rows
            if done is not None:
                done(written, social.numbers.pairs)


def _write_block(social: Social, number: int, seen: Int32, file: pq.ParquetWriter) -> int:
    pairs: Csr = social.block(number, seen)
    first = int(social.blocks[number])
    subscribers = np.repeat(np.arange(first, first + pairs.rows, dtype=np.int32), np.diff(pairs.offsets))
    table = pa.table([subscribers, pairs.values], schema=_PAIR)
    file.write_table(table, row_group_size=len(subscribers))
    return len(subscribers)


def _write_rest(social: Social, into: Path) -> None:
    numbers = social.numbers
    topics = {"topic": np.arange(numbers.topics, dtype=np.int32), "events": social.events}
    pq.write_table(pa.table(topics), into / TOPICS, compression="zstd", row_group_size=1 << 20)
    if social.kind.has_traffic:
        total = int(social.events.sum())
        pq.write_table(publications(total, social.seed), into / PUBLICATIONS)
        pq.write_table(subscriptions(numbers.pairs, social.seed), into / SUBSCRIPTIONS)
    about = {"like": social.kind.name, "seed": social.seed, **numbers._asdict()}
    (into / ABOUT).write_text(json.dumps(about, indent=1) + "\n")
