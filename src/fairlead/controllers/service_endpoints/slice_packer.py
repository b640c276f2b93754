"""Packs endpoints into slices with few writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.controllers.service_endpoints.slice_index import Plan
from fairlead.operations.api import Object

MAX_IN_A_SLICE = 100

# Identifies an endpoint across changes of its state.
Identity = tuple[tuple[str, ...], str, str, str]


def identity(endpoint: Object) -> Identity:
    target = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint["addresses"])),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def is_same(stored: Object, planned: Object) -> bool:
    """Whether a stored endpoint is up to date, ignoring hints, which are set later."""
    if "hints" in stored:
        stored = {name: value for name, value in stored.items() if name != "hints"}
    return stored == planned


def pack(
    existing: list[Object],
    endpoints: dict[Identity, Object],
    labels: Mapping[str, str],
    new: Callable[[], Object],
    maximum: int = MAX_IN_A_SLICE,
) -> Plan:
    """Distribute the wanted endpoints over slices with the same ports. New endpoints go to slices
    that change anyway, fullest first; then, if they all fit into one unchanged slice, to the
    fullest such; else to new slices."""
    left = dict(endpoints)
    unchanged: list[Object] = []
    plan = Plan()
    for endpoint_slice in existing:
        stored = endpoint_slice["endpoints"] or []
        remaining, is_changed = _still_valid(stored, left)
        if is_changed and not remaining:
            plan.delete.append(endpoint_slice)
        elif is_changed or (endpoint_slice["metadata"].get("labels") or {}) != labels:
            metadata = {**endpoint_slice["metadata"], "labels": labels}
            plan.update.append({**endpoint_slice, "metadata": metadata, "endpoints": remaining})
        else:
            unchanged.append(endpoint_slice)
    rest = list(left.values())
    for changing in sorted(plan.update, key=_size, reverse=True):
        rest = _fill(changing, rest, maximum)
    if rest and len(rest) < maximum:
        fitting = [
            endpoint_slice
            for endpoint_slice in unchanged
            if _size(endpoint_slice) + len(rest) <= maximum
        ]
        if fitting:
            fullest = max(fitting, key=_size)
            plan.update.append({**fullest})
            rest = _fill(plan.update[-1], rest, maximum)
    while rest:
        plan.create.append(new())
        rest = _fill(plan.create[-1], rest, maximum)
    return plan


def _still_valid(stored: list[Object], left: dict[Identity, Object]) -> tuple[list[Object], bool]:
    """The endpoints that stay in a slice, updated, and whether anything changed. Removes them from
    `left`."""
    remaining = []
    is_changed = False
    for endpoint in stored:
        new = left.pop(identity(endpoint), None)
        if new is None:
            is_changed = True
        elif is_same(endpoint, new):
            remaining.append(endpoint)
        else:
            remaining.append(new)
            is_changed = True
    return remaining, is_changed


def _size(value: Object) -> int:
    return len(value["endpoints"] or ())


def _fill(value: Object, rest: list[Object], maximum: int) -> list[Object]:
    """Add endpoints up to the limit; returns the rest."""
    room = maximum - _size(value)
    if room > 0:
        value["endpoints"] = [*(value["endpoints"] or ()), *rest[:room]]
        rest = rest[room:]
    return rest
