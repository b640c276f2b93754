"""The choice of devices for claims."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base.release import V1_36
from fairlead.controllers.devices.allocation import (
    AllocationError,
    AllocationTimeout,
    Allocator,
    Matcher,
)
from fairlead.controllers.devices.pools import Pools
from fairlead.controllers.devices.usage import Usage

Object = dict[str, Any]
EVERYTHING = {"metadata": {"name": "any"}, "spec": {}}


def device(name: str, **fields: Any) -> Object:
    return {"name": name, **fields}


def published(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.com", "pool": pool, "allNodes": True, "devices": [*devices], **spec}
    return {"metadata": {"name": str(len(spec))}, "spec": spec}


def claim(*requests: Object, **devices: Any) -> Object:
    return {"spec": {"devices": {"requests": list(requests), **devices}}}


def exactly(name: str = "r", **fields: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "any", **fields}}


def chosen(wanted: Object, *slices: Object, used: tuple[Object, ...] = ()) -> list[str]:
    """The names of the devices that a claim gets."""
    (allocation,) = allocated([wanted], *slices, used=used)
    return [result["device"] for result in allocation["devices"]["results"]]


def allocated(claims: list[Object], *slices: Object, used: tuple[Object, ...] = ()) -> list[Object]:
    pools, classes = Pools(slices), {"any": EVERYTHING}
    devices = list(pools.on("n", {}))
    usage, matcher = Usage(pools, used), Matcher(V1_36, classes)
    return Allocator("n", devices, usage, classes, matcher).allocate(claims)


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


def test_devices_are_found_for_all_claims_of_a_pod() -> None:
    picky = claim(exactly(selectors=selecting("device.attributes['a.com'].size == 1")))
    first, second = allocated([claim(exactly(count=2)), picky], TWO)
    assert [each["device"] for each in first["devices"]["results"]] == ["b", "c"]
    assert [each["device"] for each in second["devices"]["results"]] == ["a"]


def test_capacity_is_asked_of_devices_that_are_not_shared_too() -> None:
    devices = published(
        device("small", capacity={"m": {"value": "1"}}), device("b", capacity={"m": {"value": "4"}})
    )
    assert chosen(claim(exactly(capacity={"requests": {"m": "2"}})), devices) == ["b"]
    with pytest.raises(AllocationError):
        chosen(claim(exactly(capacity={"requests": {"other": "1"}})), devices)


def test_an_administrator_reaches_devices_in_use_but_not_tainted_ones() -> None:
    result = {"request": "r", "driver": "a.com", "pool": "p", "device": "a"}
    used = {"status": {"allocation": {"devices": {"results": [result]}}}}
    tainted = device("b", taints=[{"key": "k", "effect": "NoExecute"}])
    admin = claim(exactly(adminAccess=True, allocationMode="All"))
    assert chosen(admin, published(device("a"), tainted), used=(used,)) == ["a"]


def test_constraints_that_no_devices_satisfy_are_seen_at_once() -> None:
    devices = [device(f"p{index}", attributes={"x": {"int": index % 8}}) for index in range(128)]
    same = [{"matchAttribute": "a.com/x"}]
    many = claim(*(exactly(f"r{index}") for index in range(17)), constraints=same)
    with pytest.raises(AllocationError, match="cannot allocate all claims"):
        chosen(many, published(*devices))
    assert len(chosen(claim(exactly(count=16), constraints=same), published(*devices))) == 16
    distinct = [{"distinctAttribute": "a.com/x"}]
    with pytest.raises(AllocationError, match="cannot allocate all claims"):
        chosen(claim(exactly(count=9), constraints=distinct), published(*devices))


def test_a_search_with_too_many_combinations_ends() -> None:
    devices = [
        device(f"d{index}", attributes={"x": {"int": index // 64}, "y": {"int": index // 4}})
        for index in range(128)
    ]
    constraints = [{"matchAttribute": "a.com/x"}, {"distinctAttribute": "a.com/y"}]
    assert len(chosen(claim(exactly(count=16), constraints=constraints), published(*devices))) == 16
    with pytest.raises(AllocationTimeout):
        chosen(claim(exactly(count=17), constraints=constraints), published(*devices))
