"""Creating a data directory from rows: all or nothing, and revisions that only rise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.backups import ROWS, make_store, stored

from fairlead.storage.backend import Compacted, Row, StorageError, Write
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.loader import load


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_rows_keep_their_revisions_and_the_store_goes_on_above(directory: Path) -> None:
    assert load(directory, "cluster", ROWS, above=9, gap=100) == 109
    assert stored(directory) == (109, sorted(ROWS))


def test_an_empty_store_can_be_loaded(directory: Path) -> None:
    load(directory, "cluster", [], above=9)
    assert stored(directory) == (9, [])


def test_history_begins_at_the_new_revision(directory: Path) -> None:
    load(directory, "cluster", ROWS, above=9, gap=100)
    backend = SqliteBackend(directory)
    backend.open()
    with pytest.raises(Compacted):
        backend.changes("core/namespaces", 108, 109)
    assert backend.changes("core/namespaces", 109, 109) == []
    assert [row.key for row in backend.state("core/namespaces", 109, "", None, 0).rows] == ["ns"]
    backend.close()


def test_a_loaded_store_is_written_and_compacted_as_any_other(directory: Path) -> None:
    load(directory, "cluster", ROWS, above=9)
    backend = SqliteBackend(directory, "cluster")
    backend.open()
    assert len(list(backend.heads())) == 3
    assert backend.append([Write("core/namespaces", "ns", "v1", b"{}", 9)]) == [10]
    while backend.compact(10):
        pass
    backend.close()
    assert {row.revision for row in stored(directory)[1]} == {3, 7, 10}


def test_rows_of_one_commit_get_revisions_of_their_own(directory: Path) -> None:
    together = [Row(5, "core/things", name, 0, "v1", b"{}") for name in "abc"]
    assert load(directory, "cluster", together, above=9) == 11
    assert [row.revision for row in stored(directory)[1]] == [5, 10, 11]


def test_a_directory_with_a_store_is_refused(directory: Path) -> None:
    make_store(directory, "a")
    before = stored(directory)
    with pytest.raises(StorageError, match="holds a store already"):
        load(directory, "cluster", ROWS, above=9)
    assert stored(directory) == before


def test_a_directory_whose_writes_lie_in_the_wal_is_refused(directory: Path) -> None:
    directory.mkdir()
    (directory / "fairlead.db-wal").write_bytes(b"writes")
    with pytest.raises(StorageError, match="holds a store already"):
        load(directory, "cluster", ROWS, above=9)


def test_a_directory_in_use_is_refused(directory: Path) -> None:
    running = SqliteBackend(directory)
    running.lock()
    with pytest.raises(StorageError, match="in use by another server"):
        load(directory, "cluster", ROWS, above=9)
    running.close()


def test_the_certificates_that_are_there_stay(directory: Path) -> None:
    (directory / "pki").mkdir(parents=True)
    (directory / "pki" / "ca.crt").write_text("mine")
    load(directory, "cluster", ROWS, above=9)
    assert (directory / "pki" / "ca.crt").read_text() == "mine"
    assert stored(directory)[1] == sorted(ROWS)


def test_revisions_rise_above_what_the_lost_store_acknowledged(directory: Path) -> None:
    count = make_store(directory, *map(str, range(20)))
    (directory / "fairlead.db").unlink()
    assert load(directory, "cluster", ROWS, above=9, gap=1) == count + 1
    assert stored(directory)[0] == count + 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("broken"), StorageError("broken")])
def test_what_is_interrupted_leaves_nothing(directory: Path, error: BaseException) -> None:
    def rows() -> Iterator[Row]:
        yield from ROWS
        raise error

    with pytest.raises((KeyboardInterrupt, StorageError)):
        load(directory, "cluster", rows(), above=9)
    assert not directory.exists()


def test_what_is_interrupted_leaves_a_directory_as_it_was(directory: Path) -> None:
    (directory / "pki").mkdir(parents=True)
    twice = [*ROWS, ROWS[0]._replace(revision=8)]
    with pytest.raises(StorageError, match="apps/deployments ns/web occurs twice"):
        load(directory, "cluster", twice, above=9)
    assert {path.name for path in directory.iterdir()} == {"lock", "pki"}


def test_what_a_killed_load_left_is_no_hindrance(directory: Path) -> None:
    directory.mkdir()
    for suffix in ("", "-wal", "-shm"):
        (directory / f"fairlead.db.new{suffix}").write_bytes(b"half of it")
    load(directory, "cluster", ROWS, above=9)
    assert stored(directory) == (9, sorted(ROWS))


def test_all_files_are_private(directory: Path) -> None:
    load(directory, "cluster", ROWS, above=9)
    assert all(not path.stat().st_mode & 0o077 for path in (directory, *directory.iterdir()))
