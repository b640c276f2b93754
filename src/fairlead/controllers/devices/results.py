"""Allocations of claims, as they are written into their status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairlead.codec.types.times import new_uid
from fairlead.controllers.devices.constraints import Want
from fairlead.controllers.devices.pools import Device
from fairlead.controllers.devices.usage import consumption
from fairlead.operations.api import Object

Chosen = Sequence[tuple[Want, Device]]


def allocation_of(
    claim: Object, chosen: Chosen, node: str, classes: Mapping[str, Object]
) -> Object:
    """The allocation of a claim whose requests get these devices on a node."""
    allocation: Object = {"devices": {"results": [_result(*choice) for choice in chosen]}}
    config = _config(claim, chosen, classes)
    if config:
        allocation["devices"]["config"] = config
    selector = _node_selector(node, (device for _, device in chosen))
    if selector is not None:
        allocation["nodeSelector"] = selector
    return allocation


def _result(want: Want, device: Device) -> Object:
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
    if device.is_shared:
        result["shareID"] = new_uid()
        consumed = consumption(device.value, request)
        if consumed:
            result["consumedCapacity"] = {key: f"{value:f}" for key, value in consumed.items()}
    return result


def _config(claim: Object, chosen: Chosen, classes: Mapping[str, Object]) -> list[Object]:
    by_class: dict[str, list[str]] = {}
    for want, _ in chosen:
        names = by_class.setdefault(want.request["deviceClassName"], [])
        if want.name not in names:
            names.append(want.name)
    config = [
        {"source": "FromClass", "requests": names, **entry}
        for device_class, names in by_class.items()
        for entry in classes[device_class]["spec"].get("config") or ()
    ]
    request_names = {want.name for want, _ in chosen} | {
        want.name.partition("/")[0] for want, _ in chosen
    }
    for entry in claim["spec"]["devices"].get("config") or ():
        if not entry.get("requests") or request_names & set(entry["requests"]):
            config.append({"source": "FromClaim", **entry})
    return config


def _node_selector(node: str, devices: Iterable[Device]) -> Object | None:
    """The nodes that can use all chosen devices; None if all can."""
    rules: list[Object] = []
    for device in devices:
        if device.node or device.value.get("bindsToNode"):
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        for rule in (device.term or {}).get("matchExpressions") or ():
            if rule not in rules:
                rules.append(rule)
    return {"nodeSelectorTerms": [{"matchExpressions": rules}]} if rules else None
