"""The audit log file: its lines, its rotation, and full disks."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest
from support.waiting import eventually

from fairlead.api.audit.rotation import RotatingFile, Rotation
from fairlead.base import clock

LINE = b"x" * 1023 + b"\n"
MEGABYTE = 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "audit.log"


def backups(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if item != path)


def fill(file: RotatingFile, lines: int) -> None:
    for _ in range(lines):
        file.write(LINE)


def test_the_file_and_its_directory_are_for_their_owner_alone(path: Path) -> None:
    RotatingFile(path, Rotation()).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_there_is_added_to(path: Path) -> None:
    for _ in range(2):
        file = RotatingFile(path, Rotation())
        file.write(LINE)
        file.close()
    assert path.read_bytes() == LINE * 2


def test_a_full_file_is_put_aside_under_the_time(path: Path) -> None:
    file = RotatingFile(path, Rotation(max_megabytes=1))
    fill(file, MEGABYTE + 1)
    file.close()
    (aside,) = backups(path)
    moment = f"{clock.now():%Y-%m-%dT%H}"
    assert aside.startswith(f"audit-{moment}")
    assert aside.endswith(".log")
    assert (path.parent / aside).read_bytes() == LINE * MEGABYTE
    assert path.read_bytes() == LINE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_only_so_many_old_files_are_kept(path: Path) -> None:
    file = RotatingFile(path, Rotation(max_megabytes=1, max_backups=2))
    fill(file, MEGABYTE * 4 + 1)
    eventually(lambda: len(backups(path)) == 2, "the oldest are gone")
    file.close()


def test_old_files_are_removed_after_their_days(path: Path) -> None:
    path.parent.mkdir()
    old, strange = "audit-2001-02-03T04-05-06.789.log", "audit-notes.log"
    for name in (old, strange):
        (path.parent / name).write_bytes(b"")
    file = RotatingFile(path, Rotation(max_days=3))
    eventually(lambda: backups(path) == [strange], "the old one is gone, and no other")
    file.close()


def test_old_files_are_packed(path: Path) -> None:
    file = RotatingFile(path, Rotation(max_megabytes=1, compress=True))
    fill(file, MEGABYTE + 1)
    eventually(lambda: [n[-7:] for n in backups(path)] == [".log.gz"], "the old one is packed")
    file.close()
    (packed,) = backups(path)
    assert gzip.decompress((path.parent / packed).read_bytes()) == LINE * MEGABYTE
    assert stat.S_IMODE((path.parent / packed).stat().st_mode) == 0o600


def test_an_event_longer_than_a_file_may_be_is_refused(path: Path) -> None:
    file = RotatingFile(path, Rotation(max_megabytes=1))
    with pytest.raises(OSError, match="larger than the maximum size of a log file"):
        file.write(b"x" * (1024 * 1024 + 1))
    file.write(LINE)
    file.close()
    assert path.read_bytes() == LINE


def test_of_a_line_that_does_not_fit_nothing_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RotatingFile(path, Rotation())
    file.write(LINE)
    real, room = os.write, [700]

    def write(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(descriptor, data[: room[0]])
        room[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space"):
            file.write(LINE)
    file.write(LINE)
    file.close()
    assert path.read_bytes() == LINE * 2


@pytest.mark.parametrize("taken", ["file", "directory"])
def test_a_log_that_somebody_took_away_is_begun_anew_when_it_is_full(
    path: Path, taken: str
) -> None:
    file = RotatingFile(path, Rotation(max_megabytes=1))
    fill(file, MEGABYTE)
    path.unlink()
    if taken == "directory":
        path.parent.rmdir()
    fill(file, 3)
    file.close()
    assert path.read_bytes() == LINE * 3


def test_a_log_that_could_not_be_put_aside_goes_on_when_it_can(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    file = RotatingFile(path, Rotation(max_megabytes=1))
    fill(file, MEGABYTE)
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        for _ in range(2):
            with pytest.raises(PermissionError):
                file.write(LINE)
    file.write(LINE)
    file.close()
    assert path.read_bytes() == LINE
    assert len(backups(path)) == 1
