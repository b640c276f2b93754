"""Tar archives to and from containers. What an archive may write stays inside of its target:
names that lead out of it are refused, also through symbolic links."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Condition
from typing import IO, Any

Warn = Callable[[str], None]

_MAX_WAITING = 1024 * 1024  # bytes that are received and not written yet
_PIECE = 64 * 1024
_MODE = 0o777  # without setuid and the like
_MAX_NAMED = 20  # entries that are left out


class HostileArchive(Exception):
    """An archive whose entries are not what was asked for; the text says which."""


class ReceivedBytes:
    """Bytes from the event loop, to be read as a file by a thread. `put` waits while too much is
    unread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting = bytearray()
        self._has_ended = self._is_closed = False

    def put(self, data: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < _MAX_WAITING or self._is_closed)
            if not self._is_closed:
                self._waiting += data
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Read no more: what follows is dropped."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def read(self, size: int) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._has_ended)
            data = bytes(self._waiting[:size])
            del self._waiting[:size]
            self._changed.notify_all()
            return data


class SentBytes:
    """A file whose bytes are passed on as they are written."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def write(self, data: bytes) -> int:
        self._send(bytes(data))
        return len(data)


def pack(source: Path, name: str, target: Any) -> None:
    """Write an archive of a file or directory whose entries begin with `name`. Symbolic links stay
    links. Raises OSError."""
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        archive.add(source, arcname=name)


class Unpacking:
    """Writes the entries below `prefix` of an archive to `target`: a file there, or the content of
    a directory."""

    def __init__(self, prefix: str, target: Path, warn: Warn) -> None:
        self._prefix = _steps(prefix)
        self._target = target
        self._warn = warn
        self._left_out = 0
        self.count = 0  # entries that were written

    def run(self, source: ReceivedBytes) -> None:
        """Raises HostileArchive, OSError and tarfile.TarError."""
        try:
            with tarfile.open(fileobj=source, mode="r|") as archive:  # type: ignore[call-overload]
                for entry in archive:
                    self._write(archive, entry)
                while source.read(_PIECE):  # zeros behind the end
                    pass
        except tarfile.ReadError as error:
            if self.count or str(error) != "empty file":
                raise
        finally:
            source.close()
        if self._left_out > _MAX_NAMED:
            self._warn(f"{self._left_out - _MAX_NAMED} more entries are left out")

    def _write(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        steps = _steps(entry.name)
        if steps[: len(self._prefix)] != self._prefix:
            raise HostileArchive(f"the archive has an entry that was not asked for: {entry.name!r}")
        below = steps[len(self._prefix) :]
        root = self._target if below or entry.isdir() else self._target.parent
        path = self._target.joinpath(*below)
        inside = root.resolve()
        inside.mkdir(parents=True, exist_ok=True)
        parent = path.parent.resolve() if path != self._target or not entry.isdir() else inside
        if not parent.is_relative_to(inside):
            raise HostileArchive(f"an entry of the archive leads out of {root}: {entry.name!r}")
        self.count += 1
        if entry.isdir():
            self._write_directory(path, parent, inside, entry)
            return
        parent.mkdir(parents=True, exist_ok=True)
        path = parent / path.name
        if entry.isreg():
            content = archive.extractfile(entry)
            assert content is not None
            _write_file(path, content, entry.mode)
        elif entry.issym():
            self._write_link(path, inside, entry)
        elif entry.islnk():
            self._write_copy(path, inside, entry)
        else:
            self._leave_out(entry, "it is no file, directory or link")

    def _write_directory(
        self, path: Path, parent: Path, inside: Path, entry: tarfile.TarInfo
    ) -> None:
        if path == self._target:
            return
        path = parent / path.name
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise HostileArchive(f"an entry of the archive leads out of {inside}: {entry.name!r}")
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(entry.mode & _MODE | stat.S_IRWXU)

    def _write_link(self, path: Path, inside: Path, entry: tarfile.TarInfo) -> None:
        """Write a symbolic link that stays inside."""
        if not _stays_inside(path.parent, entry.linkname, inside):
            self._leave_out(entry, f"the link leads elsewhere, to {entry.linkname!r}")
            return
        _remove_file(path)
        path.symlink_to(entry.linkname)

    def _write_copy(self, path: Path, inside: Path, entry: tarfile.TarInfo) -> None:
        """Write a hard link as a file of its own."""
        steps, start = _steps(entry.linkname), len(self._prefix)
        original = self._target.joinpath(*steps[start:])
        is_known = steps[:start] == self._prefix and original.resolve().is_relative_to(inside)
        if not is_known or original.is_symlink() or not original.is_file():
            self._leave_out(entry, f"the link leads elsewhere, to {entry.linkname!r}")
        elif original != path:
            with original.open("rb") as content:
                _write_file(path, content, original.stat().st_mode)

    def _leave_out(self, entry: tarfile.TarInfo, why: str) -> None:
        self.count -= 1
        self._left_out += 1
        if self._left_out <= _MAX_NAMED:
            self._warn(f"left out {entry.name!r}: {why}")


def _steps(name: str) -> tuple[str, ...]:
    """The steps of a path in an archive; raises HostileArchive if it goes up."""
    steps = tuple(step for step in name.split("/") if step not in ("", "."))
    if ".." in steps or "\0" in name:
        raise HostileArchive(f"the archive has a name that leads out of it: {name!r}")
    return steps


def _stays_inside(parent: Path, target: str, inside: Path) -> bool:
    """Whether a relative link in a directory leads to something inside. Links that go down and up
    again are taken for leading elsewhere: what is on the way could become a link later."""
    steps = [step for step in target.split("/") if step not in ("", ".")]
    ups = next((index for index, step in enumerate(steps) if step != ".."), len(steps))
    if target.startswith("/") or ".." in steps[ups:]:
        return False
    place = parent
    for _ in range(ups):
        place = place.parent
    return place.is_relative_to(inside)


def _write_file(path: Path, content: IO[bytes], mode: int) -> None:
    _remove_file(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR), "wb") as file:
        for piece in _pieces(content):
            file.write(piece)
        os.fchmod(file.fileno(), mode & _MODE)


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    while piece := content.read(_PIECE):
        yield piece


def _remove_file(path: Path) -> None:
    """Remove a file or link that is in the way."""
    with suppress(FileNotFoundError):
        path.unlink()
