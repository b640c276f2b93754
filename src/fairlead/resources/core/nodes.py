"""The behaviour of Node: a machine that runs pods, its capacity and its taints; its columns."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from fairlead.base.dialect import Dialect
from fairlead.base.release import join_reworded
from fairlead.codec.json_syntax import describe_json_error
from fairlead.codec.types.mismatch import json_kind
from fairlead.codec.types.names import dns_label, dns_subdomain, label_value, qualified_name
from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes, GoValue, go_composite, quote
from fairlead.resources.columns.cell_text import NONE, UNKNOWN, field, items, mapping
from fairlead.resources.columns.model import (
    AGE,
    NAME,
    Field,
    Printer,
    Value,
    since,
    table,
    text,
    until,
)
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import network_errors, network_warnings, parse_network
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.pods.scheduling import TAINT_EFFECTS
from fairlead.resources.core.resource_names import check_amount
from fairlead.resources.core.shared import duplicate, go_date, go_text_fields, read_list
from fairlead.resources.go_values import go_list_or_nil as go_list
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import config_key_errors

_TAINTS = "metadata.taints"


class NodeBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        _sync_ranges(value["spec"])
        status = value["status"]
        if status.get("allocatable") is None and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])
        for name in ("capacity", "allocatable"):
            round_up_amounts(status.get(name))

    def prepare_create(self, value: Object, context: Context) -> None:
        """Keep the status, with which a node registers."""
        value["spec"].pop("configSource", None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        keep(value, old, "status")
        if "configSource" not in old["spec"]:
            value["spec"].pop("configSource", None)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        if "config" not in old["status"]:
            value["status"].pop("config", None)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        check_node_annotations(value["metadata"], causes, context)
        check_taints(value["spec"].get("taints"), _TAINTS, causes)
        _check_resources(value["status"], causes, context)
        swap = (value["status"].get("nodeInfo") or {}).get("swap") or {}
        if swap.get("capacity") is not None and swap["capacity"] <= 0:
            path = "metadata.nodeSwapStatus.capacity"  # the path of the reference
            causes.invalid(path, swap["capacity"], "must be greater than zero")
        _check_features(value["status"].get("declaredFeatures") or [], causes)
        _check_ranges(value["spec"].get("podCIDRs") or [], "spec.podCIDRs", causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self.check_create(value, causes, context)
        self._check_changed(value, old, causes, context)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self._check_changed(value, old, causes, context)

    def _check_changed(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, status = value["spec"], value["status"]
        check_metadata_update(value["metadata"], old["metadata"], causes)
        check_node_annotations(value["metadata"], causes, context)
        _check_resources(status, causes, context)
        _check_addresses(status.get("addresses") or [], causes)
        _check_assigned(spec, old["spec"], causes)
        if spec.get("configSource") is not None:
            check_config_source(spec["configSource"], "spec.configSource", causes)
        if status.get("config") is not None:
            check_config_status(status["config"], "status.config", causes)
        check_taints(spec.get("taints"), _TAINTS, causes)
        if spec.get("externalID") != old["spec"].get("externalID"):
            causes.forbidden("spec.externalID", "may not be updated")
        _check_features(status.get("declaredFeatures") or [], causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        spec, is_later = value["spec"], context.gates["LaterWarnings"]
        if spec.get("configSource") is not None:
            detail = "deprecated in v1.22, support removal is planned in v1.23"
            context.warn(f"spec.configSource: {'the feature is removed' if is_later else detail}")
        if not is_later:
            return
        if spec.get("externalID"):
            unused = "this field is deprecated, and is unused by Kubernetes"
            context.warn(f"spec.externalID: {unused}")
        for index, cidr in enumerate(spec.get("podCIDRs") or ()):
            for warning in network_warnings(cidr, f"spec.podCIDRs[{index}]"):
                context.warn(warning)


_FEATURE = re.compile(r"\A[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*\Z")
_FEATURE_ERROR = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g.,"
    " MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def _check_features(features: list[str], causes: Causes) -> None:
    """Check the features that a node declares; they must be sorted."""
    for index, feature in enumerate(features):
        path, name = f"status.declaredFeatures[{index}]", f"invalid feature name {quote(feature)}"
        if index and features[index - 1] == feature:
            causes.duplicate(path, feature)
        elif index and features[index - 1] > feature:
            causes.invalid(path, feature, "list must be sorted alphabetically")
        if len(feature) > 253:
            causes.invalid(path, feature, f"{name}: must be no more than 253 characters")
        elif not _FEATURE.match(feature):
            causes.invalid(path, feature, f"{name}: {_FEATURE_ERROR}")


def _sync_ranges(spec: Object) -> None:
    """Sync `podCIDR` of older clients with the first of `podCIDRs`; `podCIDR` wins."""
    single, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not ranges or ranges[0] != single):
        spec["podCIDRs"] = [single]
    elif ranges and not single:
        spec["podCIDR"] = ranges[0]


def _check_resources(status: Object, causes: Causes, context: Context) -> None:
    for kind in ("capacity", "allocatable"):
        for name, amount in (status.get(kind) or {}).items():
            check_amount(name, amount, f"status.{kind}.{name}", causes, context.dialect)


def _check_ranges(ranges: list[str], path: str, causes: Causes, context: Context) -> None:
    networks = [parse_network(cidr) for cidr in ranges]
    by_value = context.gates["AddressErrorsByValue"]
    for index, network in enumerate(networks):
        if by_value:
            errors = network_errors(ranges[index], strict=context.gates["StrictIPCIDRValidation"])
            causes.invalid_each(f"{path}[{index}]", ranges[index], errors)
        elif network is None:
            causes.invalid(f"{path}[{index}]", go_list("string", ranges), "must be valid CIDR")
    if len(ranges) < 2:
        return
    families = {network.version for network in networks if network is not None}
    if None in networks:
        invalid = ranges[networks.index(None)]
        detail = "invalid PodCIDRs. failed to check with dual stack with error:"
        detail += f"failed to parse cidr value:{quote(invalid)} with error:invalid CIDR address: "
        causes.internal(path, detail + invalid)
    if len(families) != 2 or len(ranges) > 2 or None in networks:
        detail = "may specify no more than one CIDR for each IP family"
        causes.invalid(path, go_list("string", ranges), detail)
    for index, cidr in enumerate(ranges):
        if cidr in ranges[:index] and not by_value:
            causes.duplicate(f"{path}[{index}]", cidr)


def _check_addresses(addresses: list[Object], causes: Causes) -> None:
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            fields = {"type": "Type", "address": "Address"}
            shown = go_text_fields("core.NodeAddress", address, fields)
            causes.duplicate(f"status.addresses[{index}]", shown)


def _check_assigned(spec: Object, old: Object, causes: Causes) -> None:
    """Pod CIDRs and the provider ID can be set once."""
    ranges, old_ranges = spec.get("podCIDRs") or [], old.get("podCIDRs") or []
    detail = 'node updates may not change podCIDR except from "" to valid'
    if old_ranges and len(ranges) != len(old_ranges):
        causes.forbidden("spec.podCIDRs", detail)
    elif old_ranges:
        for cidr, old_cidr in zip(ranges, old_ranges, strict=True):
            if cidr != old_cidr:
                causes.forbidden("spec.podCIDRs", detail)
    if old.get("providerID") and spec.get("providerID") != old["providerID"]:
        detail = 'node updates may not change providerID except from "" to valid'
        causes.forbidden("spec.providerID", detail)


# The config source of a node: dropped from new nodes, still checked in old nodes

_NAMES = {
    "namespace": dns_label,
    "name": dns_subdomain,
    "kubeletConfigKey": config_key_errors,
}


def check_config_source(source: Object, path: str, causes: Causes) -> None:
    """Check a source in the spec: it refers to an object by name only."""
    for reference in _reference(source, path, causes):
        for name in ("uid", "resourceVersion"):
            if reference.get(name):
                causes.forbidden(f"{path}.configMap.{name}", f"{name} must not be set in spec")
        _check_reference(reference, f"{path}.configMap", causes)


def check_config_status(status: Object, path: str, causes: Causes) -> None:
    """Check the sources in the status: each refers to an exact version."""
    for use in ("assigned", "active", "lastKnownGood"):
        if status.get(use) is None:
            continue
        for reference in _reference(status[use], f"{path}.{use}", causes):
            field = f"{path}.{use}.configMap"
            for name in ("uid", "resourceVersion"):
                if not reference.get(name):
                    causes.required(f"{field}.{name}", f"{name} must be set in status")
            _check_reference(reference, field, causes)


def _reference(source: Object, path: str, causes: Causes) -> list[Object]:
    if source.get("configMap") is not None:
        return [source["configMap"]]
    shown = GoValue("core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}")
    causes.invalid(path, shown, "exactly one reference subfield must be non-nil")
    return []


def _check_reference(reference: Object, path: str, causes: Causes) -> None:
    for name, rule in _NAMES.items():
        if not reference[name]:
            causes.required(f"{path}.{name}", f"{name} must be set")
        else:
            causes.invalid_each(f"{path}.{name}", reference[name], rule(reference[name]))


# Annotations of nodes: taints from before they had a field, and pods to avoid

TAINTS: Final = "scheduler.alpha.@/taints"
AVOIDED: Final = "scheduler.alpha.@/preferAvoidPods"

_PATH = "metadata.annotations"
_TAINT_TYPES: Final[dict[str, str]] = {
    "key": "string",
    "value": "string",
    "effect": "core.TaintEffect",
}


def check_node_annotations(metadata: Object, causes: Causes, context: Context) -> None:
    annotations: dict[str, str] = metadata.get("annotations") or {}
    key = context.dialect.label(TAINTS)
    if annotations.get(key):
        taints, error = read_list(annotations[key], "Taint", _TAINT_TYPES)
        if error:
            causes.invalid(_PATH, key, error)
        check_taints(taints, f"{_PATH}.{key}", causes)
    key = context.dialect.label(AVOIDED)
    if annotations.get(key):
        _check_avoided(annotations[key], key, causes)


def _check_avoided(text: str, key: str, causes: Causes) -> None:
    try:
        content: Any = orjson.loads(text)
        error = _avoid_pods_error(content)
    except orjson.JSONDecodeError:
        content, error = None, describe_json_error(text.encode())
    if error:
        causes.invalid(f"{_PATH}.AvoidPods", key, error)
        return
    for index, entry in enumerate((content or {}).get("preferAvoidPods") or ()):
        path = f"{_PATH}.{key}[{index}].PodSignature"
        controller = ((entry or {}).get("podSignature") or {}).get("podController")
        if controller is None:
            causes.required(path)
        elif not controller.get("controller"):
            field = f"{path}.PodController.Controller"
            causes.invalid(field, False, "must point to a controller")


# The steps from an entry to the controller of its pods, with their Go types.
_STEPS = (
    ("podSignature", "PreferAvoidPodsEntry", "v1.PodSignature"),
    ("podController", "PodSignature", "v1.OwnerReference"),
)


def _avoid_pods_error(content: Any) -> str:
    """Why parsed JSON is not a valid AvoidPods object; empty if it is."""
    if content is not None and not isinstance(content, dict):
        return f"json: cannot unmarshal {json_kind(content)} into Go value of type v1.AvoidPods"
    field_path, entries = "AvoidPods.preferAvoidPods", (content or {}).get("preferAvoidPods")
    if entries is not None and not isinstance(entries, list):
        return _in_field(entries, field_path, "[]v1.PreferAvoidPodsEntry")
    for entry in entries or ():
        if entry is not None and not isinstance(entry, dict):
            return _in_field(entry, field_path, "v1.PreferAvoidPodsEntry")
        inner, where = entry, "preferAvoidPods"
        for name, struct, kind in _STEPS:
            inner, where = (inner or {}).get(name), f"{where}.{name}"
            if inner is not None and not isinstance(inner, dict):
                return _in_field(inner, f"{struct}.{where}", kind)
    return ""


def _in_field(value: Any, field: str, kind: str) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go struct field {field} of type {kind}"


# Taints of nodes


def check_taints(taints: list[Object] | None, list_path: str, causes: Causes) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints or ()):
        path = f"{list_path}[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        causes.invalid_each(f"{path}.key", key, qualified_name(key))
        errors = label_value(value)
        if errors:
            causes.invalid(f"{path}.value", value, join_reworded(";", errors))
        if not effect:
            causes.required(f"{path}.effect")
        elif effect not in TAINT_EFFECTS:
            causes.unsupported(f"{path}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            duplicate(path, _shown_taint(taint), detail, causes)
        seen.add((key, effect))


def _shown_taint(taint: Object) -> GoValue:
    return go_composite(
        "core.Taint",
        {
            "Key": quote(taint.get("key", "")),
            "Value": quote(taint.get("value", "")),
            "Effect": quote(taint.get("effect", "")),
            "TimeAdded": go_date(taint.get("timeAdded")),
        },
    )


# Columns of nodes


def _status(node: Object) -> str:
    words = {
        condition.get("type"): "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in items(node, "status.conditions")
    }
    word = words.get("Ready", "Unknown")
    return f"{word},SchedulingDisabled" if field(node, "spec.unschedulable") else word


def _address(kind: str) -> Value:
    def cell(node: Object) -> str:
        addresses = (
            address for address in items(node, "status.addresses") if address.get("type") == kind
        )
        return next((str(address.get("address") or "") for address in addresses), NONE)

    return cell


def _roles(dialect: Dialect) -> Value:
    prefix, label = dialect.label("node-role.@/"), dialect.label("@/role")

    def cell(node: Object) -> str:
        labels = mapping(node, "metadata.labels")
        roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
        roles.add(labels.get(label, ""))
        return ",".join(sorted(roles - {""})) or NONE

    return cell


def _kernel(node: Object) -> str:
    info = mapping(node, "status.nodeInfo")
    kernel, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printer of nodes; the labels of roles depend on the dialect."""

    def info_column(name: str, key: str, description: str) -> Field:
        return text(name, f"status.nodeInfo.{key}", description, missing=UNKNOWN, wide=True)

    return {
        "core/v1/nodes": table(
            NAME,
            text("Status", _status, "Whether the node is ready and open to pods"),
            text("Roles", _roles(dialect), "Roles named by the node's labels"),
            AGE,
            text("Version", "status.nodeInfo.kubeletVersion", "Version of the node agent"),
            text("Internal-IP", _address("InternalIP"), "Address inside the cluster", wide=True),
            text("External-IP", _address("ExternalIP"), "Address from outside", wide=True),
            info_column("OS-Image", "osImage", "Operating system"),
            until(36, info_column("Kernel-Version", "kernelVersion", "Kernel")),
            since(36, text("Kernel-Version", _kernel, "Kernel and architecture", wide=True)),
            info_column("Container-Runtime", "containerRuntimeVersion", "What runs the containers"),
        )
    }
