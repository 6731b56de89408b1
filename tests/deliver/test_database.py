"""Databases are opened, upgraded, and refused for a reason."""

import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyarrow import csv
from sqlalchemy import inspect, select, text

from tests.deliver.scenes import match, posts
from tidegate.bench.delivery.server import Server
from tidegate.deliver.api_keys import ApiKeys
from tidegate.deliver.database import Database, UnreachableError
from tidegate.deliver.inbox import Inbox
from tidegate.deliver.retention import Retention
from tidegate.deliver.schema import METADATA, PAUSED
from tidegate.deliver.versions import steps
from tidegate.errors import ConfigError, StoreError

# What a batch left behind while the schema had version 1.
FIRST_VERSION = [
    """INSERT INTO posts VALUES ('p', '{"id": "p"}', 2), ('q', '{"id": "q"}', 2)""",
    """INSERT INTO notifications (cursor, subscriber, post, reasons, topic, topic_type, at) VALUES
       (1, 'ana', 'p', '[{"subscription": "s"}]', 'subscription:s', 'match', 5),
       (2, 'ana', 'q', '[{"subscription": "s"}]', 'subscription:s', 'match', 6)""",
    "INSERT INTO history VALUES ('account:nasa', 'p', 'account', 5, 1)",
    "INSERT INTO read_singly VALUES ('ana', 2)",
    "INSERT INTO batches VALUES ('run', 0, 1, 2, 9)",
    "UPDATE progress SET cursor = 2, at = 9 WHERE name = 'written'",
]


def test_nothing_is_lost_by_upgrading_from_version_1(url: str) -> None:
    first = Database.open(url, version=1)
    with first.writing() as connection:
        for statement in FIRST_VERSION:
            connection.execute(text(statement))
    assert "outbox" not in inspect(first.engine).get_table_names()
    first.close()
    upgraded = Database.open(url)
    inbox = Inbox(upgraded, lambda: 10)
    assert posts(inbox.since("ana")) == ["p", "q"]
    assert posts(inbox.unread("ana")) == ["p"]
    assert [entry.id for entry in inbox.history("account:nasa")] == ["p"]
    assert inbox.has("run", 0)
    assert inbox.add([match("ana", "p", "s"), match("ana", "r")], "run", 1).notifications == 1
    assert [found.cursor for found in inbox.since("ana")] == [1, 2, 4]
    key = ApiKeys(upgraded).issue("ana")
    assert ApiKeys(upgraded).holder(key) is not None
    with upgraded.reading() as connection:
        assert connection.execute(text("SELECT notifications FROM batches WHERE batch = 0")).scalar_one() == 2
    upgraded.close()


def test_what_a_service_had_paused_before_there_was_a_step_for_it_is_kept(url: str) -> None:
    before = Database.open(url, version=3)
    with before.writing() as connection:
        connection.execute(text("CREATE TABLE paused (id TEXT PRIMARY KEY, subscriber TEXT NOT NULL, body TEXT)"))
        connection.execute(text("INSERT INTO paused VALUES ('s', 'ana', '{}')"))
    before.close()
    upgraded = Database.open(url)
    with upgraded.reading() as connection:
        assert connection.execute(select(PAUSED.c.subscriber)).scalars().all() == ["ana"]
    upgraded.close()


def test_connections_are_kept_up_to_the_number_that_is_given(url: str) -> None:
    database = Database.open(url, connections=3)
    with ExitStack() as several:
        for _ in range(5):
            several.enter_context(database.reading())
    assert database.engine.pool.checkedin() == 3  # type: ignore[attr-defined]
    database.close()


def test_a_database_all_of_whose_connections_are_in_use_is_one_that_does_not_answer(url: str) -> None:
    database = Database.open(url, connections=1)
    pool: Any = database.engine.pool
    pool._timeout = 0.05
    with ExitStack() as all_of_them:
        for _ in range(1 + pool._max_overflow):
            all_of_them.enter_context(database.reading())
        with pytest.raises(UnreachableError, match="does not answer"), database.reading():
            pass
    with database.reading():
        pass
    database.close()


