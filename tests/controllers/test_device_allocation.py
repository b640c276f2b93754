"""The choice of devices for claims."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base.release import V1_36
from fairlead.controllers.devices.allocation import AllocationError, Allocator, Matcher
from fairlead.controllers.devices.pools import Pools, used_devices

Object = dict[str, Any]
EVERYTHING = {"metadata": {"name": "any"}, "spec": {}}


def device(name: str, **fields: Any) -> Object:
    return {"name": name, **fields}


def published(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return {
        "spec": {"driver": "a.com", "pool": pool, "allNodes": True, "devices": [*devices], **spec}
    }


def claim(*requests: Object, **devices: Any) -> Object:
    return {"spec": {"devices": {"requests": list(requests), **devices}}}


def exactly(name: str = "r", **fields: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "any", **fields}}


def chosen(wanted: Object, *slices: Object, used: tuple[Object, ...] = ()) -> list[str]:
    """The names of the devices that a claim gets."""
    allocator = Allocator(
        Pools(slices), used_devices(used), lambda _: EVERYTHING, "n", {}, Matcher(V1_36)
    )
    results = allocator.allocate(wanted)["devices"]["results"]
    return [result["device"] for result in results]


def selecting(expression: str) -> list[Object]:
    return [{"cel": {"expression": expression}}]


TWO = published(
    device("a", attributes={"size": {"int": 1}, "board": {"string": "x"}}),
    device("b", attributes={"size": {"int": 2}, "board": {"string": "y"}}),
    device("c", attributes={"size": {"int": 2}, "board": {"string": "y"}}),
)


def test_selectors_choose_devices() -> None:
    selectors = selecting("device.attributes['a.com'].size > 1")
    assert chosen(claim(exactly(selectors=selectors, count=2)), TWO) == ["b", "c"]


def test_devices_in_use_are_not_chosen() -> None:
    result = {"request": "r", "driver": "a.com", "pool": "p", "device": "a"}
    used = {"status": {"allocation": {"devices": {"results": [result]}}}}
    assert chosen(claim(exactly()), TWO, used=(used,)) == ["b"]


def test_all_devices_are_chosen_or_none() -> None:
    assert chosen(claim(exactly(allocationMode="All")), TWO) == ["a", "b", "c"]


def test_the_first_alternative_that_is_available_is_chosen() -> None:
    alternatives = [
        {"name": "large", "deviceClassName": "any", "count": 4},
        {"name": "small", "deviceClassName": "any", "count": 1},
    ]
    assert chosen(claim({"name": "r", "firstAvailable": alternatives}), TWO) == ["a"]


def test_devices_of_several_requests_share_an_attribute() -> None:
    constraints = [{"matchAttribute": "a.com/board"}]
    wanted = claim(exactly("q"), exactly("r"), constraints=constraints)
    assert chosen(wanted, TWO) == ["b", "c"]


def test_taints_keep_claims_away_that_do_not_tolerate_them() -> None:
    tainted = published(device("a", taints=[{"key": "k", "effect": "NoSchedule"}]))
    with pytest.raises(AllocationError):
        chosen(claim(exactly()), tainted)
    tolerations = [{"key": "k", "operator": "Exists"}]
    assert chosen(claim(exactly(tolerations=tolerations)), tainted) == ["a"]


def test_parts_of_a_device_use_common_counters() -> None:
    half = [{"counterSet": "s", "counters": {"m": {"value": "1"}}}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": "s", "counters": {"m": {"value": "2"}}}]
    slices = (
        published(*(device(name, consumesCounters=half) for name in "abc"), pool=pool),
        {**published(pool=pool, sharedCounters=counters)},
    )
    assert chosen(claim(exactly(count=2)), *slices) == ["a", "b"]
    with pytest.raises(AllocationError):
        chosen(claim(exactly(count=3)), *slices)


def test_shared_devices_are_used_up_to_their_capacity() -> None:
    shared = published(
        device("a", allowMultipleAllocations=True, capacity={"a.com/m": {"value": "3"}})
    )
    capacity = {"requests": {"a.com/m": "2"}}
    assert chosen(claim(exactly(capacity=capacity)), shared) == ["a"]
    with pytest.raises(AllocationError):
        chosen(claim(exactly(capacity=capacity, count=2)), shared)


def test_pools_that_are_not_complete_are_not_used() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    with pytest.raises(AllocationError):
        chosen(claim(exactly()), published(device("a"), pool=pool))


def test_a_search_that_takes_too_long_ends() -> None:
    devices = [device(f"d{index}", attributes={"x": {"int": index}}) for index in range(64)]
    wanted = claim(exactly(count=32), constraints=[{"matchAttribute": "a.com/x"}] * 2)
    pairs = [device(f"p{index}", attributes={"x": {"int": index % 8}}) for index in range(128)]
    with pytest.raises(AllocationError):
        chosen(wanted, published(*devices))
    with pytest.raises(AllocationError, match="too many combinations"):
        chosen(wanted, published(*pairs))


def test_expensive_selectors_end() -> None:
    devices = [
        device(f"d{index}", attributes={f"x{number}": {"int": number} for number in range(32)})
        for index in range(128)
    ]
    inner = "device.attributes['a.com']"
    text = f"{inner}.all(a, {inner}.all(b, {inner}.all(c, a != '' || b != c)))"
    with pytest.raises(AllocationError, match="cost limit exceeded"):
        chosen(claim(exactly(selectors=selecting(text))), published(*devices))
