"""A network namespace with one link to this one, whose packets can be dropped.

A process of ours holds it: nothing is left over when that and the processes inside have ended.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self

import pytest


def _may_isolate() -> bool:
    with suppress(OSError):
        inside = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
        return subprocess.run(inside, capture_output=True, check=False).returncode == 0
    return False


needs_networks = pytest.mark.skipif(
    not _may_isolate(), reason="this user may not create network namespaces"
)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Network:
    """The namespace; `address` is the one of its processes."""

    def __init__(self) -> None:
        number = os.getpid() % 16_000
        base = f"10.{216 + number // 4000}.{number % 4000 // 16}"
        host = number % 16 * 16
        self._outside, self.address = f"{base}.{host + 1}", f"{base}.{host + 2}"
        self._name = f"fl{os.getpid()}"
        self._keeper = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo made && read _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == b"made\n"

    def __enter__(self) -> Self:
        pid = str(self._keeper.pid)
        peer = ("type", "veth", "peer", "name", "inside", "netns", pid)
        _ip("link", "add", self._name, *peer)
        _ip("addr", "add", f"{self._outside}/30", "dev", self._name)
        _ip("link", "set", self._name, "up")
        self._ip_inside("addr", "add", f"{self.address}/30", "dev", "inside")
        self._ip_inside("link", "set", "inside", "up")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", self._name)
        self._keeper.communicate(timeout=10)

    @property
    def wrapper(self) -> tuple[str, ...]:
        """Runs a command inside."""
        return ("nsenter", f"--net=/proc/{self._keeper.pid}/ns/net", "--")

    def _ip_inside(self, *words: str) -> None:
        subprocess.run([*self.wrapper, "ip", *words], check=True, capture_output=True)

    def cut(self) -> None:
        """Drop all packets that leave it: who connects hears nothing, not even a refusal."""
        self._ip_inside("route", "add", "blackhole", f"{self._outside}/32")

    def mend(self) -> None:
        self._ip_inside("route", "del", "blackhole", f"{self._outside}/32")
