"""Leases: what lies under one ends with it. Many keys share one."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.messages import GRANT, GrantRequest, encode, read_lease

_LARGEST_SHARE = 0.05  # of its time that a key may last longer, for the sake of sharing


class _Lease(NamedTuple):
    number: int
    ttl: int
    until: float


class Leases:
    """`reuse` is for how many seconds a lease is given to new keys, `most` to how many of them."""

    def __init__(self, client: Client, reuse: int = 60, most: int = 1000) -> None:
        self._client = client
        self._reuse = reuse
        self._most = most
        self._lock = asyncio.Lock()
        self._current: dict[int, _Lease] = {}
        self._used: dict[int, int] = {}

    async def lease(self, ttl: int) -> int:
        """One that lasts for so many seconds from now, and little longer; raises CallFailed."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            found = self._current.get(ttl)
            is_fresh = found is not None and loop.time() + ttl < found.until
            if found is not None and is_fresh and self._used[ttl] < self._most:
                self._used[ttl] += 1
                return found.number
            longer = max(min(self._reuse, int(ttl * _LARGEST_SHARE)), 0)
            now = loop.time()
            raw = await self._client.call(GRANT, encode(GrantRequest, ttl=ttl + longer))
            self._current[ttl] = _Lease(read_lease(raw), ttl, now + ttl + longer)
            self._used[ttl] = 1
            return self._current[ttl].number

    def forget(self, number: int) -> None:
        """It is over, whatever was thought of it."""
        for ttl, lease in list(self._current.items()):
            if lease.number == number:
                del self._current[ttl]
