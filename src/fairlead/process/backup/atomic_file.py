"""The file of a new backup: it appears under its name when complete, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fairlead.process.backup.errors import BackupError


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` for writing and reading. It is renamed to `path` when the
    block ends without an exception and deleted otherwise. Never overwrites a file. Raises
    BackupError."""
    if path.is_symlink() or path.exists():
        raise _exists(path)
    try:
        descriptor, name = tempfile.mkstemp(".partial", f".{path.name[:100]}.", path.parent)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror}") from None
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _rename(partial, path)
    except OSError as error:
        raise BackupError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _rename(partial: Path, path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise _exists(path) from None
    try:
        os.replace(partial, path)
    except BaseException:
        path.unlink()
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _exists(path: Path) -> BackupError:
    return BackupError(f"{path} exists; a backup overwrites nothing")
