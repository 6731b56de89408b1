"""Bulk import and export: everything good arrives, everything else is listed with its line, and nothing stops."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.errors import ConfigError, StoreError
from tidegate.store import importing, records
from tidegate.store.importing import import_subscriptions
from tidegate.store.store import Store
from tidegate.text.analyzer import Analyzer

NAMES = ("plain.parquet", "plain.csv", "plain.jsonl", "plain.ndjson", "packed.csv.gz", "packed.json.gz")
ANALYZER = Analyzer()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as a user would, in the format of the name."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if ".csv" in path.name:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def rejects(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rejected_lines(path: Path) -> list[int]:
    return [entry["line"] for entry in rejects(path.with_name(path.name + ".rejects.jsonl"))]


def ids(store: Store) -> list[str]:
    return list(store.subscriptions().column("id").to_pylist())


def queries(store: Store) -> dict[str, str]:
    rows = store.subscriptions()
    return dict(zip(rows.column("id").to_pylist(), rows.column("query").to_pylist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_format_brings_the_same_subscriptions(store: Store, tmp_path: Path, name: str) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "subscriber": "ana", "query": "storm OR flood", "region": "in:(-10,36,4,44)"},
        {"id": "b", "subscriber": "bén", "query": 'rain "flood warning"', "region": None},
    ]
    done = import_subscriptions(store, write(tmp_path / name, rows))
    assert (done.accepted, done.refused, done.superseded, done.version) == (2, 0, 0, 1)
    assert done.rejects == ()
    assert store.subscriptions().select(["id", "subscriber", "query", "region"]).to_pylist() == rows


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_accepted_is_listed_with_its_line_and_the_rest_accepted(
    store: Store, tmp_path: Path, name: str
) -> None:
    good = {"id": "a", "subscriber": "ana", "query": "storm", "expires": "2030-01-01T00:00:00Z"}
    path = write(
        tmp_path / name,
        [
            good,
            {**good, "id": "b", "query": "(storm"},
            {**good, "id": "c", "subscriber": None},
            {**good, "id": "d", "query": " "},
            {**good, "id": "e", "expires": "2030-13-01T00:00:00Z"},
            {**good, "id": "f", "expires": "2030-01-01"},
            {**good, "id": "g"},
        ],
    )
    done = import_subscriptions(store, path)
    assert ids(store) == ["a", "g"]
    assert (done.accepted, done.refused) == (2, 5)
    listed = rejects(done.rejects[0])
    first = 3 if ".csv" in name else 2
    assert [entry["line"] for entry in listed] == list(range(first, first + 5))
    assert [entry["row"]["id"] for entry in listed] == list("bcdef")
    assert {entry["file"] for entry in listed} == {str(path)}
    for entry, reason in zip(
        listed,
        (
            "a closing parenthesis is missing, at character 1 of '(storm'",
            "subscriber is missing",
            "query is missing",
            "expires is 2030-13-01T00:00:00Z: give a time with its zone",
            "expires is 2030-01-01: give a time with its zone",
        ),
        strict=True,
    ):
        assert reason in entry["reason"]


def test_a_line_that_is_no_object_of_json_is_set_aside(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    good = b'{"subscriber": "ana", "query": "storm"}'
    bad = [
        b"storm",
        b'{"subscriber": "ana", "query": "storm"',
        b'["ana", "storm"]',
        b"null",
        b'{"subscriber": "ana", "query": "\xff\xfe"}',
        b'{"subscriber": "ana", "query": "\\ud800"}',
        b"[" * 100_000,
        b'{"subscriber": "ana", "query": 1.5}',
        b'{"subscriber": true, "query": "storm"}',
        b'{"subscriber": "ana", "query": "storm", "expiry": "2030-01-01"}',
        b'{"subscriber": "ana", "query": "storm", "tags": {"a": 1}}',
        b'{"subscriber": "ana", "query": "storm", "tags": ["a", null]}',
        b'{"subscriber": "ana", "query": "storm", "ranking": "by time"}',
        b'{"subscriber": "ana", "query": "storm", "region": [1, 2, 3]}',
        b'{"subscriber": "ana", "query": "storm", "region": ["west", 2, 3, 4]}',
        b'{"subscriber": "ana", "query": "storm", "region": [0, 100, 10, 110]}',
        b'{"subscriber": "ana", "query": "storm", "created": "0001-01-01T00:00:00+14:00"}',
        b'{"subscriber": "ana", "query": "storm", "created": 17}',
        b"\x00\x01\x02",
    ]
    path.write_bytes(b"\n".join([good, b"", *bad, b"  \r", good]))
    done = import_subscriptions(store, path)
    assert (done.accepted, done.refused) == (2, len(bad))
    assert rejected_lines(path) == list(range(3, 3 + len(bad)))


def test_a_record_of_csv_is_named_by_the_line_it_begins_on(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "spanning.csv"
    path.write_bytes(
        b"\xef\xbb\xbfid,subscriber,query\r\n"
        b'a,ana,"storm\r\n\r\nflood"\r\n'
        b'b,"ana ""the"" second","(storm\r\nflood"\r\n'
        b"\r\n"
        b"c,ana,storm\xff\r\n"
        b"d,ana\r\n"
        b"e,ana,storm,flood\r\n"
        b"f,ana,rain"
    )
    done = import_subscriptions(store, path)
    assert queries(store) == {"a": "storm\r\n\r\nflood", "f": "rain"}
    assert done.refused == 4
    assert rejected_lines(path) == [5, 8, 9, 10]
    reasons = [entry["reason"] for entry in rejects(done.rejects[0])]
    assert "in UTF-8" in reasons[1]
    assert reasons[2:] == ["2 fields, where the header has 3", "4 fields, where the header has 3"]


@pytest.mark.parametrize("lines_behind", [1, 30, 300])
def test_a_quote_that_is_not_closed_takes_no_other_line_along(store: Store, tmp_path: Path, lines_behind: int) -> None:
    path = tmp_path / "quote.csv"
    behind = [f"x{i},ben,rain" for i in range(lines_behind)]
    path.write_text("\n".join(["id,subscriber,query", 'a,ana,"storm', *behind, 'b,eve,"hail, snow"']))
    done = import_subscriptions(store, path)
    assert (done.accepted, done.refused) == (lines_behind + 1, 1)
    assert rejected_lines(path) == [2]
    assert "close every quote" in rejects(done.rejects[0])[0]["reason"]


def test_rows_of_parquet_that_no_python_can_hold_are_set_aside(store: Store, tmp_path: Path) -> None:
    torn = pa.array([b"storm", b"st\xffrm", b"rain", b"hail"]).view(pa.binary()).cast(pa.string(), safe=False)
    times = pa.array([0, 0, 2**62, 0], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"id": list("abcd"), "subscriber": ["ana"] * 4, "query": torn, "created": times}), path)
    done = import_subscriptions(store, path)
    assert ids(store) == ["a", "d"]
    assert (done.accepted, done.refused) == (2, 2)
    assert rejected_lines(path) == [2, 3]


def test_times_of_any_zone_and_unit_are_the_same_instants(store: Store, tmp_path: Path) -> None:
    instant = datetime(2030, 1, 1, 12, tzinfo=UTC)
    abroad = instant.astimezone(timezone(timedelta(hours=5, minutes=30)))
    write(tmp_path / "x.jsonl", [{"id": "a", "subscriber": "ana", "query": "storm", "expires": abroad.isoformat()}])
    expires = pa.array([instant], pa.timestamp("ns", tz="Europe/Paris"))
    pq.write_table(
        pa.table({"id": [7], "subscriber": ["ana"], "query": ["storm"], "expires": expires}), tmp_path / "x.parquet"
    )
    for name in ("x.jsonl", "x.parquet"):
        assert import_subscriptions(store, tmp_path / name).accepted == 1
    assert store.subscriptions().select(["id", "expires"]).to_pylist() == [
        {"id": "7", "expires": instant},
        {"id": "a", "expires": instant},
    ]


def test_tags_and_rankings_and_regions_are_read_in_each_of_their_forms(store: Store, tmp_path: Path) -> None:
    common = {"subscriber": "ana", "query": "storm"}
    write(tmp_path / "forms.csv", [{"id": "a", **common, "tags": "sea; urgent;", "ranking": '{"k": 3}'}])
    full = {"id": "b", **common, "tags": ["a;b"], "ranking": {"k": 3}, "region": [-10, 36, 4, 44]}
    write(tmp_path / "forms.jsonl", [full, {"id": "c", **common}])
    for name in ("forms.csv", "forms.jsonl"):
        import_subscriptions(store, tmp_path / name)
    rows = store.subscriptions().select(["tags", "ranking", "region"]).to_pylist()
    assert [row["tags"] for row in rows] == [["sea", "urgent"], ["a;b"], []]
    assert [row["ranking"] for row in rows] == ['{"k": 3}', '{"k": 3}', None]
    assert [row["region"] for row in rows] == [None, "in:(-10,36,4,44)", None]


@pytest.mark.parametrize("commit", [1_000_000, 2])
def test_of_records_with_one_id_the_last_counts_and_the_others_are_listed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: int
) -> None:
    monkeypatch.setattr(importing, "_COMMIT", commit)
    monkeypatch.setattr(importing, "_CHUNK", 2)
    folder = tmp_path / "several"
    first = [("a", "storm"), ("b", "rain"), ("a", "flood"), ("c", "hail")]
    second = [("a", "snow"), ("c", "(broken")]
    for file, pairs in (("1.jsonl", first), ("2.jsonl", second)):
        write(folder / file, [{"id": name, "subscriber": "ana", "query": query} for name, query in pairs])
    done = import_subscriptions(store, folder, processes=1)
    assert queries(store) == {"a": "snow", "b": "rain", "c": "hail"}
    assert (done.accepted, done.refused, done.superseded) == (3, 1, 2)
    listed = {entry["line"]: entry["reason"] for entry in rejects(folder / "1.jsonl.rejects.jsonl")}
    assert listed.keys() == {1, 3}
    assert listed[3] == "superseded by line 1 of 2.jsonl, which has the same id"
    assert done.version == store.version == (1 if commit > 2 else 3)


def test_an_import_with_ids_may_run_again_and_one_without_makes_new_ones(store: Store, tmp_path: Path) -> None:
    named = write(tmp_path / "named.csv", [{"id": "a", "subscriber": "ana", "query": "storm"}])
    nameless = write(tmp_path / "nameless.csv", [{"subscriber": "ana", "query": "storm"}] * 3)
    for _ in range(2):
        assert import_subscriptions(store, named).accepted == 1
        assert import_subscriptions(store, nameless).accepted == 3
    assert len(ids(store)) == 1 + 2 * 3


def test_a_folder_and_a_pattern_mean_their_files_but_no_lists_of_rejects(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    for number, name in enumerate(("part-0.csv", "part-1.jsonl.gz", "part-2.parquet")):
        write(folder / name, [{"id": str(number), "subscriber": "ana", "query": query} for query in ("(", "storm")])
    (folder / "_SUCCESS").touch()
    (folder / "notes.txt").write_text("nothing to import")
    for path in (folder, folder, str(folder / "part-*")):
        done = import_subscriptions(store, path)
        assert (done.accepted, done.refused, len(done.rejects)) == (3, 3, 3)
    assert ids(store) == ["0", "1", "2"]


def test_a_list_of_rejects_is_that_of_the_last_run(store: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", [{"id": "a", "subscriber": "ana", "query": "("}])
    (listed,) = import_subscriptions(store, path).rejects
    import_subscriptions(store, path)
    assert len(rejects(listed)) == 1
    write(path, [{"id": "a", "subscriber": "ana", "query": "storm"}])
    import_subscriptions(store, path)
    assert not listed.exists()


def test_rejects_go_where_they_are_wanted_but_never_over_the_input(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in ("1.csv", "2.csv"):
        write(folder / name, [{"subscriber": "ana", "query": "("}])
    done = import_subscriptions(store, folder, rejects=tmp_path / "all.jsonl")
    assert done.rejects == (tmp_path / "all.jsonl",)
    assert [Path(entry["file"]).name for entry in rejects(done.rejects[0])] == ["1.csv", "2.csv"]
    assert len(list(folder.iterdir())) == 2
    with pytest.raises(ConfigError, match="would take the place of what is imported"):
        import_subscriptions(store, folder / "1.csv", rejects=folder / ".." / "in" / "1.csv")
    assert (folder / "1.csv").exists()
    with pytest.raises(StoreError, match="the rejects cannot be written"):
        import_subscriptions(store, folder / "1.csv", rejects=tmp_path / "absent" / "x.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "x.csv",
            b"subscriber,text\nana,storm\n",
            "column 'text' is none of a subscription's: these are id, subscriber",
        ),
        ("x.csv", b"subscriber,query,query\nana,storm,x\n", "column 'query' is there twice"),
        ("x.csv", b"id,query\na,storm\n", "there is no column 'subscriber'"),
        ("x.csv", b'"id,query\na,storm\n', "the header is not a record of CSV"),
        ("x.parquet", b"PAR1 or not", "cannot be read as Parquet"),
        ("x.parquet.gz", b"", "a Parquet file is compressed inside"),
        ("x.txt", b"ana,storm", "the name does not end in one of .parquet, .csv"),
    ],
)
def test_a_file_that_holds_no_subscriptions_at_all_is_refused_by_name(
    store: Store, tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ConfigError, StoreError)) as caught:
        import_subscriptions(store, tmp_path / name)
    assert complaint in str(caught.value)
    assert name in str(caught.value)
    assert store.version == 0


def test_what_is_not_there_or_of_no_format_is_refused(store: Store, tmp_path: Path) -> None:
    for absent in ("absent.csv", "absent-*.csv"):
        with pytest.raises(ConfigError, match="there is no file to import"):
            import_subscriptions(store, tmp_path / absent)
    path = write(tmp_path / "x.csv", [{"subscriber": "ana", "query": "storm"}])
    with pytest.raises(ConfigError, match="format is 'xml': allowed are parquet, csv, jsonl"):
        import_subscriptions(store, path, format="xml")
    path.rename(tmp_path / "x.data")
    assert import_subscriptions(store, tmp_path / "x.data", format="csv").accepted == 1


@pytest.mark.parametrize("content", [b"", b"\n\n", b"id,subscriber,query\n"])
def test_a_file_with_nothing_in_it_changes_nothing(store: Store, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.csv"
    path.write_bytes(content)
    done = import_subscriptions(store, path)
    assert (done.accepted, done.refused, done.version) == (0, 0, 0)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz"])
def test_a_damaged_file_is_read_up_to_the_damage(store: Store, tmp_path: Path, name: str) -> None:
    rows = [{"id": os.urandom(8).hex(), "subscriber": "ana", "query": "storm"} for _ in range(20_000)]
    path = write(tmp_path / name, rows)
    path.write_bytes(path.read_bytes()[:-5_000])
    done = import_subscriptions(store, path)
    assert 10_000 < done.accepted < 20_000
    assert ids(store) == sorted(row["id"] for row in rows[: done.accepted])
    (entry,) = rejects(done.rejects[0])
    assert "cannot be read from here on" in entry["reason"]


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_a_line_without_end_is_set_aside_without_reading_it_whole(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(records, "_LONGEST_LINE", 100)
    good = {"id": "a", "subscriber": "ana", "query": "storm"}
    path = write(tmp_path / name, [good, {**good, "id": "b", "query": "x" * 350}, {**good, "id": "c"}])
    done = import_subscriptions(store, path)
    assert ids(store) == ["a", "c"]
    (entry,) = rejects(done.rejects[0])
    assert "longer than 100 bytes" in entry["reason"]
    assert entry["line"] == (3 if name == "x.csv" else 2)


def test_several_processes_give_what_one_gives(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["storm", "(storm", "flood OR rain", "-rain", "hail"]
    rows = [{"id": f"{i:03}", "subscriber": "ana", "query": texts[i % 5]} for i in range(97)]
    path = write(tmp_path / "many.csv", rows)
    outcomes = []
    for processes, chunk in ((1, 20_000), (1, 10), (2, 10)):
        monkeypatch.setattr(importing, "_CHUNK", chunk)
        told: list[tuple[int, float]] = []
        into = Store.open(tmp_path / f"store-{processes}-{chunk}")
        done = import_subscriptions(
            into, path, processes=processes, progress=lambda *about, told=told: told.append(about)
        )
        assert told == sorted(told)
        assert told[-1] == (97, 1.0)
        outcomes.append((done.accepted, done.refused, done.version, queries(into), rejects(done.rejects[0])))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0][:3] == (58, 39, 1)


def test_a_program_that_processes_cannot_be_started_from_is_told_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "many.csv", [{"subscriber": "ana", "query": "storm"}] * 25_000)
    program = tmp_path / "program.py"
    program.write_text(
        "from tidegate.store.importing import import_subscriptions\n"
        "from tidegate.store.store import Store\n"
        "print(import_subscriptions(Store.open('store'), 'many.csv'))\n"
    )
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("import below `if __name__ == '__main__':`, or with processes=1")


def test_an_import_that_is_killed_leaves_whole_commits_and_can_run_again(tmp_path: Path) -> None:
    n, commit = 20_000, 500
    path = write(tmp_path / "many.jsonl", [{"id": f"{i}", "subscriber": "ana", "query": "storm"} for i in range(n)])
    program = (
        "from tidegate.store import importing\n"
        "from tidegate.store.store import Store\n"
        f"importing._COMMIT = importing._CHUNK = {commit}\n"
        "importing.import_subscriptions(Store.open('store'), 'many.jsonl', processes=1)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    log = tmp_path / "store" / "_delta_log"
    deadline = time.monotonic() + 60
    while not (log / f"{3:020}.json").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    store = Store.open(tmp_path / "store", create=False)
    survived = store.subscriptions().num_rows
    assert 3 * commit <= survived < n
    assert survived % commit == 0
    assert import_subscriptions(store, path).accepted == n
    assert store.subscriptions().num_rows == n


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ")) | st.none(), max_size=12))
def test_whatever_the_other_lines_hold_good_lines_are_accepted(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes | None]
) -> None:
    folder = tmp_path_factory.mktemp("noise")
    path = folder / "noise.jsonl"
    good = [number for number, line in enumerate(lines, 1) if line is None]
    written = [json.dumps({"id": str(i), "subscriber": "ana", "query": "storm"}).encode() for i in range(1, 13)]
    path.write_bytes(b"".join((written[i] if line is None else line) + b"\n" for i, line in enumerate(lines)))
    store = Store.open(folder / "store")
    done = import_subscriptions(store, path)
    assert sorted(map(int, ids(store))) == good
    listed = rejected_lines(path) if done.refused else []
    assert len(listed) == done.refused
    assert set(listed).isdisjoint(good)
