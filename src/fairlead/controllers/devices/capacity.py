"""What requests consume of the capacities of devices."""

from __future__ import annotations

from decimal import Decimal

from fairlead.codec.types.quantity import quantity
from fairlead.operations.api import Object


def consumption(device: Object, request: Object) -> dict[str, Decimal] | None:
    """The amount of each capacity of a device that a request consumes; None if the device cannot
    serve it."""
    requested = (request.get("capacity") or {}).get("requests") or {}
    capacity = device.get("capacity") or {}
    if any(name not in capacity for name in requested):
        return None
    amounts = {}
    for name, each in capacity.items():
        policy = each.get("requestPolicy") or {}
        default = policy.get("default") or each["value"]
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
