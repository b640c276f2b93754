"""How much of the processor simulated programs may take, together and those of each namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import thread_time

_MAX_NAMESPACES = 1_000
SLICE = 0.003  # seconds that a program or a server computes before other work gets a turn
_BURST = 0.02  # seconds of pauses of all that nobody keeps: many short commands begin at once


@dataclass(slots=True)
class _Share:
    """A namespace may compute again at a time of the event loop. Its programs wait in a queue."""

    free_at: float = 0.0
    queue: asyncio.Lock = field(default_factory=asyncio.Lock)


class ComputingTime:
    """After programs have computed for a time, all pause `pauses` times as long, and those of their
    namespace `pauses_of_namespace` times, less the `credit` in seconds that it has at first."""

    def __init__(
        self, pauses: float = 1.0, pauses_of_namespace: float = 3.0, credit: float = 1.0
    ) -> None:
        self._pauses, self._pauses_of_namespace = pauses, pauses_of_namespace
        self._credit = credit
        self._free_at = 0.0
        self._is_measuring = False
        self._shares: dict[str, _Share] = {}

    def pause(self, namespace: str) -> float:
        """Seconds until programs of a namespace may compute again; not positive: they may now."""
        share = self._shares.get(namespace)
        until = max(
            self._free_at - _BURST, share.free_at - self._credit if share is not None else 0.0
        )
        return until - asyncio.get_running_loop().time()

    def spend(self, namespace: str, seconds: float) -> None:
        """Note that a program has computed."""
        moment = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, moment) + seconds * self._pauses
        share = self._share(namespace, moment)
        share.free_at = max(share.free_at, moment) + seconds * self._pauses_of_namespace

    @contextmanager
    def measured(self, namespace: str) -> Iterator[None]:
        """Note how long is computed within, which never waits."""
        if self._is_measuring:
            yield
            return
        self._is_measuring, began = True, thread_time()
        try:
            yield
        finally:
            self._is_measuring = False
            self.spend(namespace, thread_time() - began)

    async def turn(self, namespace: str) -> None:
        """Wait until a program of a namespace may compute. Other work of the event loop always goes
        first: time that passes because the machine is busy counts as a pause."""
        await asyncio.sleep(0)
        async with self._share(namespace, asyncio.get_running_loop().time()).queue:
            while (wait := self.pause(namespace)) > 0:  # noqa: ASYNC110 - until the clock says so
                await asyncio.sleep(wait)

    def _share(self, namespace: str, moment: float) -> _Share:
        if len(self._shares) >= _MAX_NAMESPACES:
            self._shares = {
                name: share
                for name, share in self._shares.items()
                if share.free_at > moment or share.queue.locked()
            }
        return self._shares.setdefault(namespace, _Share())


class Pace:
    """Lets a server of a namespace answer as fast as the others there let it."""

    def __init__(self, computing: ComputingTime, namespace: str) -> None:
        self._computing = computing
        self._namespace = namespace
        self._spent = 0.0

    async def after(self, seconds: float) -> None:
        """Wait until the server may go on that has computed for a time."""
        self._spent += seconds
        if self._spent > SLICE:
            self._computing.spend(self._namespace, self._spent)
            self._spent = 0.0
            await self._computing.turn(self._namespace)
