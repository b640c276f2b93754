"""Files of format 1, as written by an old release, are converted to the current format and back."""

from __future__ import annotations

import sqlite3
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest

from fairlead.base.dialect import DIALECTS, KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources
from fairlead.storage.backend import Row, StorageError, Write
from fairlead.storage.sqlite import migration
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.format import FORMAT, OldNames

SYSTEMS = {name: dialect.system_namespace for name, dialect in DIALECTS.items()}
NAMES = OldNames(Resources(KUBERNETES, BuiltinTypes(KUBERNETES)).old_prefixes(), SYSTEMS)
MAPS = "core/configmaps"


@pytest.fixture(params=["as it was killed", "as it was stopped"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data directory of the old release, with its writes in the WAL or in the database."""
    text = Path(__file__).with_name("format_1.txt").read_text()
    for part in text.partition("\n")[2].strip().split("\n\n"):
        name, *lines = part.split("\n")
        (tmp_path / name).write_bytes(decompress(b64decode("".join(lines))))
    if request.param == "as it was stopped":
        db = sqlite3.connect(tmp_path / "fairlead.db")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
    return tmp_path


def migrated(directory: Path) -> SqliteBackend:
    backend = SqliteBackend(directory, "kubernetes", NAMES)
    backend.open()
    return backend


def test_migrated_file_has_every_object_under_its_group_with_its_version(directory: Path) -> None:
    backend = migrated(directory)
    result = {(row.resource, row.key): (row.api_version, row.revision) for row in backend.heads()}
    assert result == {
        ("core/namespaces", "default"): ("v1", 1),
        ("core/namespaces", "kube-system"): ("v1", 2),
        (MAPS, "default/a"): ("v1", 8),
        (MAPS, "default/b"): ("v1", 10),
        ("core/events", "default/e"): ("v1", 11),
        ("autoscaling/horizontalpodautoscalers", "default/h"): ("autoscaling/v2", 12),
        ("core/services", "default/s"): ("v1", 13),
        ("unknown/podsecuritypolicy", "p"): ("", 14),  # kept, though this dialect serves it no more
    }
    backend.close()


def test_migrated_file_has_its_history(directory: Path) -> None:
    backend = migrated(directory)
    assert (backend.revision, backend.floor) == (14, 7)
    steps = [
        (step.row.revision, step.row.key, step.before and step.before.revision, step.row.value)
        for step in backend.changes(MAPS, 7, 14)
    ]
    assert [(revision, key, before) for revision, key, before, _ in steps] == [
        (8, "default/a", 6),
        (9, "default/b", 4),
        (10, "default/b", None),
    ]
    assert steps[1][3] is None
    rows = backend.state(MAPS, 7, "", None, 0).rows
    assert [(row.key, row.revision) for row in rows] == [("default/a", 6), ("default/b", 4)]
    backend.close()


def test_migrated_file_takes_further_writes(directory: Path) -> None:
    backend = migrated(directory)
    list(backend.heads())
    assert backend.append([Write(MAPS, "default/a", "v1", b"{}", 8)]) == [15]
    while backend.compact(15):
        pass
    backend.check()
    backend.close()
    db = sqlite3.connect(directory / "fairlead.db")
    assert db.execute("PRAGMA user_version").fetchone()[0] == FORMAT
    assert db.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    assert db.execute("SELECT count(*) FROM log").fetchone()[0] == 8
    db.close()
    again = migrated(directory)
    assert len(list(again.heads())) == 8
    again.close()


def test_a_migration_that_is_cut_off_starts_over(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = migration._old_rows

    def cut_off(*arguments: Any) -> Iterator[Row]:
        for number, row in enumerate(rows(*arguments)):
            if number == 5:
                raise OSError("killed")
            yield row

    monkeypatch.setattr(migration, "_old_rows", cut_off)
    with pytest.raises(StorageError):
        migrated(directory)
    monkeypatch.undo()
    backend = migrated(directory)
    assert len(list(backend.heads())) == 8
    backend.close()


def test_a_migration_that_was_killed_before_its_space_was_ordered_goes_on(
    directory: Path,
) -> None:
    """The rows are in the new form, but the file is not yet one that gives space back."""
    db = sqlite3.connect(directory / "fairlead.db", isolation_level=None)
    migration.convert(db, directory / "fairlead.db", FORMAT, "kubernetes", NAMES)
    assert db.execute("PRAGMA auto_vacuum").fetchone()[0] == 0
    db.close()
    backend = migrated(directory)
    assert backend._db.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    assert len(list(backend.heads())) == 8
    backend.close()


def test_migration_tells_the_dialect_by_the_system_namespace(directory: Path) -> None:
    backend = SqliteBackend(directory, "cluster", NAMES)
    with pytest.raises(StorageError, match="of the kubernetes dialect"):
        backend.open()
    db = sqlite3.connect(directory / "fairlead.db")
    assert db.execute("PRAGMA user_version").fetchone()[0] == 1
    db.close()


def test_a_damaged_row_stops_the_migration_and_leaves_the_file(directory: Path) -> None:
    db = sqlite3.connect(directory / "fairlead.db")
    db.execute("UPDATE log SET value = x'00' WHERE revision = 8")
    db.commit()
    db.close()
    with pytest.raises(StorageError, match="is damaged at revision 8"):
        migrated(directory)
    db = sqlite3.connect(directory / "fairlead.db")
    assert db.execute("PRAGMA user_version").fetchone()[0] == 1
    db.close()


def test_migration_keeps_objects_of_unknown_resources(directory: Path) -> None:
    backend = SqliteBackend(directory, "kubernetes", OldNames({}, SYSTEMS))
    backend.open()
    assert ("unknown/configmaps", "default/a") in {
        (row.resource, row.key) for row in backend.heads()
    }
    backend.close()


def to_format_1(directory: Path) -> None:
    migration.migrate_directory(directory, 1, "", lambda dialect: NAMES)


def test_going_back_and_forth_changes_neither_objects_nor_history(directory: Path) -> None:
    backend = migrated(directory)
    before = list(backend.heads()), backend.changes(MAPS, 7, 14), backend.revision, backend.floor
    backend.close()
    to_format_1(directory)
    backend = migrated(directory)
    after = list(backend.heads()), backend.changes(MAPS, 7, 14), backend.revision, backend.floor
    backend.close()
    assert after == before


def test_format_1_is_written_as_the_old_release_wrote_it(directory: Path) -> None:
    def contents() -> list[Any]:
        db = sqlite3.connect(directory / "fairlead.db")
        tables = {"sqlite_master": "name, sql", "state": "*", "log": "*"}
        rows = [
            db.execute(f"SELECT {columns} FROM {table} ORDER BY 1").fetchall()
            for table, columns in tables.items()
        ]
        version = db.execute("PRAGMA user_version").fetchone()
        db.close()
        return [*rows, version]

    before = contents()
    migrated(directory).close()
    to_format_1(directory)
    assert contents() == before


def test_what_compaction_had_not_deleted_yet_is_deleted_on_the_way_back(directory: Path) -> None:
    backend = migrated(directory)
    list(backend.heads())
    backend.close()
    db = sqlite3.connect(directory / "fairlead.db")
    db.execute("UPDATE state SET value = 10 WHERE name = 'compacted'")
    db.commit()
    db.close()
    to_format_1(directory)
    db = sqlite3.connect(directory / "fairlead.db")
    revisions = [revision for (revision,) in db.execute("SELECT revision FROM log")]
    db.close()
    assert revisions == [1, 2, 8, 10, 11, 12, 13, 14]


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (Write("example.com/widgets", "default/w", "example.com/v1", b"{}", 0), "is of a resource"),
        (Write(MAPS, "default/c", "v2", b"{}", 0), "is stored in version v2, not v1"),
        (Write(MAPS, "default/c", "v1", b"k8s:enc:x", 0), "is encrypted"),
    ],
)
def test_what_format_1_cannot_hold_is_named_and_nothing_changes(
    directory: Path, write: Write, reason: str
) -> None:
    backend = migrated(directory)
    list(backend.heads())
    backend.append([write])
    backend.close()
    before = {path.name for path in directory.iterdir()}
    with pytest.raises(StorageError, match=f"{write.resource} {write.key} {reason}"):
        to_format_1(directory)
    assert {path.name for path in directory.iterdir()} == before
    backend = migrated(directory)
    assert len(list(backend.heads())) == 9
    backend.close()
