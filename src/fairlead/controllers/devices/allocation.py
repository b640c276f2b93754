"""Chooses devices for the requests of claims on one node, by backtracking.

A device fits a request if all selectors of its class and of the request match, its taints are
tolerated and nobody else uses it. Constraints hold for the devices of several requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple

from fairlead.base.release import Release
from fairlead.codec.types.quantity import quantity
from fairlead.codec.types.times import new_uid
from fairlead.controllers.devices.pools import Device, DeviceKey, Pools, Used, use
from fairlead.operations.api import Object
from fairlead.resources.resource.requests import MAX_REQUESTS
from fairlead.resources.resource.selectors import (
    SelectorError,
    attribute_value,
    compile_selector,
    device_value,
)

MAX_STEPS = 20_000  # tried devices for one pod on one node
MAX_TOTAL_COST = 2_000_000  # of all selectors for one pod

FindClass = Callable[[str], Object | None]


class AllocationError(Exception):
    """Devices cannot be allocated; the message says why."""


class _Wanted(NamedTuple):
    """One device to choose: its request, with the name in results, and its candidates."""

    name: str
    request: Object
    candidates: Sequence[Device]


class Matcher:
    """Evaluates selectors for one pod, once for each device. The sum of all costs is limited."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._limit = MAX_TOTAL_COST
        self._results: dict[tuple[DeviceKey, str], bool] = {}

    def matches(self, device: Device, expression: str) -> bool:
        """Raises AllocationError if the expression fails."""
        key = device.key, expression
        if key not in self._results:
            try:
                selector = compile_selector(expression, self._release)
                value = device_value(device.key[0], device.value)
                self._results[key], cost = selector.matches(value, self._limit)
            except SelectorError as error:
                raise AllocationError(f"selector of a device failed: {error}") from None
            self._limit -= cost
        return self._results[key]


