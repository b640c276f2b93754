"""Mirrors user-written Endpoints of services without a selector to EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import is_refused_by_terminating_namespace
from fairlead.controllers.service_endpoints.endpoints import ENDPOINTS, EndpointNames
from fairlead.controllers.service_endpoints.pods import SERVICES
from fairlead.controllers.service_endpoints.ports import Port, read_port, slice_ports
from fairlead.controllers.service_endpoints.slice_index import (
    SLICES,
    Plan,
    ServiceSlices,
    new_metadata,
    put_over,
)
from fairlead.controllers.service_endpoints.slice_packer import Identity, identity, is_same
from fairlead.controllers.service_endpoints.subsets import (
    MAX_ADDRESSES,
    NOT_READY,
    READY,
    offers_in,
    packed,
)
from fairlead.fields.last_applied import ANNOTATION as LAST_APPLIED
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.addresses import family_of
from fairlead.storage.version import Change

MANAGER = "endpointslicemirroring-controller.@"
SKIP = "endpointslice.@/skip-mirror"

# Address family and ports of a slice.
Kind = tuple[str, tuple[Port, ...]]


class MirroringController:
    """Keys are `namespace/name` of Endpoints; their services have the same names."""

    name = "endpointslicemirroring-controller"
    workers = 5

    def __init__(self, api: Api, objects: Client, recorder: Recorder) -> None:
        self._objects = objects
        self._recorder = recorder
        self._resource = api.resources.named(ENDPOINTS)
        self._slices = ServiceSlices(objects, api.dialect, MANAGER)
        self._names = EndpointNames(api.dialect)
        self._skip = api.dialect.label(SKIP)
        self._own_annotations = (self._names.last_change, api.dialect.label(LAST_APPLIED))

    def follows(self) -> Mapping[str, Keys]:
        if not self._objects.serves(SLICES):
            return {}
        return {SLICES: self._slices.changed, SERVICES: _key, ENDPOINTS: _key}

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        service = self._objects.find(SERVICES, namespace, name)
        endpoints = None
        if service is not None and not service["spec"].get("selector"):
            endpoints = self._objects.find(ENDPOINTS, namespace, name)
        existing = self._slices.of(key)
        if endpoints is None or not self._is_mirrored(endpoints):
            await self._slices.carry_out(Plan(delete=existing))
            return None
        try:
            await self._slices.carry_out(self._planned(endpoints, existing))
        except StatusError as error:
            if not is_refused_by_terminating_namespace(error):
                raise
        return None

    def _is_mirrored(self, endpoints: Object) -> bool:
        metadata = endpoints["metadata"]
        if (metadata.get("labels") or {}).get(self._skip) == "true":
            return False
        return self._names.leader not in (metadata.get("annotations") or {})

    def _planned(self, endpoints: Object, existing: list[Object]) -> Plan:
        by_kind: dict[Kind, list[Object]] = {}
        for endpoint_slice in existing:
            ports = slice_ports(read_port(port) for port in endpoint_slice["ports"] or ())
            by_kind.setdefault((endpoint_slice["addressType"], ports), []).append(endpoint_slice)
        plan = Plan()
        for kind, addresses in self._desired(endpoints).items():
            old = by_kind.pop(kind, [])
            plan.delete += old[1:]
            new = self._slice(endpoints, kind, addresses)
            if not old:
                plan.create.append(new)
            elif not self._is_so(old[0], new, addresses):
                plan.update.append(put_over(old[0], new))
        for unwanted in by_kind.values():
            plan.delete += unwanted
        plan.reuse(endpoints["metadata"]["uid"])
        return plan

    def _desired(self, endpoints: Object) -> dict[Kind, dict[Identity, Object]]:
        """The endpoints of each slice; records events about skipped addresses."""
        by_kind: dict[Kind, dict[Identity, Object]] = {}
        skipped = invalid = 0
        for subset in packed(offers_in(endpoints.get("subsets") or ())):
            ports = slice_ports(read_port(port) for port in subset.get("ports") or ())
            room = MAX_ADDRESSES
            for name, ready in ((READY, True), (NOT_READY, False)):
                for address in subset.get(name) or ():
                    family = family_of(address["ip"])
                    if not room or not family:
                        skipped += 1
                        invalid += 1 if room else 0
                        continue
                    room -= 1
                    endpoint = _endpoint(address, ready)
                    by_kind.setdefault((family, ports), {})[identity(endpoint)] = endpoint
        self._report_skipped(endpoints, invalid, skipped)
        return by_kind

    def _report_skipped(self, endpoints: Object, invalid: int, skipped: int) -> None:
        if invalid:
            text = f"Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._recorder.record(self._resource, endpoints, WARNING, "InvalidIPAddress", text)
        if skipped > invalid:
            text = (
                f"A max of {MAX_ADDRESSES} addresses can be mirrored to EndpointSlices per"
                f" Endpoints subset. {skipped} addresses were skipped"
            )
            reason = "TooManyAddressesToMirror"
            self._recorder.record(self._resource, endpoints, WARNING, reason, text)

    def _slice(self, endpoints: Object, kind: Kind, addresses: dict[Identity, Object]) -> Object:
        metadata = endpoints["metadata"]
        labels = {
            **(metadata.get("labels") or {}),
            self._slices.service_label: metadata["name"],
            self._slices.manager_label: self._slices.manager,
        }
        annotations = {
            name: text
            for name, text in (metadata.get("annotations") or {}).items()
            if name not in self._own_annotations
        }
        return {
            "metadata": {
                **new_metadata("Endpoints", endpoints, labels),
                "annotations": annotations,
            },
            "addressType": kind[0],
            "endpoints": list(addresses.values()),
            "ports": [port.in_slice() for port in kind[1]] or None,
        }

    def _is_so(self, old: Object, new: Object, addresses: dict[Identity, Object]) -> bool:
        metadata, other = old["metadata"], new["metadata"]
        if any((metadata.get(name) or {}) != other[name] for name in ("labels", "annotations")):
            return False
        stored = {identity(endpoint): endpoint for endpoint in old["endpoints"] or ()}
        return stored.keys() == addresses.keys() and all(
            is_same(endpoint, addresses[name]) for name, endpoint in stored.items()
        )


def _key(change: Change) -> Iterable[str]:
    return (change.key,)


def _endpoint(address: Object, ready: bool) -> Object:
    endpoint: Object = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
    for name in ("hostname", "targetRef", "nodeName"):
        if address.get(name):
            endpoint[name] = address[name]
    return endpoint
