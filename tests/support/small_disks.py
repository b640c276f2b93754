"""Servers with a directory on a small disk, which tests fill up or make read-only.

The disk is a tmpfs in a namespace of mounts that a process of ours holds: nothing is left over when
that ends. Its files are reached through `/proc/<pid>/root`.
"""

from __future__ import annotations

import resource
import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from support.process import ServerProcess

_KEEP = 'mkdir -p "$1" && mount -t tmpfs -o size="$2",mode=700 small "$1" && echo made && read _'
_UNSHARED = ("unshare", "--mount", "--propagation", "private", "--")


def _may_mount() -> bool:
    with suppress(OSError):
        mount = [*_UNSHARED, "mount", "-t", "tmpfs", "small", "/mnt"]
        return subprocess.run(mount, capture_output=True, check=False).returncode == 0
    return False


needs_mounts = pytest.mark.skipif(not _may_mount(), reason="this user may not mount a disk")


class SmallDisk:
    """A disk at a directory, for servers that are `attach`ed to it."""

    def __init__(self, directory: Path, size: str = "3m") -> None:
        self._directory = directory
        command = [*_UNSHARED, "sh", "-c", _KEEP, "sh", str(directory), size]
        self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == b"made\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keeper.communicate(timeout=10)

    def attach(self, server: ServerProcess) -> ServerProcess:
        server.wrapper = self._inside
        server.root = Path(f"/proc/{self._keeper.pid}/root")
        return server

    @property
    def _inside(self) -> tuple[str, ...]:
        return ("nsenter", f"--mount=/proc/{self._keeper.pid}/ns/mnt", "--")

    @property
    def path(self) -> Path:
        """The directory as this process sees it."""
        return Path(f"/proc/{self._keeper.pid}/root{self._directory}")

    def fill(self) -> None:
        with suppress(OSError), (self.path / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)

    def clear(self) -> None:
        (self.path / "filler").unlink()

    def remount(self, mode: str) -> None:
        """Make it `ro` or `rw`; no file on it may be open for writing."""
        mount = ("mount", "-o", f"remount,{mode}", str(self._directory))
        subprocess.run([*self._inside, *mount], check=True)


def refuse_writes(pid: int) -> None:
    """Let a process write to no file any more: each write fails, as on a disk with errors."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def allow_writes(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
