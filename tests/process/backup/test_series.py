"""Directories of backups: `--follow`, `--every`, `--keep`, `--verify`, and their restores."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.backups import (
    SMALL_FILES,
    Follower,
    admin_config,
    fairlead,
    make_store,
    refusal,
    stored,
    succeed,
)
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.base import clock
from fairlead.process.backup.series import Series
from fairlead.storage.backend import Write
from fairlead.storage.sqlite.backend import SqliteBackend

LARGE = [f"thing-{number}" for number in range(3000)]


def write(directory: Path, *writes: Write) -> int:
    """Write to a data directory; return its revision."""
    backend = SqliteBackend(directory, "cluster")
    backend.open()
    list(backend.heads())
    backend.append(writes)
    revision = backend.revision
    backend.close()
    return revision


def put(key: str, value: str, expected: int = 0) -> Write:
    content = json.dumps({"metadata": {"name": key}, "value": value}).encode()
    return Write("core/things", key, "v1", content, expected)


def revision_of(directory: Path, key: str) -> int:
    return next(row.revision for row in stored(directory)[1] if row.key == key)


def contents(directory: Path) -> dict[str, str]:
    """The values by key."""
    return {row.key: json.loads(row.value or b"")["value"] for row in stored(directory)[1]}


@pytest.fixture
def followed(tmp_path: Path) -> tuple[Path, list[int]]:
    """A series with a base and a journal of a data directory, and the revisions that it had: with
    {a: 1}, {a: 2, b: 1}, {a: 2}."""
    data, series = tmp_path / "data", tmp_path / "series"
    revisions = [write(data, put("a", "1"))]
    succeed("backup", "--follow", series, "--data-dir", data)
    revisions.append(write(data, put("a", "2", revisions[0]), put("b", "1")))
    deletion = Write("core/things", "b", "v1", None, revisions[1])
    revisions.append(write(data, deletion))
    succeed("backup", "--follow", series, "--data-dir", data)
    return series, revisions


def restored(tmp_path: Path, series: Path, *words: object) -> dict[str, str]:
    succeed("restore", series, "--data-dir", tmp_path / "new", *words)
    return contents(tmp_path / "new")


def test_restore_of_a_series_has_the_newest_state(
    tmp_path: Path, followed: tuple[Path, list[int]]
) -> None:
    series, revisions = followed
    assert restored(tmp_path, series) == {"a": "2"}
    assert stored(tmp_path / "new")[0] == revisions[2] + 1_000_000_000


@pytest.mark.parametrize(
    ("index", "state"), [(0, {"a": "1"}), (1, {"a": "2", "b": "1"}), (2, {"a": "2"})]
)
def test_restore_to_a_revision_has_the_state_at_it(
    tmp_path: Path, followed: tuple[Path, list[int]], index: int, state: dict[str, str]
) -> None:
    series, revisions = followed
    assert restored(tmp_path, series, "--to-revision", revisions[index]) == state


def test_restored_objects_that_had_changed_later_get_revisions_above_all_known(
    tmp_path: Path, followed: tuple[Path, list[int]]
) -> None:
    series, revisions = followed
    restored(tmp_path, series, "--to-revision", revisions[0], "--revision-gap", "0")
    assert revision_of(tmp_path / "new", "a") > revisions[2]
    assert stored(tmp_path / "new")[0] >= revision_of(tmp_path / "new", "a")


@pytest.fixture
def hours() -> Iterator[Callable[[], str]]:
    """Returns the time and moves the clock on by an hour, at each call."""

    def next_hour() -> str:
        clock.advance(1800)
        now = clock.now().isoformat()
        clock.advance(1800)
        return now

    yield next_hour
    clock.reset()


def test_restore_to_a_time_has_the_state_that_was_known_then(
    tmp_path: Path, hours: Callable[[], str]
) -> None:
    data, series = tmp_path / "data", tmp_path / "series"
    times = [hours()]
    for number in range(3):
        write(data, put(str(number), "1"))
        succeed("backup", "--follow", series, "--data-dir", data)
        times.append(hours())
    words = ("restore", series, "--data-dir", tmp_path / "new", "--to-time")
    assert "the oldest backup was made within the second of" in refusal(*words, times[0])
    assert "the backups end at" in refusal(*words, times[3])
    for number in (1, 2):
        succeed("restore", series, "--data-dir", tmp_path / str(number), "--to-time", times[number])
        assert list(contents(tmp_path / str(number))) == [str(n) for n in range(number)]


@pytest.mark.parametrize(
    ("revision", "message"),
    [(10**9, "the backups end at revision"), (0, "the oldest backup is of revision")],
)
def test_revision_that_a_series_does_not_have_is_refused(
    tmp_path: Path, followed: tuple[Path, list[int]], revision: int, message: str
) -> None:
    words = ("restore", followed[0], "--data-dir", tmp_path / "new", "--to-revision", revision)
    assert message in refusal(*words)
    assert not (tmp_path / "new").exists()


def test_gap_in_the_changes_begins_another_base(
    tmp_path: Path, followed: tuple[Path, list[int]]
) -> None:
    series, _ = followed
    backend = SqliteBackend(tmp_path / "data", "cluster")
    backend.open()
    list(backend.heads())
    for number in range(3):
        backend.append([put(f"later-{number}", "1")])
    while backend.compact(backend.revision):
        pass
    newest = backend.revision
    backend.close()
    succeed("backup", "--follow", series, "--data-dir", tmp_path / "data")
    assert len(Series(series).bases()) == 2
    assert "nothing between the revisions" in refusal(
        "restore", series, "--data-dir", tmp_path / "new", "--to-revision", newest - 1
    )
    assert "later-2" in restored(tmp_path, series)


def test_another_store_begins_another_base(
    tmp_path: Path, followed: tuple[Path, list[int]]
) -> None:
    series, revisions = followed
    namespace = b'{"metadata":{"name":"cluster-system","uid":"other"}}'
    write(tmp_path / "other", Write("core/namespaces", "cluster-system", "v1", namespace, 0))
    for number in range(revisions[2]):
        write(tmp_path / "other", put(f"x{number}", "other"))
    succeed("backup", "--follow", series, "--data-dir", tmp_path / "other")
    assert len(Series(series).bases()) == 2


def test_damaged_journal_begins_another_base(
    tmp_path: Path, followed: tuple[Path, list[int]]
) -> None:
    series, _ = followed
    journal = Series(series).bases()[0].journal
    content = bytearray(journal.read_bytes())
    content[-40] ^= 1
    journal.write_bytes(content)
    assert "is damaged" in refusal("backup", series, "--verify")
    succeed("backup", "--follow", series, "--data-dir", tmp_path / "data")
    assert len(Series(series).bases()) == 2


def test_verification_prints_what_can_be_restored(
    followed: tuple[Path, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    series, revisions = followed
    succeed("backup", series, "--verify")
    lines = capsys.readouterr().out.splitlines()
    assert f"1 objects at revision {revisions[0]}" in lines[0]
    assert f"up to revision {revisions[2]}" in lines[1]


def test_keep_deletes_the_oldest_backups(tmp_path: Path) -> None:
    make_store(tmp_path / "data", "a")
    for _ in range(4):
        succeed("backup", tmp_path / "series", "--data-dir", tmp_path / "data", "--keep", "2")
    assert [base.number for base in Series(tmp_path / "series").bases()] == [3, 4]


def test_full_disk_leaves_the_backups_before(tmp_path: Path) -> None:
    data, series = tmp_path / "data", tmp_path / "series"
    make_store(data, "a")
    words = ("backup", series, "--data-dir", data, "--keep", "1")
    succeed(*words)
    shutil.rmtree(data)
    make_store(data, *LARGE)
    assert "cannot write" in refusal(*words, prelude=SMALL_FILES)
    assert [base.number for base in Series(series).bases()] == [1]
    assert not list(series.glob(".*"))
    succeed("restore", series, "--data-dir", tmp_path / "new")


def test_remains_of_a_killed_backup_are_deleted(tmp_path: Path) -> None:
    make_store(tmp_path / "data", "a")
    series = tmp_path / "series"
    series.mkdir()
    (series / ".000001-20260102T030405Z.backup.x1y2.partial").write_bytes(b"fairlead")
    (series / "000001-20260102T030405Z.journal").write_bytes(b"fairlead")
    succeed("backup", series, "--data-dir", tmp_path / "data", "--keep", "2")
    assert {path.suffix for path in series.iterdir()} == {"", ".backup"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backup", "s", "--data-dir", "d", "--keep", "0"), "--keep: at least one"),
        (("backup", "s", "--data-dir", "d", "--every", "10ms"), "--every: at least 1s"),
        (("backup", "s", "--verify", "--follow"), "--verify reads backups"),
        (("backup", "s", "--verify", "--data-dir", "d"), "no store is named"),
        (("restore", "s", "--data-dir", "d", "--to-time", "yesterday"), "is not a time such as"),
        (("restore", "s", "--data-dir", "d", "--to-time", "2026-01-01"), "is not a time such as"),
        (
            *(("restore", "s", "--data-dir", "d", "--to-revision", "1"),),
            "is a single backup",
        ),
    ],
)
def test_contradictory_flags_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[0] == "restore":
        Path("s").write_bytes(b"")
    code, output = fairlead(*words)
    assert code in (1, 2)
    assert message in output
    assert output.count("\n") == 1


def test_follower_of_a_server_goes_on_after_a_restart_of_either(
    tmp_path: Path, fresh_server: FreshServer
) -> None:
    server = fresh_server()
    config, series = admin_config(server), tmp_path / "series"
    follower = Follower(series, "--kubeconfig", config)
    space = Space(server, server.client())
    follower.has(space.secrets.create("first")["metadata"]["resourceVersion"])
    address = server.address.rsplit(":", 1)[1]
    server.flags = (*server.flags, "--secure-port", address)
    server.stop()
    server.start()
    space = Space(server, server.client())
    follower.has(space.secrets.create("second")["metadata"]["resourceVersion"])
    assert "trying again" in follower.stop()
    between = space.secrets.create("third")
    follower = Follower(series, "--kubeconfig", config)
    follower.has(between["metadata"]["resourceVersion"])
    assert follower.stop() == ""
    assert len(Series(series).bases()) == 1


def test_second_writer_of_a_series_is_refused(tmp_path: Path, server: ServerProcess) -> None:
    series = tmp_path / "series"
    follower = Follower(series, "--kubeconfig", admin_config(server))
    eventually(lambda: follower.reached() > 0, "the server is followed")
    make_store(tmp_path / "data", "a")
    words = ("backup", series, "--data-dir", tmp_path / "data", "--keep", "1")
    assert "another command writes backups to" in refusal(*words)
    follower.stop()


def test_rotation_leaves_no_gap_between_bases(tmp_path: Path, kubernetes: Space) -> None:
    series = tmp_path / "series"
    config = admin_config(kubernetes.server)
    follower = Follower(series, "--kubeconfig", config, "--every", "1s", "--keep", "5")
    revisions: list[int] = []

    def rotated() -> bool:
        created = kubernetes.secrets.create(f"s{len(revisions)}")
        revisions.append(int(created["metadata"]["resourceVersion"]))
        return len(Series(series).bases()) >= 3 if series.is_dir() else False

    eventually(rotated, "the base is replaced twice")
    follower.has(revisions[-1])
    follower.stop()
    first = Series(series).bases()[0].header().revision
    for revision in [revision for revision in revisions if revision > first][::7]:
        target = tmp_path / f"at-{revision}"
        succeed("restore", series, "--data-dir", target, "--to-revision", revision)
        rows = [row for row in stored(target)[1] if row.key.startswith(f"{kubernetes.name}/s")]
        expected = {
            f"{kubernetes.name}/s{n}" for n, known in enumerate(revisions) if known <= revision
        }
        assert {row.key for row in rows if row.resource == "core/secrets"} == expected
