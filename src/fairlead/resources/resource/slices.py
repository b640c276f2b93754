"""The behaviour of ResourceSlice: the devices of a driver in one pool."""

from __future__ import annotations

import re
from typing import Any

from fairlead.codec.types.model import Object
from fairlead.codec.types.names import dns_label, dns_subdomain, label_value, qualified_name
from fairlead.codec.types.quantity import amount, quantity
from fairlead.codec.types.times import now
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.scheduling import check_node_selector
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.resource.claim_status import check_binding_conditions
from fairlead.resources.resource.requests import (
    EFFECTS,
    check_items,
    check_pool_name,
    check_qualified_name,
    check_set,
)
from fairlead.resources.resource.selectors import MAX_ATTRIBUTES
from fairlead.resources.rules import immutable

MAX_DEVICES, MAX_TAINTED_DEVICES = 128, 64
MAX_COUNTER_SETS, MAX_COUNTERS, MAX_CONSUMPTIONS = 8, 32, 2
MAX_TAINTS = 16
MAX_OPTIONS = 10
MAX_VALUE_LENGTH = 64
MAX_KEY = 63 + 1 + 32
ATTRIBUTE_KINDS = ("bool", "int", "string", "version")
_LISTS = ("bools", "ints", "strings", "versions")
_NUMBER, _PART = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"\A{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PART}(\.{_PART})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?\Z",
    re.ASCII,
)
_NODES = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_DEVICE_NODES = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
    " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_DEVICE_NODES = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set"
    " to true in the ResourceSlice spec"
)


class ResourceSliceBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        for device in value["spec"].get("devices") or ():
            for taint in device.get("taints") or ():
                if taint.get("timeAdded") is None:
                    taint["timeAdded"] = now()

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        super().check_create(value, causes, context)
        _check_spec(value["spec"], None, causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        _check_spec(value["spec"], old["spec"], causes)


def _check_spec(spec: Object, old: Object | None, causes: Causes) -> None:
    csi_driver_name(spec["driver"], "spec.driver", causes)
    _check_pool(spec["pool"], causes)
    if old is not None:
        immutable(spec["pool"]["name"], old["pool"]["name"], "spec.pool.name", causes)
        for name in ("driver", "nodeName"):
            immutable(spec.get(name), old.get(name), f"spec.{name}", causes)
    _check_nodes(spec, causes)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if counters and devices:
        causes.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    is_advanced = any(
        device.get("taints") or device.get("consumesCounters") for device in devices or ()
    )
    limit = MAX_TAINTED_DEVICES if is_advanced else MAX_DEVICES
    old_devices = {device["name"]: device for device in (old or {}).get("devices") or ()}
    by_device = bool(spec.get("perDeviceNodeSelection"))
    check_set(
        devices,
        limit,
        lambda device, path: _check_device(device, old_devices, by_device, path, causes),
        lambda device: device["name"],
        "spec.devices",
        causes,
    )
    check_set(
        counters,
        MAX_COUNTER_SETS,
        lambda counter_set, path: _check_counters(counter_set, "name", path, causes),
        lambda counter_set: counter_set["name"],
        "spec.sharedCounters",
        causes,
    )


def _check_pool(pool: Object, causes: Causes) -> None:
    path = "spec.pool"
    check_pool_name(pool["name"], f"{path}.name", causes)
    if pool["resourceSliceCount"] <= 0:
        count = pool["resourceSliceCount"]
        causes.invalid(f"{path}.resourceSliceCount", count, "must be greater than zero")
    if pool["generation"] < 0:
        detail = "must be greater than or equal to zero"
        causes.invalid(f"{path}.generation", pool["generation"], detail)


def _check_nodes(spec: Object, causes: Causes) -> None:
    present: list[str] = []
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        present.append("`nodeName`")
        causes.invalid_each("spec.nodeName", name, dns_subdomain(name))
    elif name is not None:
        detail = "must be either unset or set to a non-empty string"
        causes.invalid("spec.nodeName", name, detail)
    if selector is not None:
        present.append("`nodeSelector`")
        check_node_selector(selector, "spec.nodeSelector", causes, check_values=True)
        terms = selector["nodeSelectorTerms"] or []
        if len(terms) != 1:
            detail = "must have exactly one node selector term"
            shown = [
                {
                    "MatchExpressions": term.get("matchExpressions"),
                    "MatchFields": term.get("matchFields"),
                }
                for term in terms
            ]
            causes.invalid("spec.nodeSelector.nodeSelectorTerms", shown, detail)
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field):
            present.append(f"`{field}`")
        elif spec.get(field) is not None:
            causes.invalid(f"spec.{field}", False, "must be either unset or set to true")
    if not present:
        causes.required("spec", _NODES)
    elif len(present) > 1:
        fields = f"{{{', '.join(present)}}}"
        causes.invalid("spec", fields, f"{_NODES}, but multiple fields are set")


