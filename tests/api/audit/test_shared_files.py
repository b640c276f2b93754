"""An audit log shared by several processes: whole lines, none lost, one process rotates."""

from __future__ import annotations

import fcntl
import gzip
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.waiting import eventually

from fairlead.api.audit import rotation
from fairlead.api.audit.rotation import Rotation, SharedFile

WRITERS, LINES = 4, 900


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "locks").mkdir()
    return tmp_path / "logs" / "audit.log"


def shared(path: Path, **rotation: Any) -> SharedFile:
    return SharedFile(path, Rotation(**rotation), path.parent.parent / "locks")


def line(writer: int, number: int) -> bytes:
    return b"%d %d %b\n" % (writer, number, b"x" * 1200)


def write_lines(path: Path, writer: int, **rotation: int) -> None:
    file = shared(path, **rotation)
    for number in range(LINES):
        file.write(line(writer, number))
    file.close()


def write_in_processes(path: Path, **rotation: int) -> None:
    children = []
    for writer in range(WRITERS):
        pid = os.fork()
        if pid == 0:
            try:
                write_lines(path, writer, **rotation)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0


def all_lines(path: Path) -> Counter[bytes]:
    counter: Counter[bytes] = Counter()
    for item in path.parent.iterdir():
        content = gzip.decompress(item.read_bytes()) if item.suffix == ".gz" else item.read_bytes()
        counter.update(content.splitlines(keepends=True))
    return counter


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeout of the lock: a busy machine may stop the process that holds it."""
    monkeypatch.setattr(rotation, "_PATIENCE", 60.0)


def expected_lines() -> Counter[bytes]:
    return Counter(line(writer, n) for writer in range(WRITERS) for n in range(LINES))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("compress", [0, 1])
def test_processes_lose_and_split_no_line_while_one_makes_room(path: Path, compress: int) -> None:
    write_in_processes(path, max_megabytes=1, compress=compress)
    assert all_lines(path) == expected_lines()
    assert len(list(path.parent.iterdir())) == 5
    assert all(item.stat().st_size <= 1 << 20 for item in path.parent.iterdir())


@pytest.mark.parametrize("compress", [0, 1])
def test_processes_lose_and_split_no_line_out_of_turn(
    path: Path, compress: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "_PATIENCE", 0.0)
    write_in_processes(path, max_megabytes=1, compress=compress)
    assert all_lines(path) == expected_lines()


def test_what_is_packed_has_the_line_that_was_written_out_of_turn_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, other = shared(path), shared(path, max_megabytes=1, compress=1)
    look = late._check_current

    def look_and_be_stopped() -> None:
        look()
        os.close(holder)
        for number in range(LINES):
            other.write(line(1, number))
        time.sleep(0.2)  # it could be packed meanwhile

    monkeypatch.setattr(late, "_check_current", look_and_be_stopped)
    holder = os.open(path.parent.parent / "locks" / "audit-write", os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    late.write(line(0, 0))
    other.close()
    late.close()
    assert list(path.parent.glob("*.gz"))
    assert len(all_lines(path)) == LINES + 1


def test_what_another_one_has_put_aside_is_not_written_to(path: Path) -> None:
    first, other = shared(path), shared(path)
    first.write(b"before\n")
    path.rename(path.with_name("aside.log"))
    first.write(b"after\n")
    other.write(b"after too\n")
    assert path.read_bytes() == b"after\nafter too\n"
    assert path.with_name("aside.log").read_bytes() == b"before\n"
    first.close()
    other.close()


def test_one_that_was_stopped_in_its_turn_holds_up_nobody(path: Path) -> None:
    file = shared(path, max_megabytes=1)
    holder = os.open(path.parent.parent / "locks" / "audit-write", os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    for number in range(2000):
        file.write(line(0, number))
    assert len(list(path.parent.iterdir())) == 1
    os.close(holder)
    file.write(line(0, 2000))
    assert len(list(path.parent.iterdir())) == 2
    assert len(all_lines(path)) == 2001
    file.close()


@pytest.mark.usefixtures("patient")
def test_packing_is_left_to_one_at_a_time(path: Path) -> None:
    write_in_processes(path, max_megabytes=1, max_backups=2, compress=1)
    tidy = shared(path, max_megabytes=1, max_backups=2, compress=1)

    def endings() -> list[str]:
        return sorted(item.suffix for item in path.parent.iterdir())

    eventually(lambda: endings() == [".gz", ".gz", ".log"], "two are kept, packed")
    for packed in path.parent.glob("*.gz"):
        assert set(gzip.decompress(packed.read_bytes()).splitlines(keepends=True)) <= {
            line(writer, n) for writer in range(WRITERS) for n in range(LINES)
        }
    tidy.close()
