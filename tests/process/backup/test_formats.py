"""`fairlead migrate --data-dir` converts a directory in place, forward and back, or not at all."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.backups import SMALL_FILES, command, fairlead, refusal, stored

from fairlead import __version__
from fairlead.storage.backend import Write
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.format import FORMAT

MAPS = "core/configmaps"
COUNT = 300
# Kills the process when a function is called for the given time.
KILLED = """
import os, signal
from fairlead.storage.sqlite import {module} as module
inner, calls = module.{name}, 0
def counted(*arguments):
    global calls
    calls += 1
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(*arguments)
module.{name} = counted
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory in the current format."""
    backend = SqliteBackend(tmp_path / "data", "kubernetes")
    backend.open()
    names = [f"default/{number}" for number in range(COUNT)]
    value = b'{"data":{"k":"%b"}}' % (b"x" * 500)
    namespace = Write("core/namespaces", "kube-system", "v1", b"{}", 0)
    backend.append([namespace, *(Write(MAPS, name, "v1", value, 0) for name in names)])
    backend.append([Write(MAPS, names[0], "v1", None, 2)])
    backend.close()
    return tmp_path / "data"


def format_of(directory: Path) -> int:
    db = sqlite3.connect(directory / "fairlead.db")
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    finally:
        db.close()


def files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def migrate(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert fairlead("migrate", "--data-dir", *words) == (0, "")
    return capsys.readouterr().out


def test_it_goes_back_and_forth_and_keeps_what_was(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, database = stored(directory), directory / "fairlead.db"
    copy = f"{database}.format-{FORMAT}.revision-{before[0]}"
    assert migrate(capsys, directory, "--to-format", 1) == (
        f"{database} had format {FORMAT}, last written by release {__version__}; it now has 1\n"
        f"the database as it was is in {copy}\n"
    )
    assert format_of(directory) == 1
    assert migrate(capsys, directory).startswith(f"{database} had format 1; it now has {FORMAT}\n")
    assert stored(directory) == before
    Path(copy).replace(database)
    assert stored(directory) == before


def test_a_directory_in_that_format_already_is_left_alone(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(directory)
    output = migrate(capsys, directory)
    assert f"has format {FORMAT}, last written by release {__version__}; there is" in output
    assert files(directory) == before


def test_it_is_refused_while_a_server_uses_the_directory(directory: Path) -> None:
    backend = SqliteBackend(directory)
    backend.open()
    error = refusal("migrate", "--data-dir", directory, "--to-format", 1)
    backend.close()
    assert "is in use by another server" in error
    assert format_of(directory) == FORMAT


@pytest.mark.parametrize(
    ("module", "name", "call"),
    [
        ("migration", "_copy", 1),
        ("directory", "_sync", 1),
        ("directory", "_sync", 2),
        ("migration", "convert", 1),
        ("migration", "_old_key", 1),
        ("migration", "_old_key", COUNT),
    ],
)
def test_one_that_is_killed_leaves_the_old_file_and_can_be_repeated(
    directory: Path, module: str, name: str, call: int
) -> None:
    before = stored(directory)
    prelude = f"exec({KILLED.format(module=module, name=name, call=call)!r})"
    words = command("migrate", "--data-dir", directory, "--to-format", 1, prelude=prelude)
    assert subprocess.run(words, timeout=60, check=False).returncode == -9
    assert format_of(directory) == FORMAT
    assert stored(directory) == before
    assert "fairlead.db.new" not in files(directory)
    assert fairlead("migrate", "--data-dir", directory, "--to-format", 1) == (0, "")
    assert format_of(directory) == 1
    assert fairlead("migrate", "--data-dir", directory) == (0, "")
    assert stored(directory) == before
    assert "fairlead.db.new" not in files(directory)


def test_a_full_disk_changes_nothing(directory: Path) -> None:
    before = stored(directory), files(directory)
    words = ("migrate", "--data-dir", directory, "--to-format", 1)
    assert "cannot migrate" in refusal(*words, prelude=SMALL_FILES)
    assert (stored(directory), files(directory)) == before


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:16384])


def executing(statement: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        db = sqlite3.connect(path)
        db.execute(statement)
        db.commit()
        db.close()

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut_off, "damaged"),
        (
            executing("UPDATE log SET value = x'7b7d' WHERE revision = 9"),
            "is damaged at revision 9",
        ),
        (
            executing("DELETE FROM log WHERE revision = (SELECT max(revision) FROM log)"),
            "lost writes that were acknowledged",
        ),
        (executing("DELETE FROM state WHERE name = 'dialect'"), "`state` is not whole"),
        (executing("UPDATE state SET value = 'x' WHERE name = 'highest'"), "`state` is not whole"),
        (executing("UPDATE state SET value = 'odd' WHERE name = 'dialect'"), 'dialect, "odd"'),
        (executing("DROP TABLE state"), "no such table"),
        (executing("PRAGMA user_version = -3"), "it has format -3"),
    ],
)
def test_a_damaged_file_is_left_alone(
    directory: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(directory / "fairlead.db")
    before = (directory / "fairlead.db").read_bytes(), files(directory)
    assert message in refusal("migrate", "--data-dir", directory, "--to-format", 1)
    assert ((directory / "fairlead.db").read_bytes(), files(directory)) == before


def test_the_dialect_is_compared_or_named_where_it_is_unknown(
    directory: Path, tmp_path: Path
) -> None:
    other = ("--dialect", "cluster", "--to-format", 1)
    assert "of the kubernetes dialect" in refusal("migrate", "--data-dir", directory, *other)
    backend = SqliteBackend(tmp_path / "empty", "cluster")
    backend.open()
    backend.close()
    words = ("migrate", "--data-dir", tmp_path / "empty")
    assert fairlead(*words, "--to-format", 1) == (0, "")
    assert "name it with --dialect" in refusal(*words)
    assert fairlead(*words, "--dialect", "cluster") == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--data-dir", "d", "--to-format", "0"), "formats 1 to"),
        (("--data-dir", "d", "--to-format", str(FORMAT + 1)), "formats 1 to"),
        (("--data-dir", "d", "--from", "e"), "either --from and --to, or --data-dir"),
        (("--from", "a", "--to", "b", "--to-format", "1"), "--to-format needs --data-dir"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(words: tuple[str, ...], message: str) -> None:
    code, output = fairlead("migrate", *words)
    assert code == 2
    assert message in output
    assert output.count("\n") == 1
