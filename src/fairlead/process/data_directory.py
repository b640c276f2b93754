"""The data directory and its files, which only their owner can ever access."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_OPEN_TO_OTHERS = 0o077
_OUR_NAMES = ("admin.kubeconfig", "console", "lock", "pki")  # besides fairlead.*
_MAX_BYTES = 1024 * 1024


class FileError(Exception):
    """A file or directory is unusable; the message is for the user who starts the server."""


def keep_private() -> None:
    """Set the umask so that all files that this process creates are accessible to their owner
    only."""
    os.umask(_OPEN_TO_OTHERS)


def prepare_directory(directory: Path) -> None:
    """Create the data directory, or remove the access rights of others from it. Sets the umask.
    Raises FileError."""
    keep_private()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close(directory)
        for entry in _entries(directory):
            if _is_our_name(entry.name):
                _close_entry(entry)
        for entry in _entries(directory / "pki"):
            _close_entry(entry)
    except OSError as error:
        raise FileError(f"cannot use {directory}: {error.strerror}") from None


def _close(directory: Path) -> None:
    status = directory.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise FileError(f"{directory} belongs to another user")
    if not status.st_mode & _OPEN_TO_OTHERS:
        return
    if status.st_uid != os.geteuid():
        raise FileError(
            f"{directory} is accessible to other users, and its permissions cannot be changed"
        )
    if status.st_mode & stat.S_ISVTX or not _is_ours(directory):
        raise FileError(
            f"others can enter {directory} and it holds files that are not ours: name a directory"
            " of its own, or close it with chmod 700"
        )
    directory.chmod(0o700)


def _is_ours(directory: Path) -> bool:
    """Return whether the directory is empty or a server's data directory."""
    names = [entry.name for entry in _entries(directory) if entry.name != "lost+found"]
    return not names or any(_is_our_name(name) for name in names)


def _is_our_name(name: str) -> bool:
    return name in _OUR_NAMES or name.startswith("fairlead.")


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _close_entry(entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        raise FileError(f"{entry.path} is a symbolic link; a data directory has none")
    status = entry.stat(follow_symlinks=False)
    if status.st_uid not in (os.geteuid(), 0):
        raise FileError(f"{entry.path} belongs to another user")
    if not status.st_mode & _OPEN_TO_OTHERS or status.st_uid != os.geteuid():
        return
    if not entry.is_dir(follow_symlinks=False) and not stat.S_ISREG(status.st_mode):
        return
    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, status.st_mode & 0o700)
    finally:
        os.close(descriptor)


def make_private_directory(directory: Path) -> None:
    """Create a directory for the owner only. Raises FileError."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {directory}: {error.strerror}") from None


def write_private(path: Path, content: bytes) -> None:
    """Replace a file atomically, readable by its owner only; raises FileError."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        _write_fresh(fresh, content)
        os.replace(fresh, path)
        _settle(path.parent)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror}") from None


def _write_fresh(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settle(directory: Path) -> None:
    """Flush the directory entries to disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_private(path: Path) -> bytes:
    """Read one of our own files, which must not be a link or empty; raises FileError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(f"{path} is not a file")
            content = file.read(_MAX_BYTES)
    except OSError as error:
        why = "it is a symbolic link" if path.is_symlink() else error.strerror
        raise FileError(f"cannot read {path}: {why}") from None
    if not content.strip():
        raise FileError(f"{path} is empty")
    return content
