"""Maintains EndpointSlices for every service with a selector: one set per address family and
combination of ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from fairlead.base import budget
from fairlead.base.errors import StatusError
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import is_refused_by_terminating_namespace
from fairlead.controllers.pod_members import PODS
from fairlead.controllers.service_endpoints.hints import Hints
from fairlead.controllers.service_endpoints.pods import (
    SERVICES,
    OfferedPorts,
    PodFacts,
    ServicePods,
    TriggerTimes,
    selector_of,
    weight,
)
from fairlead.controllers.service_endpoints.ports import Port, read_port, slice_ports
from fairlead.controllers.service_endpoints.slice_index import (
    SLICES,
    Plan,
    ServiceSlices,
    is_owned,
    new_metadata,
)
from fairlead.controllers.service_endpoints.slice_packer import Identity, identity, pack
from fairlead.controllers.service_endpoints.subsets import has_no_ports, is_headless
from fairlead.controllers.service_endpoints.zones import Zones
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.core.addresses import V4, V6
from fairlead.resources.core.endpoints import LAST_CHANGE
from fairlead.resources.discovery.endpoint_slices import HINTS_GATE
from fairlead.storage.version import Change

NODES = "core/v1/nodes"
MANAGER = "endpointslice-controller.@"

Ports = tuple[Port, ...]


class SlicesController:
    """Keys are `namespace/name` of services. The garbage collector deletes the slices of a deleted
    service."""

    name = "endpointslice-controller"
    workers = 5

    def __init__(self, api: Api, objects: Client, members: ServicePods, recorder: Recorder) -> None:
        self._objects = objects
        self._members = members
        self._recorder = recorder
        self._services = api.resources.named(SERVICES)
        self._slices = ServiceSlices(objects, api.dialect, MANAGER)
        self._nodes = objects.collection(NODES)
        self._triggers = TriggerTimes()
        self._nodes_of: dict[str, frozenset[str]] = {}  # node names by key of the service
        self._zones = Zones(self._nodes, api.dialect)
        annotations = [api.dialect.label("service.@/topology-aware-hints")]
        if api.gates["TopologyModeAnnotation"]:
            annotations.append(api.dialect.label("service.@/topology-mode"))
        self._hints = Hints(self._zones, annotations, enabled=api.gates[HINTS_GATE])
        self._headless_label = api.dialect.label("service.@/headless")
        self._last_change = api.dialect.label(LAST_CHANGE)

    def follows(self) -> Mapping[str, Keys]:
        if not self._objects.serves(SLICES):
            return {}
        return {
            SLICES: self._slices.changed,
            SERVICES: self._members.owner_changed,
            PODS: self._members.pod_changed,
            NODES: self._services_on_node,
        }

    def _services_on_node(self, change: Change) -> Iterable[str]:
        """Services with pods on a node that was added, removed or moved to another zone, and
        services whose hints are unbalanced by it."""
        keys: set[str] = set()
        if self._hints.are_wanted and self._zones.differ_by(change):
            keys.update(self._hints.out_of_balance())
        if change.before is not None and change.after is not None:
            zones = (
                version.labels.get(self._zones.label) for version in (change.before, change.after)
            )
            if len({*zones}) == 1:
                return keys
        return keys.union(key for key, nodes in self._nodes_of.items() if change.name in nodes)

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        service = self._objects.find(SERVICES, namespace, name)
        if service is None or selector_of(service) is None:
            self._nodes_of.pop(key, None)
            self._hints.forget(key)
            if service is None:
                self._triggers.forget(key)
            return None
        pods = await self._members.of(key)
        self._nodes_of[key] = frozenset(pod.node for pod in pods)
        moment = self._triggers.look(key, service, pods)
        try:
            await self._reconcile(key, service, pods, moment)
        except StatusError as error:
            if is_refused_by_terminating_namespace(error):
                return None
            self._report(service, str(error))
            raise
        return None

    async def _reconcile(
        self, key: str, service: Object, pods: list[PodFacts], moment: str
    ) -> None:
        families = service["spec"].get("ipFamilies") or (V4,)
        existing = self._slices.of(key)
        plan = Plan(
            delete=[
                endpoint_slice
                for endpoint_slice in existing
                if endpoint_slice["addressType"] not in families
            ]
        )
        on_nodes, missing = self._on_nodes(service, pods)
        for family in families:
            of_family = [
                endpoint_slice
                for endpoint_slice in existing
                if endpoint_slice["addressType"] == family
            ]
            size = weight(service, pods)
            endpoints = await budget.run(size, _desired, service, on_nodes, family)
            plan.add(self._planned(key, service, endpoints, of_family, family))
        if service["metadata"].get("deletionTimestamp") is not None:
            plan.create.clear()
        for value in (*plan.create, *plan.update):
            self._date(value["metadata"], moment)
        await self._slices.carry_out(plan)
        if missing:  # the events of their nodes queue the service again
            self._report(service, missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]")

    def _date(self, metadata: Object, moment: str) -> None:
        annotations = {**(metadata.get("annotations") or {})}
        annotations.pop(self._last_change, None)
        if moment:
            annotations[self._last_change] = moment
        metadata["annotations"] = annotations

    def _on_nodes(
        self, service: Object, pods: Iterable[PodFacts]
    ) -> tuple[list[tuple[PodFacts, str]], list[str]]:
        """The publishable pods with their zones, and messages about pods without a node."""
        publishes_all = service["spec"].get("publishNotReadyAddresses")
        zones: dict[str, str | None] = {}
        placed, missing = [], []
        for pod in pods:
            if not pod.is_published(terminating=True):
                continue
            if pod.node not in zones:
                node = self._nodes.get(pod.node)
                zones[pod.node] = node.labels.get(self._zones.label, "") if node else None
            zone = zones[pod.node]
            if zone is None and not publishes_all:
                name = f"{service['metadata']['namespace']}/{service['metadata']['name']}"
                missing.append(
                    f"skipping Pod {pod.name} for Service {name}: Node {pod.node} Not Found"
                )
            else:
                placed.append((pod, zone or ""))
        return placed, missing

    def _planned(
        self,
        key: str,
        service: Object,
        desired: dict[Ports, dict[Identity, Object]],
        existing: list[Object],
        family: str,
    ) -> Plan:
        """The plan for one address family."""
        owner, labels = service["metadata"]["uid"], self._labels(service)
        by_ports: dict[Ports, list[Object]] = {}
        plan = Plan()
        for endpoint_slice in existing:
            if is_owned(endpoint_slice, owner):
                by_ports.setdefault(_ports_of(endpoint_slice), []).append(endpoint_slice)
            else:
                plan.delete.append(endpoint_slice)
        for ports, endpoints in desired.items():
            new = partial(_new, service, labels, family, ports)
            plan.add(pack(by_ports.pop(ports, []), endpoints, labels, new))
        for unwanted in by_ports.values():
            plan.delete += unwanted
        if len(plan.delete) == len(existing) and not plan.create:
            self._keep_placeholder(plan, _new(service, labels, family, ()))
        self._hints.put(key, service, family, plan, existing)
        plan.reuse(owner)
        return plan

    def _keep_placeholder(self, plan: Plan, empty: Object) -> None:
        """Keep one empty slice for a service without endpoints."""
        if len(plan.delete) == 1 and _is_placeholder(plan.delete[0], empty):
            plan.delete.clear()
        else:
            plan.create.append(empty)

    def _labels(self, service: Object) -> Mapping[str, str]:
        metadata = service["metadata"]
        labels = {**(metadata.get("labels") or {})}
        labels.pop(self._headless_label, None)
        if is_headless(service):
            labels[self._headless_label] = ""
        labels[self._slices.service_label] = metadata["name"]
        labels[self._slices.manager_label] = self._slices.manager
        return labels

    def _report(self, service: Object, why: str) -> None:
        name = f"{service['metadata']['namespace']}/{service['metadata']['name']}"
        text = f"Error updating Endpoint Slices for Service {name}: {why}"
        self._recorder.record(
            self._services, service, WARNING, "FailedToUpdateEndpointSlices", text
        )


def _ports_of(value: Object) -> Ports:
    return slice_ports(read_port(port) for port in value["ports"] or ())


def _is_placeholder(value: Object, empty: Object) -> bool:
    metadata, empty_metadata = value["metadata"], empty["metadata"]
    return (
        not value["endpoints"]
        and not value["ports"]
        and all(
            metadata.get(name) == empty_metadata[name] for name in ("labels", "ownerReferences")
        )
    )


def _new(service: Object, labels: Mapping[str, str], family: str, ports: Ports) -> Object:
    return {
        "metadata": new_metadata("Service", service, labels),
        "addressType": family,
        "endpoints": None,
        "ports": [port.in_slice() for port in ports] or None,
    }


def _desired(
    service: Object, pods: Iterable[tuple[PodFacts, str]], family: str
) -> dict[Ports, dict[Identity, Object]]:
    """The endpoints of a family by ports."""
    publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
    offered, none = OfferedPorts(service, slice_ports), ()
    without_ports = has_no_ports(service)
    # By id of the shared tuple of ports.
    by_ports: dict[int, tuple[Ports, dict[Identity, Object]]] = {}
    for pod, zone in pods:
        ports = none if without_ports else offered.of(pod)
        _, endpoints = by_ports.setdefault(id(ports), (ports, {}))
        addresses = [address for address in pod.addresses if (":" in address) == (family == V6)]
        if not addresses:
            continue
        endpoint: Object = {
            "addresses": addresses,
            "conditions": {
                "ready": publishes_all or (pod.ready and not pod.terminating),
                "serving": pod.ready,
                "terminating": pod.terminating,
            },
        }
        if hostname := pod.hostname_for(service):
            endpoint["hostname"] = hostname
        endpoint["targetRef"] = pod.reference
        if pod.node:
            endpoint["nodeName"] = pod.node
        if zone:
            endpoint["zone"] = zone
        endpoints[identity(endpoint)] = endpoint
    return dict(by_ports.values())
