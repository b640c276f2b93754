"""Rules of the status of claims: allocations, reservations and the states of devices."""

from __future__ import annotations

import re
from typing import Any

from fairlead.codec.types.model import Object, Struct, Type
from fairlead.codec.types.names import dns_label, qualified_name
from fairlead.resources.causes import Causes
from fairlead.resources.core.addresses import parse_address, parse_network
from fairlead.resources.core.pods.scheduling import check_node_selector
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.internal_types import internal_value
from fairlead.resources.resource.requests import (
    MAX_CONFIG,
    MAX_REQUESTS,
    Names,
    check_config,
    check_items,
    check_pool_name,
    check_raw,
    check_request_name,
    check_request_names,
    check_set,
    request_names,
)
from fairlead.resources.rules import IMMUTABLE, check_conditions

MAX_RESERVATIONS = 256
MAX_CONDITIONS = 8
MAX_DATA = 10 * 1024
MAX_ADDRESSES = 16
MAX_INTERFACE_NAME, MAX_HARDWARE_ADDRESS = 256, 128
MAX_BINDING_CONDITIONS = 4
SOURCES = ("FromClaim", "FromClass")
_UID = re.compile(r"\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_NOT_IN_DELETION = (
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
)

Device = tuple[str, str, str, str]


def device_id(value: Object) -> Device:
    """Driver, pool, device and share of a result or a state."""
    return (value["driver"], value["pool"], value["device"], value.get("shareID") or "")


def results_of(status: Object) -> list[Object]:
    allocation = status.get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def check_claim_status(value: Object, old: Object, causes: Causes, type_: Type) -> None:
    """Check a status; `type_` is its type."""
    status, before = value.get("status") or {}, old.get("status") or {}
    names = request_names(value["spec"])
    check_set(
        status.get("reservedFor"),
        MAX_RESERVATIONS,
        lambda consumer, path: _check_consumer(consumer, path, causes),
        lambda consumer: consumer["uid"],
        "status.reservedFor",
        causes,
    )
    allocated = {device_id(result) for result in results_of(status)}
    check_set(
        status.get("devices"),
        -1,
        lambda device, path: _check_device_status(device, path, allocated, causes),
        device_id,
        "status.devices",
        causes,
        _shown_device,
    )
    _check_reservations(value, status, before, causes)
    allocation, old_allocation = status.get("allocation"), before.get("allocation")
    if allocation is not None and old_allocation is not None:
        if allocation != old_allocation:
            assert isinstance(type_, Struct)
            shown = internal_value(type_.fields["allocation"].type, allocation)
            causes.invalid("status.allocation", shown, IMMUTABLE)
    elif allocation is not None:
        _check_allocation(allocation, "status.allocation", names, causes)


def _check_consumer(consumer: Object, path: str, causes: Causes) -> None:
    for name in ("resource", "name", "uid"):
        if not consumer[name]:
            causes.required(f"{path}.{name}")


def _check_reservations(value: Object, status: Object, before: Object, causes: Causes) -> None:
    reserved = status.get("reservedFor") or []
    if not reserved:
        return
    if status.get("allocation") is None:
        detail = "may not be specified when `allocated` is not set"
        causes.forbidden("status.reservedFor", detail)
    elif value["metadata"].get("deletionTimestamp"):
        known = before.get("reservedFor") or []
        if any(consumer not in known for consumer in reserved):
            causes.forbidden("status.reservedFor", _NOT_IN_DELETION)


def _check_allocation(allocation: Object, path: str, names: Names, causes: Causes) -> None:
    devices = allocation.get("devices") or {}
    check_items(
        devices.get("results"),
        MAX_REQUESTS,
        lambda result, field_path: _check_result(result, field_path, names, causes),
        f"{path}.devices.results",
        causes,
    )
    check_items(
        devices.get("config"),
        2 * MAX_CONFIG,
        lambda config, field_path: _check_allocation_config(config, field_path, names, causes),
        f"{path}.devices.config",
        causes,
    )
    selector = allocation.get("nodeSelector")
    if selector is not None:
        check_node_selector(selector, f"{path}.nodeSelector", causes, check_values=True)


def _check_result(result: Object, path: str, names: Names, causes: Causes) -> None:
    check_request_name(result["request"], f"{path}.request", names, causes)
    _check_device(result, path, causes)
    check_binding_conditions(result, path, causes)
    if result.get("shareID") is not None:
        _check_uid(result["shareID"], f"{path}.shareID", causes)


