"""Concurrent writes never exceed a quota, and its usage is never too low."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.api import TESTER, on_api, system
from support.waiting import comes_true
from support.writes import create

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.admission.plugins.resource_quota import QUOTAS, ResourceQuota
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.framework import Controllers, LazyController
from fairlead.controllers.resource_quotas import ResourceQuotas
from fairlead.operations.api import Api
from fairlead.operations.delete import delete
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, WriteOptions

PODS = "core/v1/pods"
MAX_PODS, MAX_CPU = 4, 5
MANY = 500
Step = tuple[str, str, int, int]


class Pausing(PluginBase):
    """Yields to the event loop as often as a label of the pod says."""

    name = "Pausing"

    async def validate(self, attributes: Attributes) -> None:
        value = attributes.value or {"metadata": {}}
        for _ in range(int((value["metadata"].get("labels") or {}).get("pauses", 0))):
            await asyncio.sleep(0)


def _pod(api: Api, name: str, cpu: int, pauses: int) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    metadata = {"name": name, "labels": {"pauses": str(pauses)}}
    value = {"metadata": metadata, "spec": {"containers": [container]}}
    item: dict[str, Any] = decoder(api.resources.named(PODS).stored_struct)(value, [])
    return item


async def _do(api: Api, step: Step) -> None:
    what, name, cpu, pauses = step
    resource = api.resources.named(PODS)
    with suppress(StatusError):
        if what == "delete":
            gone = Operation(TESTER, "delete", resource, "work", name)
            await delete(api, gone, DeleteOptions(grace_period=0))
        else:
            options = WriteOptions(what == "dry run", "tester", "Strict")
            operation = Operation(TESTER, "create", resource, "work", "")
            await create(api, operation, _pod(api, name, cpu, pauses), options)


def _reserved(api: Api) -> tuple[int, Decimal]:
    pods = api.collection(api.resources.named(PODS)).current("work")
    cpus = (p.object()["spec"]["containers"][0]["resources"]["requests"]["cpu"] for p in pods)
    return len(pods), sum(map(quantity, cpus), Decimal(0))


def _reported(api: Api) -> tuple[int, Decimal]:
    result = api.collection(api.resources.named(QUOTAS)).get("work/q")
    used = (result.object().get("status") or {}).get("used") if result else None
    return (int(used["pods"]), quantity(used["requests.cpu"])) if used else (-1, Decimal(-1))


def _with_quota(
    work: Callable[[Api], Awaitable[None]], *, pausing_last: bool, others: int = 0
) -> None:
    """`others` are names that the quota limits as well. With many of them it is charged and counted
    in threads."""

    async def run(api: Api) -> None:
        quota = ResourceQuota(
            KUBERNETES, api.newest, lambda key: api.collection(api.resources.named(key))
        )
        api.admission = Chain([quota, Pausing()] if pausing_last else [Pausing(), quota])
        controllers = Controllers(
            api, [LazyController("quotas", (QUOTAS,), lambda: ResourceQuotas(api, system(api)))]
        )
        running = asyncio.create_task(controllers.run())
        hard = {f"requests.example.com/r{number}": "1" for number in range(others)}
        hard |= {"pods": str(MAX_PODS), "requests.cpu": str(MAX_CPU)}
        quota_object = {"metadata": {"name": "q", "namespace": "work"}, "spec": {"hard": hard}}
        await system(api).create(QUOTAS, {**quota_object, "status": {}})
        await comes_true(lambda: _reported(api) == (0, Decimal(0)), "the quota is counted")
        try:
            await work(api)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    with TemporaryDirectory() as directory:
        on_api(Path(directory), run)


STEPS = st.tuples(
    st.sampled_from(["create", "create", "create", "delete", "dry run"]),
    st.sampled_from("abcdefgh"),
    st.integers(0, 3),
    st.integers(0, 3),
)


@settings(max_examples=25)
@given(
    st.lists(st.lists(STEPS, min_size=1, max_size=12), min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from([0, 0, 0, MANY]),
)
def test_a_namespace_never_holds_more_than_its_quota(
    rounds: list[list[Step]], pausing_last: bool, others: int
) -> None:
    async def work(api: Api) -> None:
        for steps in rounds:
            await asyncio.gather(*(_do(api, step) for step in steps))
            held, reported = _reserved(api), _reported(api)
            assert held[0] <= reported[0] <= MAX_PODS
            assert held[1] <= reported[1] <= MAX_CPU
        await comes_true(lambda: _reserved(api) == _reported(api), "what went is given back")

    _with_quota(work, pausing_last=pausing_last, others=others)


def test_a_large_quota_stays_right_while_others_write() -> None:
    async def work(api: Api) -> None:
        for number in range(5):
            steps: list[Step] = [("create", f"{name}{number}", 1, 0) for name in "abcd"]
            steps += [("delete", f"{name}{number - 1}", 0, 0) for name in "abcd"]
            await asyncio.gather(*(_do(api, step) for step in steps))
            assert _reserved(api)[0] <= _reported(api)[0] <= MAX_PODS
        await comes_true(lambda: _reserved(api) == _reported(api), "what went is given back")

    _with_quota(work, pausing_last=True, others=MANY)


def test_quota_is_filled_exactly_by_a_hundred_creates_at_once() -> None:
    async def work(api: Api) -> None:
        await asyncio.gather(*(_do(api, ("create", f"p{n}", 1, n % 4)) for n in range(100)))
        assert _reserved(api) == _reported(api) == (MAX_PODS, Decimal(MAX_PODS))

    for pausing_last in (True, False):
        _with_quota(work, pausing_last=pausing_last)
