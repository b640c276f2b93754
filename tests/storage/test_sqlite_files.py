"""The files of a store: complete or refused in one line, private, one process at a time."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairlead.storage.backend import Row, StorageError, Write
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.format import FORMAT
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store

THINGS = "core/things"


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[SqliteBackend]:
    backend = opened(tmp_path)
    yield backend
    backend.close()


def opened(directory: Path, dialect: str = "", **options: Any) -> SqliteBackend:
    created = SqliteBackend(directory, dialect, **options)
    created.open()
    list(created.heads())
    return created


def again(backend: SqliteBackend) -> SqliteBackend:
    backend.close()
    return opened(backend.path.parent)


def put(backend: SqliteBackend, *keys: str, value: bytes = b"{}") -> None:
    backend.append([Write(THINGS, key, "v1", value, 0) for key in keys])


def heads(backend: SqliteBackend) -> list[Row]:
    return sorted(backend.heads())


def edit(path: Path, *statements: str) -> None:
    """Change the file behind the backend's back."""
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_are_private_from_their_first_byte(backend: SqliteBackend) -> None:
    put(backend, "a")
    files = {path.name: mode(path) for path in backend.path.parent.iterdir()}
    names = {"fairlead.db", "fairlead.db-wal", "fairlead.db-shm", "lock", "acknowledged"}
    assert files == dict.fromkeys(names, 0o600)


def test_files_of_older_releases_become_private(backend: SqliteBackend) -> None:
    backend.close()
    backend.path.chmod(0o644)
    opened(backend.path.parent).close()
    assert mode(backend.path) == 0o600


@pytest.mark.parametrize("count", [1, 199, 200, 201, 1000])
def test_sqlite_commits_a_batch_of_any_size(backend: SqliteBackend, count: int) -> None:
    put(backend, *(f"k{number}" for number in range(count)))
    kept = heads(backend)
    assert [row.revision for row in kept] == list(range(1, count + 1))
    assert heads(again(backend)) == kept


def test_values_may_be_any_bytes_and_keys_any_text(backend: SqliteBackend) -> None:
    put(backend, "ns/é☃", value=bytes(range(256)))
    put(backend, "empty", value=b"")
    put(backend, "large", value=b"x" * 3_000_000)
    kept = heads(backend)
    assert heads(again(backend)) == kept


def test_the_highest_revision_is_known_though_its_row_is_gone(backend: SqliteBackend) -> None:
    put(backend, "a")
    backend.append([Write(THINGS, "a", "v1", None, 1)])
    while backend.compact(2):
        pass
    (backend.path.parent / "acknowledged").unlink()
    created = again(backend)
    assert (created.revision, created.floor) == (2, 2)
    created.close()


def test_nothing_of_what_was_deleted_or_superseded_stays_on_disk(backend: SqliteBackend) -> None:
    for _ in range(3):
        put(backend, "a")
        revision = backend.revision
        backend.append([Write(THINGS, "a", "v1", b"new", revision)])
        backend.append([Write(THINGS, "a", "v1", None, revision + 1)])
    put(backend, "b")
    while backend.compact(backend.revision):
        pass
    result = backend._db.execute("SELECT key FROM log").fetchall()
    assert result == [("b",)]


def test_compaction_goes_on_where_it_was_when_the_process_ended(backend: SqliteBackend) -> None:
    keys = [f"k{number}" for number in range(1200)]
    put(backend, *keys)
    backend.append([Write(THINGS, key, "v1", b"2", n + 1) for n, key in enumerate(keys)])
    assert backend.compact(2400)
    created = again(backend)
    assert created.floor == 2400
    while created.compact(2400):
        pass
    assert created._db.execute("SELECT count(*) FROM log").fetchone()[0] == 1200
    created.close()


def test_a_step_of_compaction_is_bounded(backend: SqliteBackend) -> None:
    keys = [f"k{number}" for number in range(3000)]
    put(backend, *keys)
    backend.append([Write(THINGS, key, "v1", None, n + 1) for n, key in enumerate(keys)])
    left = [6000]
    while backend.compact(6000):
        left.append(backend._db.execute("SELECT count(*) FROM log").fetchone()[0])
    assert max(a - b for a, b in pairwise(left)) <= 1000