def _check_device(value: Object, path: str, causes: Causes) -> None:
    csi_driver_name(value["driver"], f"{path}.driver", causes)
    check_pool_name(value["pool"], f"{path}.pool", causes)
    causes.invalid_each(f"{path}.device", value["device"], dns_label(value["device"]))


def _check_allocation_config(config: Object, path: str, names: Names, causes: Causes) -> None:
    source = config["source"]
    if not source:
        causes.required(f"{path}.source")
    elif source not in SOURCES:
        causes.unsupported(f"{path}.source", source, SOURCES)
    check_request_names(config.get("requests"), f"{path}.requests", names, causes)
    check_config(config, path, causes)


def check_binding_conditions(value: Object, path: str, causes: Causes) -> None:
    """Check the conditions that must hold, or make the binding fail, before a pod is bound."""
    conditions = value.get("bindingConditions") or []
    failures = value.get("bindingFailureConditions") or []
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        check_items(
            listed,
            MAX_BINDING_CONDITIONS,
            lambda text, item_path: causes.invalid_each(item_path, text, qualified_name(text)),
            f"{path}.{name}",
            causes,
        )
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        for index, text in enumerate(listed):
            item_path = f"{path}.{name}[{index}]"
            if text in listed[:index]:
                causes.duplicate(item_path, text)
            if listed is failures and text in conditions:
                detail = "bindingFailureConditions must not overlap with bindingConditions"
                causes.invalid(item_path, text, detail)
    if failures and not conditions:
        detail = "bindingConditions are required to use bindingFailureConditions"
        causes.invalid(f"{path}.bindingConditions", None, detail)
    if conditions and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        causes.invalid(f"{path}.bindingFailureConditions", None, detail)


def _check_uid(uid: str, path: str, causes: Causes) -> None:
    if _UID.match(uid):
        return
    if _UID.match(uid.lower()):
        causes.invalid(
            path,
            uid,
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with"
            " lowercase hexadecimal characters",
        )
    else:
        problem = "invalid UUID format" if len(uid) == 36 else f"invalid UUID length: {len(uid)}"
        causes.invalid(path, uid, f"error validating uid: {problem}")


def _check_device_status(device: Object, path: str, allocated: set[Device], causes: Causes) -> None:
    _check_device(device, path, causes)
    if device.get("shareID") is not None:
        _check_uid(device["shareID"], f"{path}.shareID", causes)
    if device_id(device) not in allocated:
        causes.invalid(path, _shown_device(device), "must be an allocated device in the claim")
    conditions = device.get("conditions") or []
    if len(conditions) > MAX_CONDITIONS:
        causes.too_many(f"{path}.conditions", len(conditions), MAX_CONDITIONS)
    check_conditions(conditions, f"{path}.conditions", causes)
    if device.get("data") is not None:
        check_raw(device["data"], f"{path}.data", MAX_DATA, causes)
    if device.get("networkData") is not None:
        _check_network_data(device["networkData"], f"{path}.networkData", causes)


def _shown_device(device: Object) -> dict[str, Any]:
    names = {"Driver": "driver", "Pool": "pool", "Device": "device", "ShareID": "shareID"}
    return {name: device.get(key) or "" for name, key in names.items()}


def _check_network_data(data: Object, path: str, causes: Causes) -> None:
    for name, limit in (
        ("interfaceName", MAX_INTERFACE_NAME),
        ("hardwareAddress", MAX_HARDWARE_ADDRESS),
    ):
        if len(data.get(name, "").encode()) > limit:
            causes.too_long(f"{path}.{name}", limit)
    check_set(
        data.get("ips"),
        MAX_ADDRESSES,
        lambda text, field_path: _check_interface_address(text, field_path, causes),
        lambda text: text,
        f"{path}.ips",
        causes,
    )


def _check_interface_address(text: str, path: str, causes: Causes) -> None:
    network, address = parse_network(text), parse_address(text.partition("/")[0])
    if network is None or address is None:
        detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        causes.invalid(path, text, detail)
        return
    canonical = f"{address}/{network.prefixlen}"
    if text != canonical:
        causes.invalid(path, text, f'must be in canonical form ("{canonical}")')
