"""Secrets that the server has handed out, each good until its time is up: as files, so that all
processes of a server know them, and know them after a restart.

A file is named by the hash of its secret: who reads the directory learns none. Its time of
modification is when it ends, which can be moved without a moment in which there are two or none.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from fairlead.base.clock import time
from fairlead.base.records import dataclass

_SECRET = re.compile(r"[0-9a-f]{16}\.[-\w]{43}", re.ASCII)
_BITS = 256
_NEW, _LONGEST_WRITE = ".new", 60.0  # seconds until what is not yet in its place was left behind
_MOST, _MOST_OF_AN_OWNER = 10_000, 32


class TooManyHandouts(Exception):
    """So many are good at once that there can be no more."""


@dataclass(frozen=True, slots=True)
class Handout:
    content: bytes
    until: float  # unix time


class Handouts:
    """Raises OSError where the directory cannot be used."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def hand_out(self, owner: str, content: bytes, until: float) -> str:
        """A new secret. Of those of one owner the oldest ones go when there are many. Raises
        TooManyHandouts."""
        mark = sha256(owner.encode(errors="surrogatepass")).hexdigest()[:16]
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(mark)
        secret = f"{mark}.{secrets.token_urlsafe(_BITS // 8)}"
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

    def find(self, secret: str) -> Handout | None:
        """What belongs to a secret that is good."""
        return self._read(self._file(secret)) if _SECRET.fullmatch(secret) else None

    def take(self, secret: str) -> Handout | None:
        """The same for one who is the first to take it, in whichever process: for others it is not
        good any more."""
        if not _SECRET.fullmatch(secret):
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
        """Move the end of a secret, if it is still there."""
        try:
            os.utime(self._file(secret), (until, until))
        except FileNotFoundError:
            return False
        return True

    def end(self, secret: str) -> None:
        """It is not good any more, whatever happens to the machine."""
        if not _SECRET.fullmatch(secret):
            return
        self._file(secret).unlink(missing_ok=True)
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def following(self, secret: str) -> Callable[[], float]:
        """What tells when a secret ends that was found, each time that it is asked; 0 if it has
        been ended."""
        path = str(self._file(secret))

        def ends_at() -> float:
            try:
                return os.stat(path).st_mtime
            except OSError:
                return 0.0

        return ends_at

    def _file(self, secret: str) -> Path:
        return self._directory / f"{secret[:16]}.{sha256(secret.encode()).hexdigest()}"

    def _read(self, path: Path) -> Handout | None:
        try:
            with path.open("rb") as file:
                until = os.fstat(file.fileno()).st_mtime
                return Handout(file.read(), until) if time() < until else None
        except OSError:  # whatever the reason, nobody knows it
            return None

    def _make_room(self, mark: str) -> None:
        left = sorted(self._swept())
        own = [path for _, path in left if os.path.basename(path).startswith(f"{mark}.")]
        for path in own[: max(0, len(own) + 1 - _MOST_OF_AN_OWNER)]:
            with suppress(FileNotFoundError):
                os.unlink(path)
        if len(left) >= _MOST:
            raise TooManyHandouts

    def _swept(self) -> Iterator[tuple[float, str]]:
        """The files that are left when those are gone whose time is up."""
        now = time()
        with os.scandir(self._directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another process has done it
                    until = entry.stat(follow_symlinks=False).st_mtime
                    if until + (_LONGEST_WRITE if entry.name.endswith(_NEW) else 0) <= now:
                        os.unlink(entry.path)
                    else:
                        yield until, entry.path