def test_the_steps_make_the_tables_that_queries_expect(database: Database) -> None:
    found = inspect(database.engine)
    for table in METADATA.sorted_tables:
        columns = {column["name"]: str(column["type"]).split()[0] for column in found.get_columns(table.name)}
        assert columns.keys() == {column.name for column in table.columns}
        for column in table.columns:
            expected = {"TEXT"} if str(column.type) == "TEXT" else {"BIGINT", "INTEGER"}
            assert columns[column.name] in expected
    assert {*found.get_table_names()} == {*METADATA.tables, "tidegate_schema"}


def test_many_may_open_a_new_database_at_once(url: str) -> None:
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            Database.open(url).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    database = Database.open(url)
    with database.reading() as connection:
        assert connection.execute(text("SELECT version FROM tidegate_schema")).all() == [(len(steps()),)]
    database.close()


def test_a_newer_schema_is_left_alone(url: str) -> None:
    database = Database.open(url)
    with database.writing() as connection:
        connection.execute(text("UPDATE tidegate_schema SET version = 99"))
    database.close()
    with pytest.raises(StoreError, match=f"its schema has version 99, this Tidegate knows {len(steps())}: upgrade"):
        Database.open(url)


def test_a_step_that_fails_leaves_the_version_before(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Database.open(url, version=1).close()
    broken = [*steps()[:1], "CREATE TABLE fine (a TEXT); CREATE TABLE broken oops"]
    monkeypatch.setattr("tidegate.deliver.versions.steps", lambda: broken)
    with pytest.raises(StoreError):
        Database.open(url)
    monkeypatch.undo()
    database = Database.open(url)
    assert "fine" not in inspect(database.engine).get_table_names()
    assert Inbox(database).add([match("ana", "p")], "run", 0).notifications == 1
    database.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("inbox.db", "no address of a database: write sqlite:///PATH or postgresql"),
        ("mysql://localhost/inbox", "'mysql' is no database that is known here"),
        ("sqlite://", "names no file"),
        ("sqlite:////nowhere/at/all/inbox.db", "there is no folder /nowhere/at/all: make it first"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Database.open(url)


def test_a_database_out_of_reach_is_named_without_its_password() -> None:
    with pytest.raises(UnreachableError, match=r"ana:\*\*\*@127.0.0.1:1/inbox: cannot be reached"):
        Database.open("postgresql+psycopg://ana:secret@127.0.0.1:1/inbox")


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "inbox.db"
    path.write_bytes(b"my notes\n" * 200)
    with pytest.raises(StoreError, match=r"inbox.db: this is no SQLite database, or a damaged one"):
        Database.open(f"sqlite:///{path}")
    assert path.read_bytes() == b"my notes\n" * 200


def test_a_damaged_database_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "inbox.db"
    database = Database.open(f"sqlite:///{path}")
    Inbox(database).add([match("ana", str(number)) for number in range(2_000)], "run", 0)
    database.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="a damaged one"):
        Inbox(Database.open(f"sqlite:///{path}")).since("ana")


def test_a_database_is_a_plain_file_that_others_can_read(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path}/inbox.db")
    Inbox(database).add([match("ana", "p")], "run", 0)
    with sqlite3.connect(tmp_path / "inbox.db") as connection:
        assert connection.execute("SELECT subscriber, post FROM notifications").fetchall() == [("ana", "p")]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


def test_a_server_that_goes_away_in_mid_copy_is_out_of_reach_and_then_back(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.database()
    database = Database.open(url)
    inbox = Inbox(database)
    inbox.add([match("ana", "p")], "run", 0)
    write_csv = csv.write_csv

    def cut_off(*arguments: Any) -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
            AND pid <> pg_backend_pid()"
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            connection.execute(others)
        write_csv(*arguments)

    monkeypatch.setattr("tidegate.deliver.bulk.csv.write_csv", cut_off)
    with pytest.raises(UnreachableError, match="does not answer"):
        inbox.add([match("ana", "q")], "run", 1)
    monkeypatch.undo()
    assert posts(inbox.since("ana")) == ["p"]
    assert inbox.add([match("ana", "q")], "run", 1).notifications == 1
    database.close()


def test_retention_that_cannot_be_is_refused(database: Database) -> None:
    with pytest.raises(ConfigError, match="give days above 0"):
        Retention(database, days=0)