def test_sqlite_file_shrinks_after_compaction(backend: SqliteBackend) -> None:
    keys = [f"k{number}" for number in range(400)]
    put(backend, *keys, value=b"x" * 50_000)
    backend.append([Write(THINGS, key, "v1", None, n + 1) for n, key in enumerate(keys)])
    backend._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    full = backend.size()
    while backend.compact(800):
        pass
    backend._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert full > 20_000_000
    assert backend.size() < full / 3


def test_a_directory_belongs_to_one_process_at_a_time(backend: SqliteBackend) -> None:
    other = SqliteBackend(backend.path.parent)
    for call in (other.lock, other.open):
        with pytest.raises(StorageError, match="is in use by another server"):
            call()
    backend.close()
    other.open()
    other.close()


def test_directory_lock_is_taken_before_any_file_is_created(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path / "new")
    backend.lock()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["lock"]
    backend.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE log SET value = x'00' WHERE revision = 2",
        "UPDATE log SET value = NULL WHERE revision = 2",
        "UPDATE log SET value = 7 WHERE revision = 2",
        "UPDATE log SET key = 'other' WHERE revision = 2",
        "UPDATE log SET key = x'00' WHERE revision = 2",
        "UPDATE log SET sum = sum + 1 WHERE revision = 2",
        "UPDATE log SET previous = 1 WHERE revision = 2",
        "UPDATE log SET version = resource WHERE revision = 2",
        "UPDATE log SET resource = 99 WHERE revision = 2",
        "UPDATE names SET name = 'core/other' WHERE name = 'core/second'",
    ],
)
def test_a_row_that_was_changed_is_found(backend: SqliteBackend, damage: str) -> None:
    put(backend, "a")
    backend.append([Write("core/second", "b", "v1", b"{}", 0)])
    put(backend, "c")
    backend.close()
    edit(backend.path, damage)
    with pytest.raises(StorageError, match="is damaged at revision 2"):
        opened(backend.path.parent)


def test_a_row_that_moved_to_another_revision_is_found(backend: SqliteBackend) -> None:
    put(backend, "a", "b")
    backend.close()
    edit(backend.path, "UPDATE log SET revision = 7 WHERE revision = 2")
    with pytest.raises(StorageError, match="is damaged at revision 7"):
        opened(backend.path.parent)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE state",
        "DROP TABLE log",
        "DROP TABLE names",
        "DELETE FROM state WHERE name = 'highest'",
        "UPDATE state SET value = 'much' WHERE name = 'compacted'",
    ],
)
def test_damaged_tables_are_refused_in_one_line(backend: SqliteBackend, damage: str) -> None:
    backend.close()
    edit(backend.path, damage)
    with pytest.raises(StorageError, match="is damaged") as refused:
        opened(backend.path.parent)
    assert "\n" not in str(refused.value)


def test_sqlite_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fairlead.db").write_bytes(b"something else" * 500)
    with pytest.raises(StorageError, match="is damaged or not a Fairlead store"):
        opened(tmp_path)


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "fairlead.db").mkdir()
    with pytest.raises(StorageError, match=r"cannot open .*unable to open") as refused:
        opened(tmp_path)
    assert "damaged" not in str(refused.value)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot use .*file/data"):
        opened(tmp_path / "file" / "data")


