"""Pairs on disk, batch by batch, are chosen as in memory, and every one is placed once."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.capacity.plain import Case, drawn_case
from tests.capacity.test_provisioning import terms
from tidegate.capacity import pair_files
from tidegate.capacity.fewest import fewest_pairs
from tidegate.capacity.least import least_bill
from tidegate.capacity.packing import Parts, followers_of, packed
from tidegate.capacity.pair_files import PairFiles
from tidegate.capacity.pairs import greedy_pairs
from tidegate.capacity.streamed import Stage, chosen_pairs, placed_pairs
from tidegate.errors import ConfigError


def written(folder: Path, events: object, who: object, what: object, files: int = 1) -> PairFiles:
    pq.write_table(pa.table({"topic": np.arange(len(events)), "events": events}), folder / "topics.parquet")  # type: ignore[arg-type]
    (folder / "pairs").mkdir()
    table = pa.table({"subscriber": pa.array(who, pa.int32()), "topic": pa.array(what, pa.int32())})
    for i in range(files):
        first, last = len(table) * i // files, len(table) * (i + 1) // files
        pq.write_table(table.slice(first, last - first), folder / "pairs" / f"part-{i}.parquet")
    return PairFiles(folder)


def of_case(folder: Path, case: Case, files: int) -> PairFiles:
    pairs = [(who, topic) for who, topics in enumerate(case.follows) for topic in sorted(topics)]
    return written(folder, case.events, [who for who, _ in pairs], [what for _, what in pairs], files)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_chosen_does_not_depend_on_batches(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    case = drawn_case(random, 12, 40, 30, priced=False)
    monkeypatch.setattr(pair_files, "_BATCH", int(random.integers(1, 9)))
    files = of_case(tmp_path, case, int(random.integers(1, 4)))
    demand = case.demand
    for least, choose in ((False, greedy_pairs), (True, fewest_pairs)):
        found = chosen_pairs(files, case.threshold, least=least)
        counts = followers_of(choose(demand, case.threshold), demand.n_topics)
        assert found.counts.tolist() == counts.tolist()
        assert (found.subscribers, found.pairs) == (demand.n_subscribers, demand.pairs)
        assert found.least_events == least_bill(demand, case.threshold, terms(60)).events
    read, mended = files.demand()
    assert read.topics.values.tolist() == demand.topics.values.tolist()
    assert str(mended) == str(found.mended) == ""


@pytest.mark.parametrize("seed", range(5))
def test_every_chosen_pair_is_placed_once_where_its_topic_has_a_part(seed: int, tmp_path: Path) -> None:
    case = drawn_case(np.random.default_rng(seed), 12, 40, 30, priced=False)
    files = of_case(tmp_path, case, 2)
    found = chosen_pairs(files, case.threshold)
    packing = packed(found.events, found.counts, terms(60))
    placed = list(placed_pairs(Stage(files, case.threshold), packing.parts, len(found.events)))
    machine, topic, who = (np.concatenate(column).tolist() for column in zip(*placed, strict=True))
    wanted = Counter(
        dict(zip(zip(*(p.tolist() for p in packing.parts[:2]), strict=True), packing.parts.pairs, strict=True))
    )
    assert Counter(zip(machine, topic, strict=True)) == wanted
    got = Counter[int]()
    for t, v in set(zip(topic, who, strict=True)):
        got[v] += case.events[t]
    assert len(set(zip(topic, who, strict=True))) == len(who)
    for v, topics in enumerate(case.follows):
        assert got[v] >= min(case.threshold, sum(case.events[t] for t in topics))


def test_pairs_stay_where_they_are_in_whatever_order_parts_were_packed(tmp_path: Path) -> None:
    files = written(tmp_path, [5], [0, 1, 2], [0, 0, 0])
    machines, topics, pairs = np.array([0, 1], np.int32), np.array([0, 0], np.int32), np.array([1, 2], np.int64)
    for step in (1, -1):
        placed = placed_pairs(Stage(files, 5), Parts(machines[::step], topics[::step], pairs[::step]), 1)
        assert np.concatenate([where for where, _, _ in placed]).tolist() == [0, 1, 1]


def test_what_cannot_count_is_left_out_and_counted(tmp_path: Path) -> None:
    found = chosen_pairs(written(tmp_path, [5, 0, 7], [0, 0, 1, 1, 1, 3], [0, 1, 2, 2, 0, 1]), 6)
    assert str(found.mended) == "1 repeated pairs, 1 topics without events (2 pairs), 1 subscribers without topics"
    assert (found.counts.tolist(), found.subscribers, found.pairs) == ([2, 0, 1], 2, 3)


def test_a_subscriber_that_comes_back_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="subscriber 7 comes back after others: sort the pairs by subscriber"):
        chosen_pairs(written(tmp_path, [5, 5], [7, 3, 7], [0, 0, 1], files=3), 6)


@pytest.mark.parametrize(
    ("events", "who", "what", "complaint"),
    [
        ([5, -1], [0], [0], "events -1 is below 0"),
        ([5, 2**32], [0], [0], "fewer than"),
        ([5.5], [0], [0], "events is double: whole numbers"),
        ([5], [0], [1], "topic 1 is followed, but has no rate"),
        ([5], [0], [None], "1 rows have no topic"),
        ([5], [-2], [0], "subscriber -2 is below 0"),
    ],
)
def test_files_that_are_no_demand_are_refused(
    events: object, who: object, what: object, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        chosen_pairs(written(tmp_path, events, who, what), 6)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"topics\.parquet cannot be read"):
        chosen_pairs(PairFiles(tmp_path), 6)
    pq.write_table(pa.table({"topic": [0], "rate": [1]}), tmp_path / "topics.parquet")
    with pytest.raises(ConfigError, match="has no column events: it has topic, rate"):
        chosen_pairs(PairFiles(tmp_path), 6)
