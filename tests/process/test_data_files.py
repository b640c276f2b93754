"""A damaged data file is refused, with a message that names the reason."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from support.namespaces import Space
from support.process import ServerProcess, failed_start

from fairlead import __version__


@pytest.fixture(scope="module")
def used_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a server with some objects that has stopped."""
    server = ServerProcess(tmp_path_factory.mktemp("used")).start()
    space = Space(server, server.client())
    for number in range(30):
        space.config_maps.create(f"c{number}", data={"k": "x" * 500})
    assert server.stop() == 0
    return server.data


@pytest.fixture
def stopped(tmp_path: Path, used_directory: Path) -> Iterator[ServerProcess]:
    """A server with some objects, not running, on a directory of its own."""
    server = ServerProcess(tmp_path)
    copytree(used_directory, server.data)
    yield server
    server.kill()


def database(server: ServerProcess) -> Path:
    return server.data / "fairlead.db"


def refusal(server: ServerProcess) -> str:
    """Return the message of a server that refuses to start."""
    done = failed_start(server.directory)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert str(database(server)) in done.stderr
    return done.stderr


def test_a_good_file_is_taken(stopped: ServerProcess) -> None:
    stopped.start()
    assert len(stopped.client().get("/api/v1/configmaps").names) >= 30


def test_a_changed_value_is_found_by_its_checksum(stopped: ServerProcess) -> None:
    with sqlite3.connect(database(stopped)) as db:
        db.execute(
            "UPDATE log SET value = CAST(replace(value, 'xxxx', 'yyyy') AS BLOB)"
            " WHERE key LIKE '%/c7'"
        )
    db.close()
    assert "damaged at revision" in refusal(stopped)


@pytest.mark.parametrize("value", ["'text'", "5", "1.5"])
def test_a_value_of_another_type_is_refused(stopped: ServerProcess, value: str) -> None:
    with sqlite3.connect(database(stopped)) as db:
        db.execute(f"UPDATE log SET value = {value} WHERE key LIKE '%/c7'")
    db.close()
    assert "damaged" in refusal(stopped)


def test_a_changed_key_is_found_by_its_checksum(stopped: ServerProcess) -> None:
    with sqlite3.connect(database(stopped)) as db:
        db.execute("UPDATE log SET key = key || 'x' WHERE key LIKE '%/c7'")
    db.close()
    assert "damaged" in refusal(stopped)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9])
def test_flipped_bytes_are_refused(stopped: ServerProcess, part: float) -> None:
    raw = bytearray(database(stopped).read_bytes())
    start = int(len(raw) * part) & ~4095
    for index in range(start, start + 4096):
        raw[index] ^= 0xFF
    database(stopped).write_bytes(raw)
    assert "damaged" in refusal(stopped)


def test_a_lost_header_is_refused(stopped: ServerProcess) -> None:
    raw = bytearray(database(stopped).read_bytes())
    raw[:100] = bytes(100)
    database(stopped).write_bytes(raw)
    assert "not a Fairlead store" in refusal(stopped)


def test_a_file_that_was_cut_off_is_refused(stopped: ServerProcess) -> None:
    raw = database(stopped).read_bytes()
    database(stopped).write_bytes(raw[: len(raw) // 2])
    assert "damaged" in refusal(stopped)


def test_something_else_is_not_taken_for_a_database(stopped: ServerProcess) -> None:
    database(stopped).write_text("just some notes\n" * 100)
    assert "not a Fairlead store" in refusal(stopped)


def test_a_database_of_something_else_is_refused_and_left_alone(stopped: ServerProcess) -> None:
    for path in stopped.data.glob("fairlead.db*"):
        path.unlink()
    with sqlite3.connect(database(stopped)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    before = database(stopped).read_bytes()
    assert "is not a Fairlead store" in refusal(stopped)
    assert database(stopped).read_bytes() == before


def test_a_newer_format_is_refused_and_left_alone(stopped: ServerProcess) -> None:
    with sqlite3.connect(database(stopped)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version + 1}")
        db.execute("UPDATE state SET value = '9.1.0' WHERE name = 'release'")
    db.close()
    error = refusal(stopped)
    assert f"has format {version + 1}, written by a newer release, 9.1.0; this one" in error
    assert f"`fairlead migrate --data-dir {stopped.data} --to-format {version}`" in error
    assert error.count("\n") == 1
    assert failed_start(stopped.directory, "--read-only").stderr == error
    with sqlite3.connect(database(stopped)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    stopped.start()
    assert stopped.client().get("/readyz").status == 200


def test_a_refused_start_leaves_the_directory_free(stopped: ServerProcess) -> None:
    good = database(stopped).read_bytes()
    database(stopped).write_text("nonsense")
    refusal(stopped)
    for path in stopped.data.glob("fairlead.db*"):
        path.unlink()
    database(stopped).write_bytes(good)
    stopped.start()
    assert stopped.client().get("/readyz").status == 200


def test_the_release_that_wrote_a_directory_is_recorded(stopped: ServerProcess) -> None:
    def recorded() -> str:
        db = sqlite3.connect(database(stopped))
        (value,) = db.execute("SELECT value FROM state WHERE name = 'release'").fetchone()
        db.close()
        return str(value)

    assert recorded() == __version__
    with sqlite3.connect(database(stopped)) as db:
        db.execute("UPDATE state SET value = '9.1.0' WHERE name = 'release'")
    db.close()
    stopped.start()
    assert stopped.stop() == 0
    assert recorded() == __version__
