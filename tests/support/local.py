"""An owner of a log and those who follow it over a socket, as stores in one process."""

from __future__ import annotations

import socket
from pathlib import Path

from fairlead.storage.embedded import EmbeddedLog
from fairlead.storage.followed import FollowedLog
from fairlead.storage.local.calls import Desk
from fairlead.storage.local.page import Page
from fairlead.storage.local.sharing import Sharing
from fairlead.storage.local.source import SharedSource
from fairlead.storage.sqlite import SqliteBackend
from fairlead.storage.store import Store


class Family:
    """One data directory. The owner can be lost and come back; its socket stays."""

    def __init__(self, directory: Path) -> None:
        self.page = Page(2)
        self._data = directory / "data"
        self._path = str(directory / "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self._path)
        self._listener.listen()
        self._desk: Desk | None = None
        self._stores: list[Store] = []
        self.owner: Store

    async def start_owner(self) -> Store:
        self._desk = Desk(self._listener)
        log = EmbeddedLog(SqliteBackend(self._data))
        sharing = log.sharing = Sharing(self.page, self._desk, log)
        self.owner = Store(log)
        await self.owner.open()
        sharing.begin(self.owner)
        await self._desk.open()
        return self.owner

    async def lose_owner(self) -> None:
        """Nobody answers any more; what was committed is on disk."""
        if self._desk is not None:
            await self._desk.close()
            self._desk = None
            await self.owner.close()

    def source(self) -> SharedSource:
        return SharedSource(self._path, self.page)

    async def follower(self) -> Store:
        store = Store(FollowedLog(self.source()))
        await store.open()
        self._stores.append(store)
        return store

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
        await self.lose_owner()
        self._listener.close()
