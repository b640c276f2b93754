"""Waiting for a condition of an object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from support.connected import connected
from support.namespaces import Space

from fairlead.client import Resource, exists, has_condition, has_value, is_gone

Object = dict[str, Any]
PATIENCE = 20.0


def data_of(value: Object) -> list[str]:
    return [value["data"]["a"]] if "a" in value.get("data", {}) else []


async def while_waiting(space: Space, name: str, holds: Any, then: Callable[[], Any]) -> Any:
    """What is found when something is done meanwhile."""
    async with connected(space.server) as client:
        maps = await client.resource("configmaps")
        waiting = asyncio.create_task(maps.wait(name, holds, space.name, timeout=PATIENCE))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await asyncio.to_thread(then)
        return await waiting


def test_until_an_object_is_there(space: Space) -> None:
    value = asyncio.run(while_waiting(space, "a", exists, lambda: space.config_maps.create("a")))
    assert value["metadata"]["name"] == "a"


def test_until_it_has_a_value(kubernetes: Space) -> None:
    maps = kubernetes.config_maps
    maps.create("a", data={"a": "0"})

    def change() -> None:
        for value in ("1", "2"):
            maps.patch("a", {"data": {"a": value}})

    result = asyncio.run(while_waiting(kubernetes, "a", has_value(data_of, "2"), change))
    assert result["data"] == {"a": "2"}


def test_until_it_is_gone(kubernetes: Space) -> None:
    maps = kubernetes.config_maps
    maps.create("a")
    assert asyncio.run(while_waiting(kubernetes, "a", is_gone, lambda: maps.remove("a"))) is None


def test_what_is_so_already_is_not_waited_for(kubernetes: Space) -> None:
    async def scenario() -> Any:
        async with connected(kubernetes.server) as client:
            maps: Resource = await client.resource("configmaps")
            return await maps.wait("none", is_gone, kubernetes.name, timeout=0)

    assert asyncio.run(scenario()) is None


def test_time_that_is_over(kubernetes: Space) -> None:
    async def scenario() -> None:
        async with connected(kubernetes.server) as client:
            maps = await client.resource("configmaps")
            await maps.wait("none", exists, kubernetes.name, timeout=0.1)

    with pytest.raises(TimeoutError, match="configmaps/none did not meet the condition in time"):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ({"status": {"conditions": [{"type": "ready", "status": "true"}]}}, True),
        ({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False),
        ({"status": {"conditions": [{"type": "Other", "status": "True"}]}}, False),
        (
            {
                "status": {
                    "observedGeneration": 1,
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
            },
            False,
        ),
        (
            {
                "status": {
                    "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 2}]
                }
            },
            True,
        ),
        ({"status": {"conditions": [7, None, {"type": 5}]}}, False),
        ({"status": {"conditions": {"type": "Ready"}}}, False),
        ({"status": "odd"}, False),
        ({}, False),
    ],
)
def test_conditions_are_read_as_the_newest_generation_has_them(value: Object, holds: bool) -> None:
    whole = {"metadata": {"name": "a", "generation": 2}, **value}
    assert has_condition("Ready")(whole) is holds
    assert has_condition("Ready")(None) is False
