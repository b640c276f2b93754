"""Credentials that are fetched, and fetched again when they no longer hold."""

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
    """A proof, and the time from which on it does not hold; None for one that stays good."""

    proof: Proof
    expires: float | None = None


class RenewedCredentials:
    """Keeps a proof until it expires or a server refuses it. `fetch` runs in a thread of its own,
    once for all that wait, on whichever loop they are; it raises AccessError. `replaceable` says
    whether a refused proof can be followed by a better one."""

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
        """Only the proof that is kept is dropped: another one has taken the place of an older one
        already, for whoever was refused first."""
        if not self._replaceable:
            return False
        with self._lock:
            if self._fetched is not None and self._fetched.proof is proof:
                self._fetched = None
        return True

    def _is_expired(self, fetched: Fetched) -> bool:
        return fetched.expires is not None and self._now() >= fetched.expires

    def _started(self) -> Future[Proof]:
        """The thread does not keep the process: a plugin may wait for a person who has left."""
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
        except Exception as error:  # nobody who waits may be left waiting
            return None, CredentialsError(f"getting credentials: {error}")


async def _result_of(fetching: Future[Proof]) -> Proof:
    """Who gives up waiting takes nothing from those that still wait, and a loop that has ended
    meanwhile is told nothing."""
    loop = asyncio.get_running_loop()
    mine: asyncio.Future[Proof] = loop.create_future()

    def settle() -> None:
        if not mine.done():
            error = fetching.exception()
            if error is None:
                mine.set_result(fetching.result())
            else:
                mine.set_exception(error)

    def tell(_: Future[Proof]) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle)

    fetching.add_done_callback(tell)
    return await mine


_KNOWN: dict[Hashable, RenewedCredentials] = {}
_KNOWN_LOCK = Lock()
_MOST_KNOWN = 256


def shared(key: Hashable, make: Callable[[], RenewedCredentials]) -> RenewedCredentials:
    """The credentials that this process has for a key: clients of one configuration share
    them."""
    with _KNOWN_LOCK:
        found = _KNOWN.get(key)
        if found is None:
            while len(_KNOWN) >= _MOST_KNOWN:
                del _KNOWN[next(iter(_KNOWN))]
            found = _KNOWN[key] = make()
        return found
