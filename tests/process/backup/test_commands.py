"""`fairlead backup`, `restore` and `migrate` on data directories, and their refusals."""

from __future__ import annotations

import signal
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.backups import (
    SMALL_FILES,
    command,
    fairlead,
    make_store,
    packed,
    plain_config,
    refusal,
    stored,
    succeed,
)
from support.neighbour import Neighbour, Reply
from support.waiting import eventually

from fairlead.storage.sqlite.backend import SqliteBackend

NAMES = [f"thing-{number}" for number in range(3000)]


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    neighbour = Neighbour()
    yield neighbour
    neighbour.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A backup of a small directory."""
    path = tmp_path / "made-before"
    path.write_bytes(packed())
    return path


def test_a_directory_comes_back_from_its_backup(tmp_path: Path) -> None:
    revision = make_store(tmp_path / "old", "a", "b")
    succeed("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    succeed("restore", tmp_path / "file", "--data-dir", tmp_path / "new")
    assert stored(tmp_path / "old")[0] == revision
    assert stored(tmp_path / "new") == (revision + 1_000_000_000, stored(tmp_path / "old")[1])


def test_a_migrated_store_is_the_same_one(tmp_path: Path) -> None:
    make_store(tmp_path / "old", "a", "b", dialect="kubernetes")
    succeed("migrate", "--from", tmp_path / "old", "--to", tmp_path / "new")
    assert stored(tmp_path / "new") == stored(tmp_path / "old")
    backend = SqliteBackend(tmp_path / "new")
    backend.open()
    assert backend.dialect == "kubernetes"
    backend.close()


def test_a_backup_is_for_its_owner_alone(tmp_path: Path) -> None:
    make_store(tmp_path / "old", "a")
    succeed("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_progress_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    revision = make_store(tmp_path / "old", "a", "b")
    assert succeed("backup", tmp_path / "quiet", "--data-dir", tmp_path / "old") == ""
    output = succeed("backup", tmp_path / "file", "--data-dir", tmp_path / "old", "-v")
    assert output.startswith(f"{tmp_path / 'file'}: 2 objects at revision {revision}, ")
    output = succeed("restore", tmp_path / "file", "--data-dir", tmp_path / "new", "-v")
    assert output.startswith(f"2 objects of revision {revision} copied")


def test_no_file_is_overwritten(tmp_path: Path, file: Path) -> None:
    make_store(tmp_path / "old", "a")
    before = file.read_bytes()
    error = refusal("backup", file, "--data-dir", tmp_path / "old")
    assert error == f"fairlead backup: {file} exists; a backup overwrites nothing\n"
    assert file.read_bytes() == before


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    running = SqliteBackend(tmp_path / "old", "cluster")
    running.open()
    error = refusal("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    running.close()
    assert "is in use by another server" in error
    assert {path.name for path in tmp_path.iterdir()} == {"old"}


@pytest.mark.parametrize(
    "words", [("backup", "FILE", "--data-dir"), ("migrate", "--to", "NEW", "--from")]
)
def test_a_directory_without_a_store_is_refused_and_not_made(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    paths = [tmp_path / word if word.isupper() else word for word in words]
    assert "holds no store" in refusal(*paths, tmp_path / "old")
    assert not list(tmp_path.iterdir())


def test_a_file_of_an_older_format_is_left_alone(tmp_path: Path) -> None:
    make_store(tmp_path / "old", "a")
    db = sqlite3.connect(tmp_path / "old" / "fairlead.db")
    db.execute("PRAGMA user_version = 1")
    db.close()
    error = refusal("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    assert "start a server on it once" in error


@pytest.mark.parametrize("place", [3, 60, 150, -100, -1])
def test_a_damaged_backup_touches_nothing(tmp_path: Path, file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    assert str(file) in refusal("restore", file, "--data-dir", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_backup_of_another_dialect_is_refused_if_one_is_named(tmp_path: Path, file: Path) -> None:
    words = ("restore", file, "--data-dir", tmp_path / "new", "--dialect")
    assert "is a backup of the cluster dialect" in refusal(*words, "kubernetes")
    succeed(*words, "cluster")


def test_a_storage_of_another_dialect_is_not_migrated_if_one_is_named(tmp_path: Path) -> None:
    make_store(tmp_path / "old", *NAMES)
    words = ("migrate", "--from", tmp_path / "old", "--to", tmp_path / "new", "--dialect")
    assert "old holds objects of the cluster dialect" in refusal(*words, "kubernetes")
    succeed(*words, "cluster")


def test_restoring_into_a_store_is_refused(tmp_path: Path, file: Path) -> None:
    make_store(tmp_path / "new", "a")
    before = stored(tmp_path / "new")
    assert "holds a store already" in refusal("restore", file, "--data-dir", tmp_path / "new")
    assert stored(tmp_path / "new") == before


def test_a_full_disk_leaves_nothing_of_a_backup(tmp_path: Path) -> None:
    make_store(tmp_path / "old", *NAMES)
    words = ("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    assert "fairlead backup: cannot write" in refusal(*words, prelude=SMALL_FILES)
    assert {path.name for path in tmp_path.iterdir()} == {"old"}


def test_a_full_disk_leaves_nothing_of_a_restore(tmp_path: Path) -> None:
    make_store(tmp_path / "old", *NAMES)
    succeed("backup", tmp_path / "file", "--data-dir", tmp_path / "old")
    words = ("restore", tmp_path / "file", "--data-dir", tmp_path / "new")
    assert "fairlead restore: cannot write" in refusal(*words, prelude=SMALL_FILES)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backup",), "FILE"),
        (("backup", "f"), "one of --kubeconfig, --data-dir and --storage=etcd"),
        (("backup", "f", "--data-dir", "d", "--kubeconfig", "k"), "one of --kubeconfig"),
        (("restore", "f"), "one of --data-dir and --storage=etcd"),
        (("restore", "f", "--storage", "etcd", "--data-dir", "d"), "one of --data-dir"),
        (("restore", "f", "--storage", "etcd"), "--etcd-servers must be specified"),
        (("migrate", "--from", "etcd", "--to", "etcd"), "has to be a directory"),
        (("restore", "f", "--data-dir", "d", "--revision-gap", "-1"), "must not be negative"),
        (("migrate", "--from", "a"), "--to"),
    ],
)
def test_what_is_not_understood_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    code, output = fairlead(*words)
    assert code == 2
    assert message in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_backup_leaves_nothing(
    tmp_path: Path, neighbour: Neighbour, number: signal.Signals, code: int
) -> None:
    never = threading.Event()
    neighbour.answer = lambda item: Reply(pieces=[(None, packed()), (never, b"more")])
    config = plain_config(tmp_path / "config", neighbour.port)
    (tmp_path / "into").mkdir()
    words = command("backup", tmp_path / "into" / "file", "--kubeconfig", config)
    running = subprocess.Popen(words, stderr=subprocess.PIPE)
    eventually(lambda: bool(neighbour.requests), "the backup has begun")
    running.send_signal(number)
    _, output = running.communicate(timeout=20)
    never.set()
    assert (running.returncode, output) == (code, b"")
    assert not list((tmp_path / "into").iterdir())


def test_an_answer_that_is_cut_off_leaves_nothing(tmp_path: Path, neighbour: Neighbour) -> None:
    neighbour.answer = lambda item: Reply(pieces=[(None, packed())], cut_off=True)
    config = plain_config(tmp_path / "config", neighbour.port)
    error = refusal("backup", tmp_path / "file", "--kubeconfig", config)
    assert "unexpected EOF" in error
    assert not (tmp_path / "file").exists()


def test_an_answer_that_is_no_backup_is_not_kept(tmp_path: Path, neighbour: Neighbour) -> None:
    neighbour.answer = lambda item: Reply(body=b"<html>hello</html>")
    config = plain_config(tmp_path / "config", neighbour.port)
    error = refusal("backup", tmp_path / "file", "--kubeconfig", config)
    assert "is not a backup that Fairlead made" in error
    assert not (tmp_path / "file").exists()