def _check_device(
    device: Object, old: dict[str, Object], by_device: bool, path: str, causes: Causes
) -> None:
    causes.invalid_each(f"{path}.name", device["name"], dns_label(device["name"]))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > MAX_ATTRIBUTES:
        detail = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES}"
        causes.invalid(path, total, detail)
    for name, attribute in attributes.items():
        check_qualified_name(name, f"{path}.attributes", causes)
        _check_attribute(attribute, f"{path}.attributes[{_short(name)}]", causes)
    is_shared = bool(device.get("allowMultipleAllocations"))
    for name, value in capacity.items():
        check_qualified_name(name, f"{path}.capacity", causes)
        _check_capacity(value, is_shared, f"{path}.capacity[{_short(name)}]", causes)
    taints, before = device.get("taints"), old.get(device["name"])
    if before is None or before.get("taints") != taints:
        check_items(
            taints,
            MAX_TAINTS,
            lambda taint, field_path: _check_taint(taint, field_path, causes),
            f"{path}.taints",
            causes,
        )
    check_set(
        device.get("consumesCounters"),
        MAX_CONSUMPTIONS,
        lambda used, field_path: _check_counters(used, "counterSet", field_path, causes),
        lambda used: used["counterSet"],
        f"{path}.consumesCounters",
        causes,
    )
    _check_device_nodes(device, by_device, path, causes)
    check_binding_conditions(device, path, causes)


def _short(name: str) -> str:
    if len(name) <= MAX_KEY:
        return name
    rest = MAX_KEY - 3
    return f"{name[: (rest + 1) // 2]}...{name[-(rest // 2) :]}"


