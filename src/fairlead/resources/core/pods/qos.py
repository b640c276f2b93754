"""Computes the QoS class of a pod from its resources."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from fairlead.codec.types.quantity import is_less, quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"
_COUNTED: Final[tuple[str, ...]] = ("cpu", "memory")


def qos_class(spec: Object) -> str:
    """Guaranteed: every container has limits for both resources, and the sums of limits equal those
    of requests. BestEffort: no container has requests or limits. Burstable: all others."""
    uneven: list[tuple[str, str, str]] = []  # resource, request, limit
    is_asking, all_limited = False, True
    for kind in DECLARED_LISTS:
        containers: list[Object] | None = spec.get(kind)
        for container in containers or ():
            resources: Object = container["resources"]
            requests: Object = resources.get("requests") or {}
            limits: Object = resources.get("limits") or {}
            for name in _COUNTED:
                request, limit = _asked(requests.get(name)), _asked(limits.get(name))
                is_asking = is_asking or bool(request or limit)
                all_limited = all_limited and bool(limit)
                if request != limit:
                    uneven.append((name, request, limit))
    if not is_asking:
        return BEST_EFFORT
    return GUARANTEED if all_limited and _is_even(uneven) else BURSTABLE


def _asked(amount: str | None) -> str:
    """The amount, or an empty string if it is not positive. Amounts are in canonical form."""
    return "" if amount is None or amount == "0" or amount[0] == "-" else amount


def _is_even(uneven: list[tuple[str, str, str]]) -> bool:
    """Whether the sums of requests and limits are equal although the items differ."""
    if all(not request or is_less(request, limit) for _, request, limit in uneven):
        return not uneven  # no request exceeds its limit to make up for it
    sums: dict[str, Decimal] = dict.fromkeys(_COUNTED, Decimal(0))
    for name, request, limit in uneven:
        sums[name] += (quantity(request) if request else 0) - quantity(limit)
    return not any(sums.values())
