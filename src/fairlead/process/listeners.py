"""Accepts connections, at a socket of this process or at one that workers share."""

from __future__ import annotations

import argparse
import asyncio
import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairlead.base.logs import Logger
from fairlead.process.assembly import StartError
from fairlead.process.service_manager import inherited_listener

if TYPE_CHECKING:
    from fairlead.storage.workers.page import Slot

logger = Logger("fairlead")

_ACCEPT_DELAY = 0.001  # seconds in which a worker with fewer connections may accept first
_PAUSE = 0.1  # after a failure to accept
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 32
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def listen(options: argparse.Namespace) -> socket.socket:
    """Return the socket that a service manager hands over, whose address then replaces that of the
    options, or bind one as they say. Raises StartError."""
    inherited = inherited_listener()
    if inherited is not None:
        options.bind_address, options.secure_port = inherited.getsockname()[:2]
        return inherited
    family = socket.AF_INET6 if ":" in options.bind_address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.bind_address, options.secure_port))
    except OSError as error:
        listener.close()
        where = f"{options.bind_address}:{options.secure_port}"
        raise StartError(f"cannot listen on {where}: {error.strerror}") from None
    return listener


def shown_address(options: argparse.Namespace, listener: socket.socket) -> str:
    """Return the host and port to publish to clients."""
    host, port = listener.getsockname()[:2]
    host = options.advertise_address or host
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Acceptor:
    """Accepts connections and hands them to `connect`, with the client's address. If several
    workers share the socket (`slot`), one with more connections than another waits for a moment
    before it accepts, so that connections spread evenly and a busy, stopped or dead worker delays
    none."""

    def __init__(
        self,
        listener: socket.socket,
        slot: Slot | None,
        connect: Callable[[socket.socket, Any], object],
    ) -> None:
        self._listener = listener
        self._listener.setblocking(False)
        self._listener.listen(_BACKLOG)
        self._slot = slot
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._has_yielded = False  # this connection was left to the other workers once
        self._closed = False
        self._wait()

    def _wait(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener, self._take)

    def _wait_later(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, self._wait)

    def _take(self) -> None:
        """Accept connections. If more wait, the event loop calls again."""
        if self._slot is not None and not self._has_yielded and self._is_busier(self._slot):
            self._has_yielded = True
            self._wait_later(_ACCEPT_DELAY)
            return
        self._has_yielded = False
        for _ in range(_ACCEPTED_AT_ONCE if self._slot is None else 1):
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return  # another worker accepted it, or the client disconnected
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                logger.error("cannot accept connections", err=error.strerror)
                self._wait_later(_PAUSE)
                return
            self._begin(accepted, address)

    def _begin(self, accepted: socket.socket, address: Any) -> None:
        try:
            self._connect(accepted, address)
        except OSError:
            accepted.close()
        except Exception:
            logger.exception("cannot accept a connection")
            accepted.close()

    def _is_busier(self, slot: Slot) -> bool:
        return slot.load > min(slot.page.loads(), default=0)

    def close(self) -> None:
        self._closed = True
        self._loop.remove_reader(self._listener)
        self._listener.close()
