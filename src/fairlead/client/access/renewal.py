"""Credentials that are fetched on demand and renewed when they expire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from time import time
from typing import NamedTuple

from fairlead.client.access.model import AccessError, CredentialsError, Proof


class Fetched(NamedTuple):
    """Credentials and their expiry; None if they do not expire."""

    proof: Proof
    expires: float | None = None


class RenewedCredentials:
    """Caches credentials until they expire or a server rejects them. `fetch` runs in a thread, once
    for all waiters on any event loop; it raises AccessError. `replaceable`: new credentials may
    work after a rejection."""

    def __init__(
        self,
        fetch: Callable[[], Fetched],
        *,
        replaceable: bool = True,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._fetch = fetch
        self._replaceable = replaceable
        self._now = now or time
        self._lock = Lock()
        self._fetched: Fetched | None = None
        self._fetching: Future[Proof] | None = None

    async def proof(self) -> Proof:
        with self._lock:
            if self._fetched is not None and not self._is_expired(self._fetched):
                return self._fetched.proof
            if self._fetching is None:
                self._fetching = self._started()
            fetching = self._fetching
        return await _result_of(fetching)

    def refused(self, proof: Proof) -> bool:
        """Drop the cached credentials if they are the rejected ones. Otherwise an earlier rejection
        has replaced them already."""
        if not self._replaceable:
            return False
        with self._lock:
            if self._fetched is not None and self._fetched.proof is proof:
                self._fetched = None
        return True

    def _is_expired(self, fetched: Fetched) -> bool:
        return fetched.expires is not None and self._now() >= fetched.expires

    def _started(self) -> Future[Proof]:
        """Start the fetch in a daemon thread, which does not keep the process alive: a plugin may
        wait for input forever."""
        fetching: Future[Proof] = Future()
        fetching.set_running_or_notify_cancel()
        Thread(target=self._run, args=(fetching,), daemon=True).start()
        return fetching

    def _run(self, fetching: Future[Proof]) -> None:
        fetched, error = self._attempt()
        with self._lock:
            self._fetched, self._fetching = fetched, None
        if fetched is not None:
            fetching.set_result(fetched.proof)
        else:
            fetching.set_exception(error)

    def _attempt(self) -> tuple[Fetched | None, Exception | None]:
        try:
            return self._fetch(), None
        except AccessError as error:
            return None, error
        except Exception as error:  # never leave waiters hanging
            return None, CredentialsError(f"getting credentials: {error}")


async def _result_of(fetching: Future[Proof]) -> Proof:
    """Wait for a fetch without owning it: cancelling the wait does not affect other waiters, and a
    closed event loop is ignored."""
    loop = asyncio.get_running_loop()
    mine: asyncio.Future[Proof] = loop.create_future()

    def settle() -> None:
        if not mine.done():
            error = fetching.exception()
            if error is None:
                mine.set_result(fetching.result())
            else:
                mine.set_exception(error)

    def on_done(_: Future[Proof]) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle)

    fetching.add_done_callback(on_done)
    return await mine


_SHARED: dict[Hashable, RenewedCredentials] = {}
_SHARED_LOCK = Lock()
_MAX_SHARED = 256


def shared(key: Hashable, make: Callable[[], RenewedCredentials]) -> RenewedCredentials:
    """The credentials for a key, shared by all clients of the process with the same
    configuration."""
    with _SHARED_LOCK:
        credentials = _SHARED.get(key)
        if credentials is None:
            while len(_SHARED) >= _MAX_SHARED:
                del _SHARED[next(iter(_SHARED))]
            credentials = _SHARED[key] = make()
        return credentials