class Allocator:
    """Allocates devices on one node. Successive calls see the devices that earlier ones chose."""

    def __init__(
        self,
        pools: Pools,
        used: Used,
        find_class: FindClass,
        node: str,
        labels: Mapping[str, str],
        matcher: Matcher,
    ) -> None:
        self._pools = pools
        self._used = Used(set(used.devices), {key: dict(each) for key, each in used.shares.items()})
        self._find_class = find_class
        self._node = node
        self._devices = list(pools.on(node, labels))
        self._matcher = matcher
        self._steps = 0

    def allocate(self, claim: Object) -> Object:
        """The allocation of a claim; raises AllocationError."""
        devices = claim["spec"]["devices"]
        alternatives = [self._alternatives(request) for request in devices["requests"] or ()]
        for combination in product(*alternatives):
            self._step()
            wanted = [each for wants in combination for each in wants]
            if len(wanted) > MAX_REQUESTS:
                continue
            chosen = self._choose(wanted, devices.get("constraints") or [])
            if chosen is not None:
                return self._result(claim, wanted, chosen)
        raise AllocationError("cannot allocate all claims")

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise AllocationError("too many combinations of devices")

    def _alternatives(self, request: Object) -> list[list[_Wanted]]:
        """The devices to choose for a request, for each of its alternatives in their order."""
        if request.get("exactly") is not None:
            alternatives = [self._wanted(request["name"], request["exactly"])]
        else:
            alternatives = [
                self._wanted(f"{request['name']}/{each['name']}", each)
                for each in request.get("firstAvailable") or ()
            ]
        return [wanted for wanted in alternatives if wanted is not None]

    def _wanted(self, name: str, request: Object) -> list[_Wanted] | None:
        """None if no choice of devices can be enough."""
        device_class = self._find_class(request["deviceClassName"])
        if device_class is None:
            raise AllocationError(f"device class {request['deviceClassName']} does not exist")
        expressions = [
            each["cel"]["expression"]
            for each in (
                *(device_class["spec"].get("selectors") or ()),
                *(request.get("selectors") or ()),
            )
            if each.get("cel") is not None
        ]
        candidates = [
            device
            for device in self._devices
            if _is_tolerated(device, request)
            and all(self._matcher.matches(device, text) for text in expressions)
        ]
        if request.get("allocationMode") == "All":
            return [_Wanted(name, request, [device]) for device in candidates] or None
        count = request.get("count") or 1
        if count > MAX_REQUESTS or not candidates:
            return None
        return [_Wanted(name, request, candidates)] * count

    def _choose(
        self, wanted: Sequence[_Wanted], constraints: Sequence[Object]
    ) -> list[Device] | None:
        chosen: list[Device] = []

        def search() -> bool:
            if len(chosen) == len(wanted):
                return True
            want = wanted[len(chosen)]
            for device in want.candidates:
                self._step()
                if not self._is_free(device, want, wanted, chosen):
                    continue
                chosen.append(device)
                if _hold(constraints, wanted, chosen) and search():
                    return True
                chosen.pop()
            return False

        return chosen if search() else None

    def _is_free(
        self,
        device: Device,
        want: _Wanted,
        wanted: Sequence[_Wanted],
        chosen: Sequence[Device],
    ) -> bool:
        if want.request.get("adminAccess"):
            return all(
                other.key != device.key
                for other, earlier in zip(chosen, wanted, strict=False)
                if earlier.name == want.name
            )
        if device.value.get("allowMultipleAllocations"):
            return self._has_capacity(device, want, wanted, chosen)
        taken = {
            other.key
            for other, earlier in zip(chosen, wanted, strict=False)
            if not earlier.request.get("adminAccess")
        }
        if device.key in self._used.devices or device.key in taken:
            return False
        return self._has_counters(device, taken)

    def _has_capacity(
        self,
        device: Device,
        want: _Wanted,
        wanted: Sequence[_Wanted],
        chosen: Sequence[Device],
    ) -> bool:
        consumed = dict(self._used.shares.get(device.key, {}))
        for other, earlier in zip(chosen, wanted, strict=False):
            if other.key == device.key:
                for name, amount in consumption(device.value, earlier.request).items():
                    consumed[name] = consumed.get(name, Decimal(0)) + amount
        capacity = device.value.get("capacity") or {}
        own = consumption(device.value, want.request)
        if any(name not in capacity for name in own):
            return False
        return all(
            consumed.get(name, Decimal(0)) + amount <= quantity(capacity[name]["value"])
            for name, amount in own.items()
        )

    def _has_counters(self, device: Device, taken: set[tuple[str, str, str]]) -> bool:
        """Whether the shared counters of a pool are enough for a device beside those in use."""
        consumed = device.value.get("consumesCounters") or ()
        if not consumed:
            return True
        pool = device.key[:2]
        in_use = [
            self._pools.devices[key]
            for key in (*self._used.devices, *taken)
            if key[:2] == pool and key in self._pools.devices
        ]
        for each in consumed:
            available = self._pools.counters.get((*pool, each["counterSet"]), {})
            for name, counter in (each.get("counters") or {}).items():
                others = sum((_counter(other, each["counterSet"], name) for other in in_use), 0)
                if quantity(counter["value"]) + others > available.get(name, Decimal(0)):
                    return False
        return True

    def _result(self, claim: Object, wanted: Sequence[_Wanted], chosen: Sequence[Device]) -> Object:
        results = [_result(want, device) for want, device in zip(wanted, chosen, strict=True)]
        for result in results:
            if not result.get("adminAccess"):
                use(self._used, result)
        allocation: Object = {"devices": {"results": results}}
        config = self._config(claim, wanted)
        if config:
            allocation["devices"]["config"] = config
        selector = _node_selector(self._node, chosen)
        if selector is not None:
            allocation["nodeSelector"] = selector
        return allocation

    def _config(self, claim: Object, wanted: Sequence[_Wanted]) -> list[Object]:
        config: list[Object] = []
        for name, request in {want.name: want.request for want in wanted}.items():
            device_class = self._find_class(request["deviceClassName"]) or {"spec": {}}
            config += (
                {"source": "FromClass", "requests": [name], **each}
                for each in device_class["spec"].get("config") or ()
            )
        names = {want.name for want in wanted} | {want.name.split("/")[0] for want in wanted}
        for each in claim["spec"]["devices"].get("config") or ():
            if not each.get("requests") or names & set(each["requests"]):
                config.append({"source": "FromClaim", **each})
        return config


