"""The devices in use: those that are allocated to claims, and those that a search has chosen so
far."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from fairlead.codec.types.quantity import quantity
from fairlead.controllers.devices.pools import (
    CounterKey,
    Device,
    DeviceKey,
    PoolKey,
    Pools,
    consumed_counters,
)
from fairlead.operations.api import Object
from fairlead.resources.resource.claim_status import results_of

Amounts = dict[str, Decimal]


class Usage:
    """The devices of claims: those in exclusive use, and the consumed capacities of shared ones."""

    def __init__(self, pools: Pools, claims: Iterable[Object]) -> None:
        self.devices: set[DeviceKey] = set()
        self.shares: dict[DeviceKey, Amounts] = {}
        self._pools = pools
        self._by_pool: dict[PoolKey, set[DeviceKey]] = {}
        self._counters: dict[PoolKey, dict[CounterKey, Decimal]] = {}
        for claim in claims:
            for result in results_of(claim.get("status") or {}):
                if not result.get("adminAccess"):
                    self._add(result)

    def _add(self, result: Object) -> None:
        key = (result["driver"], result["pool"], result["device"])
        self._by_pool.setdefault(key[:2], set()).add(key)
        if result.get("shareID") is None:
            self.devices.add(key)
            return
        _add(
            self.shares.setdefault(key, {}),
            {name: quantity(text) for name, text in (result.get("consumedCapacity") or {}).items()},
        )

    def counters_left(self, pool: PoolKey) -> dict[CounterKey, Decimal]:
        """The counters of a pool minus those of the devices in use."""
        left = self._counters.get(pool)
        if left is None:
            left = self._counters[pool] = dict(self._pools.counters.get(pool, {}))
            for key in self._by_pool.get(pool, ()):
                for counter, amount in consumed_counters(self._pools.devices.get(key, {})).items():
                    left[counter] = left.get(counter, Decimal(0)) - amount
        return left


class Ledger:
    """The devices that a search has chosen on one node, in addition to those in use. Choices are
    undone in the reverse order."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._claims_of: dict[DeviceKey, list[int]] = {}  # claims that chose an exclusive device
        self._shares: dict[DeviceKey, list[Amounts]] = {}
        self._counters: dict[PoolKey, dict[CounterKey, Decimal]] = {}
        self._counted: list[bool] = []  # for each choice, whether it uses counters
        self._amounts: dict[tuple[DeviceKey, int], Amounts | None] = {}

    def consumption(self, device: Device, request: Object) -> Amounts | None:
        key = device.key, id(request)
        if key not in self._amounts:
            self._amounts[key] = consumption(device.value, request)
        return self._amounts[key]

    def take(self, device: Device, request: Object, claim: int) -> bool:
        """Choose a device for a request of a claim if it is free."""
        amounts = self.consumption(device, request)
        if amounts is None or not self._is_free(device, request, claim, amounts):
            return False
        is_counted = bool(device.value.get("consumesCounters")) and not (
            device.is_shared and self._is_in_use(device.key)
        )
        if is_counted and not self._count(device):
            return False
        self._counted.append(is_counted)
        if device.is_shared:
            self._shares.setdefault(device.key, []).append(amounts)
        else:
            self._claims_of.setdefault(device.key, []).append(claim)
        return True

    def give_back(self, device: Device) -> None:
        """Undo the last `take`, which was of this device."""
        (self._shares if device.is_shared else self._claims_of)[device.key].pop()
        if self._counted.pop():
            left = self._counters[device.key[:2]]
            for counter, amount in consumed_counters(device.value).items():
                left[counter] += amount

    def _is_free(self, device: Device, request: Object, claim: int, amounts: Amounts) -> bool:
        chosen = self._claims_of.get(device.key, ())
        if request.get("adminAccess"):
            if claim in chosen:
                return False
        elif chosen or device.key in self._usage.devices:
            return False
        consumed = dict(self._usage.shares.get(device.key, {}))
        for share in self._shares.get(device.key, ()):
            _add(consumed, share)
        _add(consumed, amounts)
        capacity = device.value.get("capacity") or {}
        return all(consumed[name] <= quantity(capacity[name]["value"]) for name in amounts)

    def _is_in_use(self, key: DeviceKey) -> bool:
        return key in self._usage.shares or bool(self._shares.get(key))

    def _count(self, device: Device) -> bool:
        """Use the counters of a device, if enough is left of them."""
        pool = device.key[:2]
        left = self._counters.get(pool)
        if left is None:
            left = self._counters[pool] = dict(self._usage.counters_left(pool))
        needed = consumed_counters(device.value)
        if any(amount > left.get(counter, Decimal(0)) for counter, amount in needed.items()):
            return False
        for counter, amount in needed.items():
            left[counter] -= amount
        return True


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, Decimal(0)) + amount


# What requests consume of the capacities of shared devices.


def consumption(device: Object, request: Object) -> dict[str, Decimal] | None:
    """The amount of each capacity of a device that a request consumes; None if the device cannot
    serve it."""
    requested = (request.get("capacity") or {}).get("requests") or {}
    capacity = device.get("capacity") or {}
    if any(name not in capacity for name in requested):
        return None
    amounts = {}
    for name, entry in capacity.items():
        policy = entry.get("requestPolicy") or {}
        default = policy.get("default") or entry["value"]
        if name not in requested:
            amounts[name] = quantity(default)
            continue
        amounts[name] = _rounded(quantity(requested[name]), policy)
        if amounts[name] != quantity(default) and not _is_allowed(amounts[name], policy):
            return None
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


def _is_allowed(amount: Decimal, policy: Object) -> bool:
    values, limits = policy.get("validValues"), policy.get("validRange")
    if limits:
        return not limits.get("max") or amount <= quantity(limits["max"])
    return not values or any(quantity(value) == amount for value in values)
