"""One worker's place among those of a server: what they share, and what its parent says."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from fairlead.base.records import dataclass
from fairlead.storage.workers.page import Page, Slot

OWNER = 0
READY, STOP, HURRY = b"r", b"s", b"h"  # what worker and parent say to each other


@dataclass(frozen=True)
class Place:
    """`listener` is where all take connections, `peers` where this one answers the others.
    `shares_log` says that they have one embedded log: the first one's, which the others follow."""

    number: int
    page: Page
    directory: Path  # theirs alone
    listener: socket.socket
    peers: socket.socket
    control: socket.socket
    shares_log: bool
    started: float  # when the server was, not this process

    @property
    def owns_log(self) -> bool:
        return self.shares_log and self.number == OWNER

    @property
    def follows_owner(self) -> bool:
        return self.shares_log and self.number != OWNER

    @property
    def slot(self) -> Slot:
        return self.page.slot(self.number)

    def heed_parent(self, stop: Callable[[], None], hurry: Callable[[], None]) -> None:
        """Call what the parent asks for. Without a parent there is nobody who would start anew
        what dies, or let go of the port: then this ends as if it were killed, too."""
        self.control.setblocking(False)

        def hear() -> None:
            try:
                heard = self.control.recv(16)
            except BlockingIOError:
                return
            except OSError:
                heard = b""
            if not heard:
                shutil.rmtree(self.directory, ignore_errors=True)
                os._exit(1)
            if STOP in heard:
                stop()
            if HURRY in heard:
                hurry()

        asyncio.get_running_loop().add_reader(self.control, hear)

    def tell_ready(self, found: str) -> None:
        """`found` says what was in the store; of the owner it reaches the parent."""
        if self.number == OWNER:
            found_file(self.directory).write_text(found)
        self.slot.set_ready(True)
        self.control.send(READY)


def found_file(directory: Path) -> Path:
    """Where the owner of the store says what it found."""
    return directory / "found"


def socket_of(directory: Path, worker: int) -> Path:
    """Where a worker answers the others."""
    return directory / f"worker-{worker}"