def _check_attribute(attribute: Object, path: str, causes: Causes) -> None:
    kinds = [name for name in (*ATTRIBUTE_KINDS, *_LISTS) if attribute.get(name) is not None]
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None:
        _check_length(text, f"{path}.string", causes)
    if version is not None:
        if not _VERSION.match(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            causes.invalid(f"{path}.version", version, detail)
        _check_length(version, f"{path}.version", causes)
    if not kinds:
        causes.invalid(path, "", "exactly one value must be specified")
    elif len(kinds) > 1:
        causes.invalid(path, _shown_attribute(attribute), "exactly one value must be specified")


def _check_length(text: str, path: str, causes: Causes) -> None:
    if len(text.encode()) > MAX_VALUE_LENGTH:
        causes.too_long(path, MAX_VALUE_LENGTH)


def _shown_attribute(attribute: Object) -> dict[str, Any]:
    fields = ("int", "bool", "string", "version")
    lists = ("ints", "bools", "strings", "versions")
    shown = {f"{name.capitalize()}Value": attribute.get(name) for name in fields}
    return shown | {f"{name[:-1].capitalize()}Values": attribute.get(name) for name in lists}


def _check_capacity(capacity: Object, is_shared: bool, path: str, causes: Causes) -> None:
    policy, field_path = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return
    if not is_shared:
        causes.forbidden(field_path, "allowMultipleAllocations must be true")
        return
    values, limits = policy.get("validValues") or [], policy.get("validRange")
    if values and limits is not None:
        causes.forbidden(
            field_path,
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at'
            " the same time",
        )
    elif values or limits is not None:
        name, default = "validValues" if values else "validRange", policy.get("default")
        if default is None:
            causes.required(f"{field_path}.default", f"required when {name} is defined")
        elif values:
            _check_values(values, default, capacity["value"], f"{field_path}.{name}", causes)
        elif limits is not None:
            _check_range(limits, default, capacity["value"], f"{field_path}.{name}", causes)


def _check_values(values: list[str], default: str, most: str, path: str, causes: Causes) -> None:
    for index in range(1, len(values)):
        if quantity(values[index - 1]) > quantity(values[index]):
            detail = "values must be sorted in ascending order"
            causes.invalid(f"{path}[{index}]", values[index], detail)

    def check(value: str, field_path: str) -> None:
        if quantity(value) > quantity(most):
            causes.invalid(field_path, value, f"option is larger than capacity value: {most}")

    check_set(values, MAX_OPTIONS, check, lambda value: str(-(-quantity(value) // 1)), path, causes)
    is_checked = len(values) <= MAX_OPTIONS
    if not is_checked or all(quantity(value) != quantity(default) for value in values):
        detail = "default value is not valid according to the requestPolicy"
        causes.invalid(path, default, detail)


def _check_range(limits: Object, default: str, most: str, path: str, causes: Causes) -> None:
    low, high, step = (limits.get(name) for name in ("min", "max", "step"))
    if low is None:
        causes.required(f"{path}.min", "required when validRange is defined")
        return
    if quantity(low) > quantity(most):
        causes.invalid(f"{path}.min", low, f"min is larger than capacity value: {most}")
    if quantity(default) < quantity(low):
        causes.invalid(f"{path}.min", default, f"default is less than min: {low}")
    if high is not None:
        if quantity(low) > quantity(high):
            causes.invalid(f"{path}.max", low, f"min is larger than max: {high}")
        if quantity(high) > quantity(most):
            causes.invalid(f"{path}.max", high, f"max is larger than capacity value: {most}")
        if quantity(default) > quantity(high):
            causes.invalid(f"{path}.max", default, f"default is more than max: {high}")
    if step is None:
        return
    added = amount(low).plus(amount(step))
    if added.value > quantity(most):
        detail = f"one step {added} is larger than capacity value: {most}"
        causes.invalid(f"{path}.step", step, detail)
    for value in (default, high):
        size = -(-quantity(step) // 1)
        distance = -(-quantity(value) // 1) + (-quantity(low) // 1) if value is not None else 0
        if size <= 0 or distance % size:
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            causes.invalid(f"{path}.step", value, detail)


def _check_taint(taint: Object, path: str, causes: Causes) -> None:
    causes.invalid_each(f"{path}.key", taint["key"], qualified_name(taint["key"]))
    value, effect = taint.get("value", ""), taint["effect"]
    if value:
        causes.invalid_each(f"{path}.value", value, label_value(value))
    if not effect:
        causes.required(f"{path}.effect")
    elif effect not in EFFECTS:
        causes.unsupported(f"{path}.effect", effect, EFFECTS)


def _check_counters(value: Object, name_field: str, path: str, causes: Causes) -> None:
    """Check a set of counters, or what a device uses of one."""
    name, counters = value[name_field], value.get("counters") or {}
    if not name:
        causes.required(f"{path}.{name_field}")
    else:
        causes.invalid_each(f"{path}.{name_field}", name, dns_label(name))
    if not counters:
        causes.required(f"{path}.counters")
    elif len(counters) > MAX_COUNTERS:
        causes.too_many(f"{path}.counters", len(counters), MAX_COUNTERS)
    else:
        for key in counters:
            causes.invalid_each(f"{path}.counters", key, dns_label(key))


def _check_device_nodes(device: Object, by_device: bool, path: str, causes: Causes) -> None:
    name, selector, every = (device.get(key) for key in ("nodeName", "nodeSelector", "allNodes"))
    if not by_device:
        if name is not None or selector is not None or every is not None:
            causes.invalid(path, None, _NO_DEVICE_NODES)
        return
    present = []
    if name:
        present.append("`nodeName`")
        causes.invalid_each(f"{path}.nodeName", name, dns_subdomain(name))
    elif name is not None:
        causes.invalid(f"{path}.nodeName", name, "must not be empty")
    if selector is not None:
        present.append("`nodeSelector`")
        check_node_selector(selector, f"{path}.nodeSelector", causes, check_values=True)
    if every:
        present.append("`allNodes`")
    elif every is not None:
        causes.invalid(f"{path}.allNodes", every, "must be either unset or set to true")
    if not present:
        causes.required(path, _DEVICE_NODES)
    elif len(present) > 1:
        causes.invalid(path, f"{{{', '.join(present)}}}", _DEVICE_NODES)
