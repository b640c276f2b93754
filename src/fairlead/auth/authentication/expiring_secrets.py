"""Secrets with an expiry that the server has issued. They are stored as files, so that all
processes of a server share them and they survive a restart; those in `shared_secrets` are objects.

A file is named by the hash of its secret, so reading the directory reveals no secrets. Its
modification time is the expiry, which can be changed atomically.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from fairlead.base.clock import time

_SECRET = re.compile(r"[0-9a-f]{16}\.[-\w]{43}", re.ASCII)
_BITS = 256
_NEW, _WRITE_TIMEOUT = ".new", 60.0  # seconds until an unfinished file counts as abandoned
MAX_SECRETS, MAX_PER_OWNER = 10_000, 32


class TooManySecrets(Exception):
    """The maximum number of valid secrets is reached."""


class IssuedSecret(NamedTuple):
    content: bytes
    until: float  # unix time


class Secrets(Protocol):
    """Issued secrets. Methods raise OSError if the storage fails; those that write block."""

    def issue(self, owner: str, content: bytes, until: float) -> str:
        """Issue a new secret. An owner with many secrets loses the oldest. Raises
        TooManySecrets."""

    def find(self, secret: str) -> IssuedSecret | None:
        """The content of a valid secret, else None."""

    def take(self, secret: str) -> IssuedSecret | None:
        """Like `find`, and revoke the secret: only the first caller gets the content."""

    def extend(self, secret: str, until: float) -> bool:
        """Change the expiry of a secret; returns False if it is gone."""

    def end(self, secret: str) -> None:
        """Revoke a secret durably."""

    def expiry_reader(self, secret: str) -> Callable[[], float]:
        """Returns a function that reads the current expiry of a secret; 0 if it was revoked."""

    def catch_up(self) -> Awaitable[None]:
        """Wait until `find` knows all secrets that were issued before the call."""


def is_secret(text: str) -> bool:
    return _SECRET.fullmatch(text) is not None


def mark_of(owner: str) -> str:
    """The beginning that all secrets of an owner share."""
    return sha256(owner.encode(errors="surrogatepass")).hexdigest()[:16]


def new_secret(mark: str) -> str:
    return f"{mark}.{secrets.token_urlsafe(_BITS // 8)}"


def hashed_name(secret: str) -> str:
    """The name of the file or object of a secret."""
    return f"{secret[:16]}.{sha256(secret.encode()).hexdigest()}"


class ExpiringSecrets:
    """A directory of issued secrets. Methods raise OSError if it is unusable."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def issue(self, owner: str, content: bytes, until: float) -> str:
        mark = mark_of(owner)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(mark)
        secret = new_secret(mark)
        fresh = self._directory / f"{secrets.token_hex(16)}{_NEW}"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        try:
            os.utime(fresh, (until, until))
            fresh.rename(self._file(secret))
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
        return secret

    def find(self, secret: str) -> IssuedSecret | None:
        return self._read(self._file(secret)) if is_secret(secret) else None

    def take(self, secret: str) -> IssuedSecret | None:
        if not is_secret(secret):
            return None
        taken = self._directory / f"{secrets.token_hex(16)}.taken"
        try:
            self._file(secret).rename(taken)
        except FileNotFoundError:
            return None
        try:
            return self._read(taken)
        finally:
            taken.unlink(missing_ok=True)

    def extend(self, secret: str, until: float) -> bool:
        try:
            os.utime(self._file(secret), (until, until))
        except FileNotFoundError:
            return False
        return True

    def end(self, secret: str) -> None:
        if not is_secret(secret):
            return
        self._file(secret).unlink(missing_ok=True)
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def expiry_reader(self, secret: str) -> Callable[[], float]:
        path = str(self._file(secret))

        def ends_at() -> float:
            try:
                return os.stat(path).st_mtime
            except OSError:
                return 0.0

        return ends_at

    async def catch_up(self) -> None:
        """Do nothing: all processes see a new file at once."""

    def _file(self, secret: str) -> Path:
        return self._directory / hashed_name(secret)

    def _read(self, path: Path) -> IssuedSecret | None:
        try:
            with path.open("rb") as file:
                until = os.fstat(file.fileno()).st_mtime
                return IssuedSecret(file.read(), until) if time() < until else None
        except OSError:  # any failure counts as unknown
            return None

    def _make_room(self, mark: str) -> None:
        left = sorted(self._sweep())
        own = [path for _, path in left if os.path.basename(path).startswith(f"{mark}.")]
        for path in own[: max(0, len(own) + 1 - MAX_PER_OWNER)]:
            with suppress(FileNotFoundError):
                os.unlink(path)
        if len(left) >= MAX_SECRETS:
            raise TooManySecrets

    def _sweep(self) -> Iterator[tuple[float, str]]:
        """Delete expired files and yield the remaining ones with their expiry."""
        now = time()
        with os.scandir(self._directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another process deleted it
                    until = entry.stat(follow_symlinks=False).st_mtime
                    if until + (_WRITE_TIMEOUT if entry.name.endswith(_NEW) else 0) <= now:
                        os.unlink(entry.path)
                    else:
                        yield until, entry.path
