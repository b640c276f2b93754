"""Plugins about pods and the nodes they are bound to: PodTopologyLabels copies labels of the node,
NodeDeclaredFeatureValidator and PodResizeValidator refuse changes that the node does not support.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_UP, Decimal

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.quantity import amount

NODES = "core/v1/nodes"
_BINDING, _RESIZE = f"{PODS}/binding", f"{PODS}/resize"
_INIT_RESIZE = "InPlacePodVerticalScalingInitContainers"
_POD_RESIZE = "InPlacePodLevelResourcesVerticalScaling"
_TOPOLOGY_GATE = "PodTopologyLabelsAdmission"


class PodTopologyLabels(PluginBase):
    """Sets the zone and the region of the node as labels of pods that are created on a node or
    bound to one."""

    name = "PodTopologyLabels"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._labels = [dialect.label(f"topology.@/{name}") for name in ("region", "zone")]

    def admit(self, attributes: Attributes) -> None:
        if attributes.operation != CREATE or attributes.value is None:
            return
        key, value = attributes.resource.key, attributes.value
        if key not in (PODS, _BINDING) or not attributes.context.gates[_TOPOLOGY_GATE]:
            return
        if key == PODS:
            name = value["spec"].get("nodeName")
        else:
            target = value["target"]
            name = target.get("name") if target.get("kind") == "Node" else ""
        node = self._find(NODES, "", name) if name else None
        if node is None:
            return
        labels = {label: node.labels[label] for label in self._labels if label in node.labels}
        if labels:
            metadata = value["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


def _bound_update(attributes: Attributes, keys: tuple[str, ...]) -> Object | None:
    """The new pod, if the write changes the spec of a pod on a node."""
    if attributes.operation != UPDATE or attributes.resource.key not in keys:
        return None
    pod, old = attributes.value, attributes.old
    if pod is None or old is None or not pod["spec"].get("nodeName"):
        return None
    generations = [value["metadata"].get("generation") for value in (pod, old)]
    return None if generations[0] == generations[1] else pod


def _no_node(attributes: Attributes, name: str) -> StatusError:
    return refusal(attributes, f'node "{name}" not found')


class NodeDeclaredFeatureValidator(PluginBase):
    name = "NodeDeclaredFeatureValidator"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, find: Find) -> None:
        self._find = find

    def validate(self, attributes: Attributes) -> None:
        pod = _bound_update(attributes, (PODS, _RESIZE))
        if pod is None or not attributes.context.gates["NodeDeclaredFeatures"]:
            return
        assert attributes.old is not None
        needed = list(_needed_features(pod["spec"], attributes.old["spec"]))
        if not needed:
            return
        name = pod["spec"]["nodeName"]
        node = self._find(NODES, "", name)
        if node is None:
            raise _no_node(attributes, name)
        declared = (node.object().get("status") or {}).get("declaredFeatures") or ()
        missing = [feature for feature in needed if feature not in declared]
        if missing:
            raise refusal(
                attributes,
                f"pod update requires features {', '.join(missing)} which are not available on"
                f' node "{name}"',
            )


def _needed_features(spec: Object, old: Object) -> Iterator[str]:
    """The features of a node that a change of a pod's spec needs, in the order of messages."""
    if spec.get("resources") != old.get("resources"):
        yield _POD_RESIZE
    new = {container["name"]: container for container in spec.get("initContainers") or ()}
    for container in old.get("initContainers") or ():
        resources = new.get(container["name"], container).get("resources")
        if container.get("restartPolicy") != "Always" and resources != container.get("resources"):
            yield _INIT_RESIZE
            return


class PodResizeValidator(PluginBase):
    name = "PodResizeValidator"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._os = dialect.label("@/os")

    def validate(self, attributes: Attributes) -> None:
        pod = _bound_update(attributes, (_RESIZE,))
        if pod is None or not attributes.context.gates["InPlacePodVerticalScaling"]:
            return
        spec = pod["spec"]
        name = spec["nodeName"]
        node = self._find(NODES, "", name)
        if node is None:
            raise _no_node(attributes, name)
        system = node.labels.get(self._os, "linux")
        if system != "linux":
            text = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _resize_error(attributes, text, "UnsupportedPlatform")
        allocatable = (node.object().get("status") or {}).get("allocatable") or {}
        exceeded = list(_exceeded(spec, allocatable))
        if exceeded:
            text = f"node didn't have enough allocatable resources: {'; '.join(exceeded)}"
            raise _resize_error(attributes, text, "NodeCapacity")


def _resize_error(attributes: Attributes, text: str, reason: str) -> StatusError:
    error = refusal(attributes, text)
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error


def _exceeded(spec: Object, allocatable: Object) -> Iterator[str]:
    for name, unit in (("cpu", 1000), ("memory", 1)):
        requested, available = _requested(spec, name), amount(allocatable.get(name, "0")).value
        if requested > available:
            shown = [
                (value * unit).to_integral_value(rounding=ROUND_UP)
                for value in (requested, available)
            ]
            yield f"{name}, requested: {shown[0]}, allocatable: {shown[1]}"


def _requested(spec: Object, name: str) -> Decimal:
    """The request of a pod: its own, or that of its containers; with its overhead."""
    overhead = amount((spec.get("overhead") or {}).get(name, "0")).value
    own = ((spec.get("resources") or {}).get("requests") or {}).get(name)
    if own is not None:
        return amount(own).value + overhead
    running = sum((_request(container, name) for container in spec["containers"]), Decimal(0))
    largest = sidecars = Decimal(0)
    for container in spec.get("initContainers") or ():
        request = _request(container, name)
        if container.get("restartPolicy") == "Always":
            running += request
            sidecars += request
            largest = max(largest, sidecars)
        else:
            largest = max(largest, sidecars + request)
    return max(running, largest) + overhead


def _request(container: Object, name: str) -> Decimal:
    requests = (container.get("resources") or {}).get("requests") or {}
    return amount(requests.get(name, "0")).value
