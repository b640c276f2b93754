"""The quality of service that a pod's resources earn it."""

from __future__ import annotations

from decimal import Decimal

from fairlead.kinds.behaviour import Object
from fairlead.schema.quantity import quantity

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"
_COUNTED = ("cpu", "memory")


def qos_class(spec: Object) -> str:
    """Guaranteed: every container is limited in both resources to just what it requests.
    BestEffort: none asks for anything. Burstable: all others."""
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    all_limited = True
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            resources = container["resources"]
            if resources:
                _add(requests, resources.get("requests"))
            limited = _add(limits, resources.get("limits")) if resources else 0
            all_limited = all_limited and limited == len(_COUNTED)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if all_limited and requests == limits else BURSTABLE


def _add(totals: dict[str, Decimal], amounts: Object | None) -> int:
    """Add what is asked for; gives how many of the counted resources that were."""
    found = 0
    for name in _COUNTED:
        amount = amounts.get(name) if amounts else None
        if amount is not None:
            value = quantity(amount)
            if value > 0:
                totals[name] = totals.get(name, Decimal(0)) + value
                found += 1
    return found
