"""The behaviour of Endpoints: the addresses and ports behind a service."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain, qualified_name
from fairlead.codec.types.times import TimeError, canonical_time
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_errors, address_warning, non_special_address
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import PROTOCOLS, one_of, port_number

LAST_CHANGE = "endpoints.@/last-change-trigger-time"


class EndpointsBehaviour(Behaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_annotations(value["metadata"].get("annotations") or {}, causes, context)
        strict = context.gates["StrictIPCIDRValidation"]
        for index, subset in enumerate(value.get("subsets") or ()):
            _check_subset(subset, f"subsets[{index}]", causes, strict)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        if context.gates["AddressErrorsByValue"] and value.get("subsets") == old.get("subsets"):
            value = {**value, "subsets": []}  # what was valid before is not checked again
        self.check_create(value, causes, context)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if not context.gates["EndpointAddressWarnings"]:
            return
        for index, subset in enumerate(value.get("subsets") or ()):
            for name in ("addresses", "notReadyAddresses"):
                for number, address in enumerate(subset.get(name) or ()):
                    path = f"subsets[{index}].{name}[{number}].ip"
                    if warning := address_warning(address["ip"], path):
                        context.warn(warning)


def _check_annotations(annotations: dict[str, str], causes: Causes, context: Context) -> None:
    key = context.dialect.label(LAST_CHANGE)
    if key not in annotations:
        return
    try:
        canonical_time(annotations[key])
    except TimeError as error:
        causes.invalid(f"annotations[{key}]", annotations[key], str(error))


def _check_subset(subset: Object, path: str, causes: Causes, strict: bool) -> None:
    ready, waiting = subset.get("addresses") or [], subset.get("notReadyAddresses") or []
    if not ready and not waiting:
        causes.required(path, "must specify `addresses` or `notReadyAddresses`")
    for name, addresses in (("addresses", ready), ("notReadyAddresses", waiting)):
        for index, address in enumerate(addresses):
            _check_address(address, f"{path}.{name}[{index}]", causes, strict)
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        _check_port(port, len(ports) > 1, f"{path}.ports[{index}]", causes)


def _check_address(address: Object, path: str, causes: Causes, strict: bool) -> None:
    errors = address_errors(address["ip"], strict=strict)
    causes.invalid_each(f"{path}.ip", address["ip"], errors)
    hostname, node = address.get("hostname"), address.get("nodeName")
    if hostname:
        causes.invalid_each(f"{path}.hostname", hostname, dns_label(hostname))
    if node is not None:
        causes.invalid_each(f"{path}.nodeName", node, dns_subdomain(node))
    non_special_address(address["ip"], f"{path}.ip", causes)


def _check_port(port: Object, needs_name: bool, path: str, causes: Causes) -> None:
    name, application = port.get("name"), port.get("appProtocol")
    if name:
        causes.invalid_each(f"{path}.name", name, dns_label(name))
    elif needs_name:
        causes.required(f"{path}.name")
    port_number(port["port"], f"{path}.port", causes)
    one_of(port.get("protocol"), PROTOCOLS, f"{path}.protocol", causes)
    if application is not None:
        causes.invalid_each(f"{path}.appProtocol", application, qualified_name(application))
