"""The behaviour of the CSI kinds: CSIDriver (what a volume driver requires of the cluster), CSINode
(the drivers of a node) and CSIStorageCapacity (the capacity of a driver for a class)."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.context import Context
from fairlead.resources.core.pods.warnings import newer_node_label, warn_of_node_term
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.go_values import go_list, go_selector
from fairlead.resources.rules import (
    IMMUTABLE,
    NON_NEGATIVE,
    checks_selector_values,
    immutable,
    label_selector,
    non_negative,
)
from fairlead.resources.storage.shared import OrderedBehaviour, Step, same

SELINUX_GATE = "SELinuxMountReadWriteOncePod"
FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
MIN_UPDATE_PERIOD = 10
MIN_TOKEN_SECONDS = 600
MAX_TOKEN_SECONDS = 2**32

# The fields whose change increments the generation.
_GENERATION_FIELDS = ("tokenRequests", "requiresRepublish", "seLinuxMount")


class CSIDriverBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.RULES, Step.CHANGE)

    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
        if context.gates[SELINUX_GATE] and spec.get("seLinuxMount") is None:
            spec["seLinuxMount"] = False

    def prepare_create(self, value: Object, context: Context) -> None:
        if not context.gates[SELINUX_GATE]:
            value["spec"].pop("seLinuxMount", None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        if not context.gates[SELINUX_GATE] and before.get("seLinuxMount") is None:
            spec.pop("seLinuxMount", None)
        counted = {*spec, *before} if context.gates["CSIDriverSpecMutable"] else _GENERATION_FIELDS
        if any(not same(spec.get(name), before.get(name)) for name in counted):
            value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        policy = spec.get("fsGroupPolicy")
        if policy is not None and policy not in FS_GROUP_POLICIES:
            causes.unsupported("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES)
        _check_token_requests(spec.get("tokenRequests") or [], causes)
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in LIFECYCLE_MODES:
                causes.unsupported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES)
        if context.gates["MutableCSINodeAllocatableCount"]:
            _check_later_fields(spec, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        spec, before = value["spec"], old["spec"] if old is not None else {}
        requests = spec.get("tokenRequests") or []
        is_unset = spec.get("serviceAccountTokenInSecrets") is None
        if not context.gates["CSIServiceAccountTokenSecrets"] or not is_unset or not requests:
            return
        if not same(requests, before.get("tokenRequests")):
            context.warn(
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set"
                " to true to prevent possible logging of tokens in volume attributes"
            )

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        # The misspelled path is the reference's.
        immutable(
            spec.get("attachRequired"),
            before.get("attachRequired"),
            "spec.attachedRequired",
            causes,
        )
        is_mutable = context.gates["CSIDriverSpecMutable"]
        for name in () if is_mutable else ("fsGroupPolicy", "podInfoOnMount"):
            immutable(spec.get(name), before.get(name), f"spec.{name}", causes)
        modes = spec.get("volumeLifecycleModes")
        if not same(modes, before.get("volumeLifecycleModes")):
            shown = go_list("storage.VolumeLifecycleMode", modes)
            causes.invalid("spec.volumeLifecycleModes", shown, IMMUTABLE)
        if not is_mutable:
            _check_token_requests(spec.get("tokenRequests") or [], causes)


def _check_later_fields(spec: dict[str, Any], causes: Causes) -> None:
    if spec.get("seLinuxMount") is None:
        causes.required("spec.seLinuxMount")
    seconds = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if seconds is not None and seconds < MIN_UPDATE_PERIOD:
        detail = f"must be greater than or equal to {MIN_UPDATE_PERIOD} seconds"
        causes.invalid("spec.nodeAllocatableUpdatePeriodSeconds", seconds, detail)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        causes.invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail)


def _check_token_requests(requests: list[dict[str, Any]], causes: Causes) -> None:
    seen = set()
    for index, request in enumerate(requests):
        path = f"spec.tokenRequests[{index}]"
        audience, seconds = request["audience"], request.get("expirationSeconds")
        if audience in seen:
            causes.duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        check_token_lifetime(seconds, f"{path}.expirationSeconds", causes)


def check_token_lifetime(seconds: int | None, path: str, causes: Causes) -> None:
    """Check the lifetime of a requested service account token."""
    if seconds is None:
        return
    if seconds < MIN_TOKEN_SECONDS:
        causes.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > MAX_TOKEN_SECONDS:
        causes.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")


# CSINode: the volume drivers of a node. The entry of a driver is immutable.

MAX_NODE_ID_LENGTH = 256


class CSINodeBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA, Step.RULES, Step.CHANGE)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if not context.gates["CheckedOnce"]:
            super().check_update(value, old, causes, context)
            return
        self.check_create(value, causes, context)
        self.check_change(value, old, causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        seen: set[str] = set()
        for index, driver in enumerate(value["spec"]["drivers"] or ()):
            _check_driver(driver, seen, f"spec.drivers[{index}]", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        named: dict[str, list[dict[str, Any]]] = {}
        for driver in value["spec"]["drivers"] or ():
            named.setdefault(driver["name"], []).append(driver)
        is_count_mutable = context.gates["MutableCSINodeAllocatableCount"]
        path = "spec.drivers" if is_count_mutable else "CSINodeDriver"
        for before in old["spec"]["drivers"] or ():
            for driver in named.get(before["name"], ()):
                compared = [driver, before]
                if is_count_mutable:
                    compared = [{**driver, "allocatable": None} for driver in compared]
                if not same(*compared):
                    causes.invalid(path, _format_driver(compared[0]), IMMUTABLE)


def _check_driver(driver: dict[str, Any], seen: set[str], path: str, causes: Causes) -> None:
    csi_driver_name(driver["name"], f"{path}.name", causes)
    node_id = driver["nodeID"]
    if not node_id:
        causes.required(f"{path}.nodeID")
    if len(node_id) > MAX_NODE_ID_LENGTH:
        causes.invalid(
            f"{path}.nodeID", node_id, f"must be {MAX_NODE_ID_LENGTH} characters or less"
        )
    allocatable = driver.get("allocatable") or {}
    non_negative(allocatable.get("count"), f"{path}.allocatable.count", causes)
    if driver["name"] in seen:
        causes.duplicate(f"{path}.name", driver["name"])
    seen.add(driver["name"])
    _check_topology_keys(driver["topologyKeys"] or [], path, causes)


def _check_topology_keys(keys: list[str], path: str, causes: Causes) -> None:
    seen: set[str] = set()
    for key in keys:
        if not key:
            causes.required(path)
        if key in seen:
            causes.duplicate(path, key)
        seen.add(key)
        causes.invalid_each(path, key, qualified_name(key))


def _format_driver(driver: dict[str, Any]) -> GoValue:
    return go_composite(
        "storage.CSINodeDriver",
        {
            "Name": quote(driver["name"]),
            "NodeID": quote(driver["nodeID"]),
            "TopologyKeys": go_list("string", driver["topologyKeys"] or None),
            "Allocatable": go_pointer("storage.VolumeNodeResources", driver.get("allocatable")),
        },
    )


# CSIStorageCapacity: a driver's capacity for a class in a part of the cluster.


class CSIStorageCapacityBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.CHANGE)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        # Early releases of the reference check twice and list every cause twice.
        for _ in range(1 if context.gates["CheckedOnce"] else 2):
            super().check_create(value, causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self.check_again(value, value, causes, context)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        before = old.get("nodeTopology") if old is not value else None
        check_values = checks_selector_values(context.gates, before)
        topology = value.get("nodeTopology")
        label_selector(topology, "nodeTopology", causes, check_values=check_values)
        name = value["storageClassName"]
        causes.invalid_each("storageClassName", name, dns_subdomain(name))
        capacity = value.get("capacity")
        if capacity is not None and quantity(capacity) < 0:
            causes.invalid("capacity", capacity, NON_NEGATIVE)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        topology = value.get("nodeTopology")
        if not same(topology, old.get("nodeTopology")):
            shown = None if topology is None else go_selector(topology)
            causes.invalid("nodeTopology", shown, IMMUTABLE)
        name = "storageClassName"
        immutable(value[name], old[name], name, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        topology = value.get("nodeTopology") or {}
        warn_of_node_term(topology, "nodeTopology", context)
        for key in topology.get("matchLabels") or ():
            if newer := newer_node_label(key, context):
                context.warn(f"nodeTopology.matchLabels.{key}: {newer}")
