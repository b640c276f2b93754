"""The behaviour of LimitRange: bounds and defaults for the resources of single objects in a
namespace.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

from fairlead.codec.types.names import qualified_name
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.resources import (
    can_overcommit,
    container_resource_errors,
    resource_name_errors,
    round_up_amounts,
)
from fairlead.resources.core.shared import go_quantity

TYPES = ("Pod", "Container", "PersistentVolumeClaim")
MAPS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


class LimitRangeBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        for limit in value["spec"]["limits"] or ():
            for name in MAPS:
                round_up_amounts(limit.get(name))
            if limit["type"] == "Container":
                _fill_container(limit)

    def prepare_create(self, value: Object, context: Context) -> None:
        metadata = value["metadata"]
        metadata["name"] = metadata.get("name") or str(uuid.uuid4())

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        seen: set[str] = set()
        for index, limit in enumerate(value["spec"]["limits"] or ()):
            path = f"spec.limits[{index}]"
            _check_type(limit["type"], f"{path}.type", causes)
            if limit["type"] in seen:
                causes.duplicate(f"{path}.type", limit["type"])
            seen.add(limit["type"])
            _check_limit(limit, path, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self.check_create(value, causes, context)


def _fill_container(limit: Object) -> None:
    """The default limit of a container is the maximum; its default request is the limit, else the
    minimum."""
    limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
    for name, amounts in (("default", limits), ("defaultRequest", requests)):
        if amounts:
            limit[name] = amounts


def _check_type(name: str, path: str, causes: Causes) -> None:
    errors = qualified_name(name)
    causes.invalid_each(path, name, errors)
    if not errors and "/" not in name and name not in TYPES:
        causes.invalid(path, name, "must be a standard limit type or fully qualified")


def _check_limit(limit: Object, path: str, causes: Causes, context: Context) -> None:
    of_pods = limit["type"] == "Pod"
    amounts: dict[str, dict[str, str]] = {}
    for name in MAPS:
        if name == "maxLimitRequestRatio" and limit["type"] == "PersistentVolumeClaim":
            _check_storage_bounds(limit, path, causes)
        if of_pods and name in ("default", "defaultRequest"):
            if limit.get(name):
                causes.forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
            continue
        amounts[name] = limit.get(name) or {}
        for key in amounts[name]:
            _check_key(limit["type"], key, f"{path}.{name}[{key}]", causes, context)
    for key in dict.fromkeys(key for limits in amounts.values() for key in limits):
        bounds = _Bounds(*(amounts.get(name, {}).get(key) for name in MAPS))
        _check_bounds(key, bounds, path, causes, context)


def _check_storage_bounds(limit: Object, path: str, causes: Causes) -> None:
    if not any("storage" in (limit.get(name) or {}) for name in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        causes.required(f"{path}.limits", detail)


def _check_key(kind: str, key: str, path: str, causes: Causes, context: Context) -> None:
    if kind in ("Pod", "Container"):
        errors = container_resource_errors(key, context.dialect)
    else:
        errors = tuple(resource_name_errors(key))
    causes.invalid_each(path, key, errors)


class _Bounds(NamedTuple):
    """The values of a limit for one resource; None if not set."""

    max: str | None
    min: str | None
    default: str | None
    default_request: str | None
    ratio: str | None


# Pairs of which the first must not exceed the second; then which of the two is shown, and at which
# field.
_BOUND_ORDER = (
    ("min", "max", "min", "min"),
    ("min", "default_request", "default_request", "defaultRequest"),
    ("default_request", "max", "default_request", "defaultRequest"),
    ("default_request", "default", "default_request", "defaultRequest"),
    ("min", "default", "min", "default"),
    ("default", "max", "max", "default"),
)
_WORDS = {
    "min": "min value",
    "max": "max value",
    "default": "default value",
    "default_request": "default request value",
}


def _check_bounds(key: str, bounds: _Bounds, path: str, causes: Causes, context: Context) -> None:
    for small, large, shown, field in _BOUND_ORDER:
        low, high = getattr(bounds, small), getattr(bounds, large)
        if low is None or high is None or quantity(low) <= quantity(high):
            continue
        word = "default limit value" if small == "default_request" and large == "default" else None
        detail = f"{_WORDS[small]} {low} is greater than {word or _WORDS[large]} {high}"
        printed = go_quantity(getattr(bounds, shown))
        causes.invalid(f"{path}.{field}[{key}]", printed, detail)
    if bounds.ratio is not None:
        _check_ratio(bounds, f"{path}.maxLimitRequestRatio[{key}]", causes)
    default, request = bounds.default, bounds.default_request
    if default is None or request is None or can_overcommit(key, context.dialect):
        return
    if quantity(default) != quantity(request):
        detail = f"default value {default} must equal to defaultRequest value {request} in {key}"
        field = f"{path}.defaultRequest[{key}]"
        causes.invalid(field, go_quantity(request), detail)


def _check_ratio(bounds: _Bounds, path: str, causes: Causes) -> None:
    assert bounds.ratio is not None
    ratio, printed = quantity(bounds.ratio), go_quantity(bounds.ratio)
    if ratio < 1:
        causes.invalid(path, printed, f"ratio {bounds.ratio} is less than 1")
    if bounds.min is None or bounds.max is None or not quantity(bounds.min):
        return
    maximum = quantity(bounds.max) / quantity(bounds.min)
    if ratio > maximum:
        detail = f"ratio {bounds.ratio} is greater than max/min = {float(maximum):f}"
        causes.invalid(path, printed, detail)
