"""The log on disk: all or none, checked when read, one process at a time."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from fairlead.storage.log import Record, StorageError

from fairlead.storage.sqlite import FORMAT, SqliteLog


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    made = SqliteLog(tmp_path)
    assert made.open() == 0
    return made


def again(log: SqliteLog) -> SqliteLog:
    log.close()
    made = SqliteLog(log.path.parent)
    made.open()
    return made


def rows(*revisions: int) -> list[Record]:
    return [
        Record(revision, f"things:k{revision}", b"value %d" % revision) for revision in revisions
    ]


def test_a_new_log_is_empty_and_private(log: SqliteLog) -> None:
    assert list(log.records()) == []
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_records_come_back_in_the_order_of_revisions(log: SqliteLog) -> None:
    written = [*rows(1, 2), Record(3, "things:k1", None), *rows(4)]
    log.append(written[:1])
    log.append(written[1:])
    assert list(log.records()) == written
    assert list(again(log).records()) == written


@pytest.mark.parametrize("count", [1, 199, 200, 201, 1000])
def test_a_batch_of_any_size_is_kept(log: SqliteLog, count: int) -> None:
    written = rows(*range(1, count + 1))
    log.append(written)
    assert list(again(log).records()) == written


@pytest.mark.parametrize("count", [3, 1000])
def test_a_batch_is_kept_whole_or_not_at_all(log: SqliteLog, count: int) -> None:
    log.append(rows(count))
    with pytest.raises(StorageError):
        log.append(rows(*range(1, count + 1)))
    assert list(log.records()) == rows(count)
    log.append(rows(count + 1))
    assert len(list(again(log).records())) == 2


def test_compaction_forgets_what_it_is_told_and_remembers_where(log: SqliteLog) -> None:
    log.append(rows(1, 2, 3, 4))
    log.compact(3, [1, 3])
    assert [record.revision for record in log.records()] == [2, 4]
    log.close()
    made = SqliteLog(log.path.parent)
    assert made.open() == 3
    made.close()


def test_the_highest_revision_is_known_though_its_record_is_gone(log: SqliteLog) -> None:
    log.append([*rows(1), Record(2, "things:k1", None)])
    log.compact(2, [1, 2])
    assert [record.revision for record in again(log).records()] == [2]


def test_values_may_be_any_bytes_and_keys_any_text(log: SqliteLog) -> None:
    written = [
        Record(1, "things:ns/é☃", bytes(range(256))),
        Record(2, "things:x", b""),
        Record(3, "things:y", b"x" * 3_000_000),
    ]
    log.append(written)
    assert list(again(log).records()) == written


def test_a_directory_belongs_to_one_log_at_a_time(log: SqliteLog) -> None:
    other = SqliteLog(log.path.parent)
    with pytest.raises(StorageError, match="is in use by another server"):
        other.open()
    log.close()
    other.open()
    other.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE log SET value = x'00' WHERE revision = 2",
        "UPDATE log SET value = NULL WHERE revision = 2",
        "UPDATE log SET key = 'things:other' WHERE revision = 2",
        "UPDATE log SET sum = sum + 1 WHERE revision = 2",
    ],
)
def test_a_record_that_was_changed_is_found(log: SqliteLog, damage: str) -> None:
    log.append(rows(1, 2, 3))
    log.close()
    with sqlite3.connect(log.path) as db:
        db.execute(damage)
    db.close()
    log.open()
    with pytest.raises(StorageError, match="is damaged at revision 2"):
        list(log.records())
    log.close()


def test_a_missing_table_is_damage(log: SqliteLog) -> None:
    log.close()
    with sqlite3.connect(log.path) as db:
        db.execute("DROP TABLE state")
    db.close()
    with pytest.raises(StorageError, match="is damaged or not a Fairlead store"):
        log.open()


def test_a_newer_format_is_refused(log: SqliteLog) -> None:
    log.close()
    with sqlite3.connect(log.path) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(StorageError, match=f"has format {FORMAT + 1}, written by a newer release"):
        log.open()


def test_a_closed_log_does_not_write(log: SqliteLog) -> None:
    log.close()
    with pytest.raises(StorageError, match="is not open"):
        log.append(rows(1))


def test_commits_are_synced_and_readers_do_not_block(log: SqliteLog) -> None:
    db = log._db
    assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_its_size_is_what_lies_on_disk(log: SqliteLog) -> None:
    before = log.size()
    log.append([Record(1, "things:k", b"x" * 100_000)])
    assert log.size() >= before + 100_000
