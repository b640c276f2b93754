"""The journal of a backup: what is appended is read, what was cut off never counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.backups import ROWS

from fairlead.process.backup.archive import ArchiveError, BackupError
from fairlead.process.backup.journal import Batch, Journal, JournalHeader, JournalWriter

HEADER = JournalHeader("cluster", 2, "uid", "0" * 64)
BATCHES = [
    Batch(3, "2026-01-02T03:04:05.000000Z", [ROWS[0]]),
    Batch(9, "2026-01-02T03:04:06.000000Z", [ROWS[1], ROWS[2]._replace(value=None)]),
    Batch(11, "2026-01-02T03:04:07.000000Z", []),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with three batches."""
    path = tmp_path / "journal"
    writer = JournalWriter.create(path, HEADER)
    for batch in BATCHES:
        writer.append(batch)
    writer.close()
    return path


def read(path: Path) -> list[Batch]:
    with path.open("rb") as file:
        return list(Journal(path, file).batches())


def test_journal_has_what_was_appended(path: Path) -> None:
    assert read(path) == BATCHES


def test_journal_continues_where_it_ended(path: Path) -> None:
    writer = JournalWriter.resume(path)
    assert (writer.header, writer.revision) == (HEADER, 11)
    more = Batch(12, "2026-01-02T03:04:08.000000Z", [ROWS[0]._replace(revision=12)])
    writer.append(more)
    writer.close()
    assert read(path) == [*BATCHES, more]


def test_journal_cut_off_anywhere_has_the_whole_batches_and_continues(path: Path) -> None:
    content = path.read_bytes()
    for length in range(len(HEADER.encode()), len(content)):
        path.write_bytes(content[:length])
        whole = read(path)
        assert whole == BATCHES[: len(whole)]
        writer = JournalWriter.resume(path)
        for batch in BATCHES[len(whole) :]:
            writer.append(batch)
        writer.close()
        assert path.read_bytes() == content


def test_journal_with_a_flipped_bit_never_shows_other_batches(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(len(content) * 8):
        content[place // 8] ^= 1 << place % 8
        path.write_bytes(content)
        found: list[Batch] = []
        try:
            with path.open("rb") as file:
                for batch in Journal(path, file).batches():
                    found.append(batch)
        except ArchiveError:
            pass
        content[place // 8] ^= 1 << place % 8
        assert found == BATCHES[: len(found)]


def test_damaged_journal_names_the_last_good_revision(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b"[9,", b"[8,"))
    with pytest.raises(ArchiveError, match="damaged after revision 3, which is the last"):
        read(path)


def test_journal_of_another_format_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"journal 1", b"journal 2", 1))
    with pytest.raises(ArchiveError, match="not a journal of format 1"):
        read(path)


def test_append_that_fails_leaves_nothing_and_can_be_repeated(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    content = path.read_bytes()
    writer = JournalWriter.resume(path)
    full = OSError(28, "No space left on device")

    def half(descriptor: int, data: bytes, position: int) -> int:
        os.lseek(descriptor, position, os.SEEK_SET)
        os.write(descriptor, data[: len(data) // 2])
        raise full

    more = Batch(12, "2026-01-02T03:04:08.000000Z", [ROWS[0]._replace(revision=12)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(BackupError, match="No space left"):
            writer.append(more)
    assert path.read_bytes().startswith(content)
    assert read(path) == BATCHES
    writer.append(more)
    writer.close()
    assert read(path) == [*BATCHES, more]


def test_journal_that_could_not_be_begun_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    path = tmp_path / "journal"
    with pytest.raises(BackupError, match="No space left"):
        JournalWriter.create(path, HEADER)
    assert not path.exists()