def _counter(device: Object, counter_set: str, name: str) -> Decimal:
    for each in device.get("consumesCounters") or ():
        if each["counterSet"] == counter_set and name in (each.get("counters") or {}):
            return quantity(each["counters"][name]["value"])
    return Decimal(0)


def consumption(device: Object, request: Object) -> dict[str, Decimal]:
    """What a request consumes of the capacities of a shared device."""
    requested = (request.get("capacity") or {}).get("requests") or {}
    capacity = device.get("capacity") or {}
    amounts = {name: quantity(text) for name, text in requested.items() if name not in capacity}
    for name, each in capacity.items():
        policy = each.get("requestPolicy") or {}
        if name in requested:
            amounts[name] = _rounded(quantity(requested[name]), policy)
        else:
            amounts[name] = quantity(policy.get("default") or each["value"])
    return amounts


def _rounded(amount: Decimal, policy: Object) -> Decimal:
    """The smallest valid amount that is large enough."""
    for value in policy.get("validValues") or ():
        if quantity(value) >= amount:
            return quantity(value)
    limits = policy.get("validRange")
    if not limits:
        return amount
    low = quantity(limits.get("min") or "0")
    if amount <= low or not limits.get("step"):
        return max(amount, low)
    step = quantity(limits["step"])
    return low + -((low - amount) // step) * step


def _is_tolerated(device: Device, request: Object) -> bool:
    """Whether all taints that keep others away are tolerated."""
    if request.get("adminAccess"):
        return True
    tolerations = request.get("tolerations") or ()
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in device.value.get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute")
    )


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if toleration.get("operator") == "Exists":
        return key in ("", taint["key"])
    return bool(key == taint["key"] and toleration.get("value", "") == taint.get("value", ""))


def _hold(
    constraints: Iterable[Object], wanted: Sequence[_Wanted], chosen: Sequence[Device]
) -> bool:
    """Whether the constraints hold for the devices chosen so far."""
    for constraint in constraints:
        names = set(constraint.get("requests") or ())
        concerned = [
            device
            for device, want in zip(chosen, wanted, strict=False)
            if not names or want.name in names or want.name.split("/")[0] in names
        ]
        match = constraint.get("matchAttribute")
        attribute = match or constraint.get("distinctAttribute") or ""
        values = [_attribute(device, attribute) for device in concerned]
        if None in values:
            return False
        if match and len(set(values)) > 1:
            return False
        if not match and len(set(values)) < len(values):
            return False
    return True


def _attribute(device: Device, name: str) -> Any:
    """The value of an attribute by its full name, with its class; None without it."""
    attributes = device.value.get("attributes") or {}
    domain, _, identifier = name.partition("/")
    value = attributes.get(name)
    if value is None and domain == device.key[0]:
        value = attributes.get(identifier)
    if value is None:
        return None
    if value.get("version") is not None:
        return ("version", value["version"])
    read = attribute_value(value)
    return (type(read).__name__, read)


def _result(want: _Wanted, device: Device) -> Object:
    driver, pool, name = device.key
    result: Object = {"request": want.name, "driver": driver, "pool": pool, "device": name}
    request = want.request
    if request.get("adminAccess"):
        result["adminAccess"] = True
    if request.get("tolerations"):
        result["tolerations"] = request["tolerations"]
    for field in ("bindingConditions", "bindingFailureConditions"):
        if device.value.get(field):
            result[field] = device.value[field]
    if device.value.get("allowMultipleAllocations") and not request.get("adminAccess"):
        result["shareID"] = new_uid()
        consumed = consumption(device.value, request)
        if consumed:
            result["consumedCapacity"] = {key: f"{value:f}" for key, value in consumed.items()}
    return result


def _node_selector(node: str, chosen: Iterable[Device]) -> Object | None:
    """The nodes that can use all chosen devices; None if all can."""
    rules: list[Object] = []
    for device in chosen:
        if device.node:
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        for rule in (device.term or {}).get("matchExpressions") or ():
            if rule not in rules:
                rules.append(rule)
    return {"nodeSelectorTerms": [{"matchExpressions": rules}]} if rules else None
