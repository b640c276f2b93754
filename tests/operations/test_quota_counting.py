"""The quota controller: resources that are added and removed, terminating pods."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.api import OPTIONS, TESTER, on_api, system
from support.waiting import comes_true
from support.widgets import make, widgets
from support.writes import create

from fairlead.admission.chain import Chain
from fairlead.admission.plugins.base import PODS
from fairlead.admission.plugins.resource_quota import QUOTAS, ResourceQuota
from fairlead.admission.plugins.resource_quota.usage import Pods, is_counted
from fairlead.base import backlog
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.quantity import Amount
from fairlead.codec.types.times import format_time
from fairlead.controllers import resource_quotas
from fairlead.controllers.framework import Controllers, LazyController
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.operations.api import Api
from fairlead.operations.delete import delete
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions

NAME = "count/configmaps.example.com"


def _used(api: Api) -> dict[str, str]:
    result = system(api).find(QUOTAS, "work", "q") or {}
    used: dict[str, str] = (result.get("status") or {}).get("used") or {}
    return used


def test_custom_resources_are_counted_from_when_they_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_quotas, "_RESOURCE_POLL_INTERVAL", 0.02)

    async def work(api: Api) -> None:
        find = api.newest
        api.admission = Chain(
            [ResourceQuota(KUBERNETES, find, lambda key: api.collection(api.resources.named(key)))]
        )
        controllers = Controllers(
            api, [LazyController("quotas", (QUOTAS,), lambda: ResourceQuotas(api, system(api)))]
        )
        running = asyncio.create_task(controllers.run())
        spec = {"hard": {NAME: "1", "secrets": "1"}}
        await system(api).create(
            QUOTAS, {"metadata": {"name": "q", "namespace": "work"}, "spec": spec, "status": {}}
        )
        await comes_true(lambda: _used(api) == {"secrets": "0"}, "what is served is counted")
        resource = widgets(api)
        api.resources.add(resource)
        await comes_true(lambda: _used(api) == {"secrets": "0", NAME: "0"}, "so is the new one")

        async def create_one(name: str) -> None:
            operation = Operation(TESTER, "create", resource, "work", "")
            await create(api, operation, make(api, resource, name, "small"), OPTIONS)

        await create_one("a")
        with pytest.raises(StatusError, match=f"exceeded quota: q, requested: {NAME}=1"):
            await create_one("b")
        gone = Operation(TESTER, "delete", resource, "work", "a")
        await delete(api, gone, DeleteOptions())
        await comes_true(lambda: _used(api)[NAME] == "0", "it is given back")
        await create_one("b")
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    on_api(tmp_path, work)


@pytest.mark.parametrize(
    ("ago", "grace", "counted"), [(-60, 30, True), (10, 30, True), (31, 30, False), (5, 0, False)]
)
def test_a_pod_that_will_not_go_is_counted_no_more(ago: int, grace: int, counted: bool) -> None:
    going = format_time(datetime.now(UTC) - timedelta(seconds=ago))
    metadata = {"deletionTimestamp": going, "deletionGracePeriodSeconds": grace}
    assert is_counted({"metadata": metadata, "status": {"phase": "Running"}}) is counted


@pytest.mark.parametrize(
    ("status", "counted"),
    [({}, True), ({"phase": "Running"}, True), ({"phase": "Failed"}, False)],
)
def test_a_pod_that_is_through_is_counted_no_more(status: dict[str, Any], counted: bool) -> None:
    assert is_counted({"metadata": {}, "status": status}) is counted


class _Watched(dict[str, Amount]):
    """The usage of a pod; records the iteration of the event loop in which it is counted."""

    def __init__(self, rounds: list[int], now: list[int]) -> None:
        super().__init__(pods=Amount(Decimal(1)))
        self._rounds, self._now = rounds, now

    def items(self) -> Any:
        self._rounds.append(self._now[0])
        return super().items()


def test_many_objects_are_counted_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    now = [0]
    monkeypatch.setattr(Pods, "usage", lambda measure, pod: _Watched(rounds, now))
    monkeypatch.setattr(backlog, "SLICE_SECONDS", 0.0)

    async def count_rounds() -> None:
        while True:
            now[0] += 1
            await asyncio.sleep(0)

    async def work(api: Api) -> None:
        decode = decoder(api.resources.named(PODS).stored_struct)
        spec = {"containers": [{"name": "c", "image": "i"}]}
        for number in range(20):
            metadata = {"name": f"p{number}", "namespace": "work"}
            await system(api).create(PODS, decode({"metadata": metadata, "spec": spec}, []))
        controllers = Controllers(
            api, [LazyController("quotas", (QUOTAS,), lambda: ResourceQuotas(api, system(api)))]
        )
        running = [asyncio.create_task(item) for item in (controllers.run(), count_rounds())]
        quota = {"metadata": {"name": "q", "namespace": "work"}, "spec": {"hard": {"pods": "99"}}}
        await system(api).create(QUOTAS, {**quota, "status": {}})
        await comes_true(lambda: _used(api) == {"pods": "20"}, "all are counted")
        for item in running:
            item.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    on_api(tmp_path, work)
    assert len(rounds) == len(set(rounds)) == 20
