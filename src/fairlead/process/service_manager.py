"""The service manager that started this process, such as systemd: the socket that it hands over, so
that a restart loses no connection attempt, and the states of the server that are sent to it.

It speaks through environment variables: LISTEN_FDS and LISTEN_PID (sockets), NOTIFY_SOCKET (where
states are sent), WATCHDOG_USEC and WATCHDOG_PID (how often the server must show that it is alive).
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress

from fairlead.process.assembly import StartError

_FIRST_FD = 3
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


def inherited_listener(
    environment: MutableMapping[str, str] = os.environ,
) -> socket.socket | None:
    """Return the listening socket that the service manager hands over, None if there is none.
    Raises StartError if it hands over anything else."""
    count, owner = (environment.pop(name, "") for name in ("LISTEN_FDS", "LISTEN_PID"))
    environment.pop("LISTEN_FDNAMES", None)
    if owner != str(os.getpid()) or count in ("", "0"):
        return None
    if count != "1":
        raise StartError(f"LISTEN_FDS: {count} sockets are handed over, only one can be served")
    try:
        listener = socket.socket(fileno=_FIRST_FD)
    except OSError as error:
        raise StartError(f"LISTEN_FDS: descriptor {_FIRST_FD}: {error.strerror}") from None
    if listener.family not in _FAMILIES or listener.type != socket.SOCK_STREAM:
        raise StartError(f"LISTEN_FDS: descriptor {_FIRST_FD} is no TCP socket")
    if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise StartError(f"LISTEN_FDS: descriptor {_FIRST_FD} does not listen")
    listener.set_inheritable(False)
    return listener


class ServiceManager:
    """Sends the states of the server to the service manager, if there is one. A state that cannot
    be sent is dropped: it is no reason to stop serving."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        watched = environment.pop("WATCHDOG_PID", "") in ("", str(os.getpid()))
        interval = environment.pop("WATCHDOG_USEC", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.is_there = bool(address)
        # Half of the time after which a silent process is killed; None if it is not watched.
        self.sign_of_life_every: float | None = None
        if self.is_there and watched and interval.isdigit() and int(interval):
            self.sign_of_life_every = int(interval) / 2e6

    def ready(self, status: str) -> None:
        self._tell("READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        self._tell("STOPPING=1", "STATUS=finishing running requests")

    def reloading(self) -> None:
        """Send that a reload has begun; call `ready` after it."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    async def keep_alive(self) -> None:
        """Send signs of life from the event loop, until cancelled."""
        assert self.sign_of_life_every is not None
        while True:
            self.alive()
            await asyncio.sleep(self.sign_of_life_every)

    def _tell(self, *states: str) -> None:
        if not self.is_there:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.connect(self._address)
            sender.send("\n".join(states).encode())
