"""The resources that a worker shares with the other workers of its server, and its control socket
to the parent."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairlead.storage.workers.page import Page, Slot

OWNER = 0
# Messages between worker and parent.
READY, STOP, STOP_NOW, RELOAD = b"r", b"s", b"h", b"l"


@dataclass(frozen=True)
class WorkerSlot:
    """The slot of one worker. All workers of a server accept connections at `listener`; `peers` is
    the socket at which this worker serves the others. `shares_log`: there is one embedded log,
    which worker 0 owns and the others follow."""

    number: int
    page: Page
    directory: Path  # private to the workers of this server
    listener: socket.socket
    peers: socket.socket
    control: socket.socket
    shares_log: bool
    started: float  # start of the server, not of this process

    @property
    def owns_log(self) -> bool:
        return self.shares_log and self.number == OWNER

    @property
    def follows_owner(self) -> bool:
        return self.shares_log and self.number != OWNER

    @property
    def slot(self) -> Slot:
        return self.page.slot(self.number)

    def listen_to_parent(
        self, stop: Callable[[], None], hurry: Callable[[], None], reload: Callable[[], None]
    ) -> None:
        """Call one of the functions when the parent requests it. If the parent dies, exit at once:
        a worker without it would not be restarted and would keep the port in use."""
        self.control.setblocking(False)

        def receive() -> None:
            try:
                received = self.control.recv(16)
            except BlockingIOError:
                return
            except OSError:
                received = b""
            if not received:
                shutil.rmtree(self.directory, ignore_errors=True)
                os._exit(1)
            if STOP in received:
                stop()
            if STOP_NOW in received:
                hurry()
            if RELOAD in received:
                reload()

        asyncio.get_running_loop().add_reader(self.control, receive)

    def notify_ready(self, data_found: str) -> None:
        """Notify the parent that this worker is ready. `data_found` describes the store's contents;
        the parent uses that of worker 0."""
        if self.number == OWNER:
            contents_file(self.directory).write_text(data_found)
        self.slot.set_ready(True)
        self.control.send(READY)


def contents_file(directory: Path) -> Path:
    """Return the file in which worker 0 describes the store's contents."""
    return directory / "found"


def socket_of(directory: Path, worker: int) -> Path:
    """Return the path of the socket at which a worker serves the others."""
    return directory / f"worker-{worker}"
