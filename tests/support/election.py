"""Servers that want to lead, on one store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from fairlead.admission.plugin import Plugin
from fairlead.base import clock
from fairlead.base.election import Pace
from fairlead.base.errors import StatusError
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.servers.election import LEASES, Elector
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client, system_user
from fairlead.storage.backend import StorageError
from support.api import config_map
from support.shared_store import Servers, on_servers
from support.waiting import comes_true

NAMESPACE, LEASE = "work", "lead"


class CutOff(Client):
    """Reads from its cache and writes, unless it is cut off: then requests fail or get no
    answer."""

    is_cut = hangs = False

    async def _reach(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_cut:
            raise StorageError("no connection")

    async def create(self, key: str, value: Object) -> Object:
        await self._reach()
        return await super().create(key, value)

    async def replace(self, key: str, value: Object) -> Object:
        await self._reach()
        return await super().replace(key, value)


@dataclass(eq=False)
class Candidate:
    """One server; its work writes a config map for every item of `writes`."""

    api: Api
    name: str
    starts: int = 0
    works: bool = False
    refusals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = CutOff(self.api, system_user(self.name))
        self.events = EventWriter()
        recorder = Recorder(self.events, self.client, "manager")
        lease = (NAMESPACE, LEASE)
        self.elector = Elector(
            self.api, self.client, recorder, lease, Pace(), self.name, self._work
        )
        self.writes: asyncio.Queue[str] = asyncio.Queue()
        self.fails = asyncio.Event()
        self.task = asyncio.create_task(self.elector.run())

    async def _work(self) -> None:
        self.starts += 1
        self.works = True
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write())
                group.create_task(self._fail())
        finally:
            self.works = False

    async def _fail(self) -> None:
        await self.fails.wait()
        raise RuntimeError("defect")

    async def _write(self) -> None:
        objects = Client(self.api, system_user(self.name))
        while True:
            value = config_map(await self.writes.get())
            value["metadata"]["namespace"] = "work"
            try:
                await objects.create("core/v1/configmaps", value)
            except StatusError as error:
                self.refusals.append(f"{error.code} {error.message}")

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Election:
    """Any number of candidates for one lease."""

    def __init__(self, servers: Servers, api: Api) -> None:
        self.api = api
        self.servers = servers
        self.candidates: list[Candidate] = []

    async def join(self, name: str) -> Candidate:
        self.candidates.append(Candidate(await self.servers.start(), name))
        return self.candidates[-1]

    async def leader(self, name: str) -> Candidate:
        """Wait until the candidate of this name leads and works, and return it."""
        (result,) = (candidate for candidate in self.candidates if candidate.name == name)
        await comes_true(lambda: result.elector.leads and result.works, f"{name} leads")
        await self.api.store.catch_up()
        return result

    async def pass_time(self, seconds: float) -> None:
        """A second at a time; at no time does more than one lead."""
        while seconds > 0:
            clock.advance(min(1.0, seconds))
            seconds -= 1.0
            for _ in range(3):
                await asyncio.sleep(0.005)
                assert sum(candidate.elector.leads for candidate in self.candidates) <= 1
                assert sum(candidate.works for candidate in self.candidates) <= 1

    @property
    def lease(self) -> Object:
        lease = self.api.lookup(LEASES, NAMESPACE, LEASE)
        assert lease is not None
        return lease

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"])

    def has(self, name: str) -> bool:
        return self.api.lookup("core/v1/configmaps", "work", name) is not None

    async def stop(self) -> None:
        for candidate in self.candidates:
            await candidate.stop()


def hold(course: Callable[[Election], Awaitable[None]], plugins: Sequence[Plugin] = ()) -> None:
    """Let an election take its course."""

    async def work(servers: Servers, first: Api) -> None:
        election = Election(servers, first)
        try:
            await course(election)
        finally:
            await election.stop()

    on_servers(work, NAMESPACE, plugins)