def test_a_newer_format_is_refused(backend: SqliteBackend) -> None:
    backend.close()
    edit(backend.path, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(StorageError, match=f"has format {FORMAT + 1}, written by a newer release"):
        opened(backend.path.parent)


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_a_lost_database_beside_its_wal_is_refused(backend: SqliteBackend, what: str) -> None:
    put(backend, "a")
    directory = backend.path.parent
    wal = (directory / "fairlead.db-wal").read_bytes()
    backend.close()
    backend.path.unlink() if what == "missing" else backend.path.write_bytes(b"")
    (directory / "fairlead.db-wal").write_bytes(wal)
    with pytest.raises(StorageError, match=f"fairlead.db is {what}, but fairlead.db-wal"):
        opened(directory)
    assert (directory / "fairlead.db-wal").read_bytes() == wal


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_a_lost_database_beside_certificates_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("")
    if what == "empty":
        (tmp_path / "fairlead.db").write_bytes(b"")
    with pytest.raises(StorageError, match=f"fairlead.db is {what}, but .*pki"):
        opened(tmp_path)


def test_a_creation_that_was_killed_starts_over(tmp_path: Path) -> None:
    (tmp_path / "fairlead.db.new").write_bytes(b"half a database")
    backend = opened(tmp_path)
    put(backend, "a")
    backend.close()
    assert not (tmp_path / "fairlead.db.new").exists()


def test_sqlite_file_that_lost_acknowledged_writes_is_noticed(backend: SqliteBackend) -> None:
    put(backend, "a")
    put(backend, "b", "c")
    backend.close()
    edit(backend.path, "DELETE FROM log WHERE revision > 1")
    with pytest.raises(StorageError, match=r"ends at revision 1, but 3 .*--accept-lost-writes"):
        opened(backend.path.parent)
    created = opened(backend.path.parent, accept_lost_writes=True)
    assert created.append([Write(THINGS, "b", "v1", b"{}", 0)]) == [4]
    assert again(created).revision == 4


def test_a_wal_that_lost_its_end_is_noticed(backend: SqliteBackend) -> None:
    """SQLite itself stops silently at the first invalid frame."""
    put(backend, "a")
    put(backend, "b")
    directory = backend.path.parent
    files = {name: (directory / name).read_bytes() for name in ("fairlead.db", "fairlead.db-wal")}
    backend.close()
    wal = bytearray(files["fairlead.db-wal"])
    wal[-2000] ^= 1
    backend.path.write_bytes(files["fairlead.db"])
    (directory / "fairlead.db-wal").write_bytes(wal)
    with pytest.raises(StorageError, match="lost writes that were acknowledged"):
        opened(directory)


@pytest.mark.parametrize("torn", [b"", b"000", b"00000000000000000009 00000000\n"])
def test_a_torn_note_of_the_acknowledged_revision_is_ignored(
    backend: SqliteBackend, torn: bytes
) -> None:
    put(backend, "a")
    backend.close()
    (backend.path.parent / "acknowledged").write_bytes(torn)
    opened(backend.path.parent).close()


def test_a_directory_of_another_dialect_is_refused_and_left_alone(tmp_path: Path) -> None:
    backend = opened(tmp_path, "kubernetes")
    put(backend, "a")
    backend.close()
    before = backend.path.read_bytes()
    with pytest.raises(StorageError, match="of the kubernetes dialect: start with --dialect kube"):
        opened(tmp_path, "cluster")
    assert backend.path.read_bytes() == before
    opened(tmp_path, "kubernetes").close()


def test_a_closed_backend_does_not_write(backend: SqliteBackend) -> None:
    backend.close()
    with pytest.raises(StorageError, match="is not open"):
        put(backend, "a")


def test_commits_are_synced_and_readers_do_not_block(backend: SqliteBackend) -> None:
    for _ in range(2):
        db = backend._db
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        backend.recover()


def test_sqlite_size_is_that_of_the_files_on_disk(backend: SqliteBackend) -> None:
    before = backend.size()
    put(backend, "a", value=b"x" * 100_000)
    assert backend.size() >= before + 100_000


def test_sqlite_shared_memory_file_without_room_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> sqlite3.Connection:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
        raise error

    opened(tmp_path).close()
    monkeypatch.setattr("fairlead.storage.sqlite.backend.connect", full)
    with pytest.raises(StorageError, match="the disk is full"):
        opened(tmp_path)


def test_a_store_that_cannot_be_loaded_lets_go_of_its_directory(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path)
    backend.open()
    backend.append([Write("core/things", "a", "v1", b"sealed", 0)])
    backend.close()

    async def load() -> None:
        await Store(EmbeddedLog(SqliteBackend(tmp_path))).open()

    for _ in range(2):
        with pytest.raises(StorageError, match="is encrypted"):
            asyncio.run(load())
