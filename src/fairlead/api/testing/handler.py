"""The handler chain with fault injection and recording."""

from __future__ import annotations

from fairlead.api.answers import Answer, Verb
from fairlead.api.chain import Handler
from fairlead.api.request import Request
from fairlead.api.testing import GROUP
from fairlead.api.testing.effects import get_handler_at
from fairlead.api.testing.faults import Faults
from fairlead.api.testing.record import Record
from fairlead.api.testing.snapshots import Snapshots
from fairlead.base.deferred import Outcome
from fairlead.base.waiting import result_of
from fairlead.operations.api import Api
from fairlead.resources.registry import Resource


class PowerfulHandler(Handler):
    """Records every request and injects matching faults. Requests to the testing group itself are
    exempt."""

    def __init__(
        self, api: Api, address: str, faults: Faults, record: Record, snapshots: Snapshots
    ) -> None:
        super().__init__(api, address)
        self._faults = faults
        self._snapshots = snapshots
        self._record = record

    def route(self, request: Request) -> None:
        super().route(request)
        if request.target.group != GROUP:
            self._record.begin(request)

    def verb(self, request: Request, resource: Resource) -> Verb:
        revision = self._faults.past.pop(id(request), 0)
        return get_handler_at(revision) if revision else super().verb(request, resource)

    def answer(self, request: Request) -> Outcome[Answer]:
        if request.target.group == GROUP:
            return super().answer(request)
        return self._answer(request)

    async def _answer(self, request: Request) -> Answer:
        await self._snapshots.wait_for_restore()
        if self._faults.active:
            return await self._faults.answer(request, self._answer_without_faults)
        return await self._answer_without_faults(request)

    async def _answer_without_faults(self, request: Request) -> Answer:
        return await result_of(super().answer(request))
