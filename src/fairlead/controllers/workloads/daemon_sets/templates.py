"""Pod templates of DaemonSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.controllers.node_affinity import NODE_NAME_FIELD
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.apps.shared import TEMPLATE_GENERATION
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE, REQUIRED

HASH_LABEL = "controller-revision-hash"
GENERATION_LABEL = "pod-template-generation"

_IDENTITY = ("key", "operator", "value", "effect")
# Taints that daemon pods always tolerate: they must also run on unhealthy nodes.
_TOLERATED = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)
_ON_HOST_NETWORK = ("network-unavailable", NO_SCHEDULE)


def template_generation(owner: Object) -> str:
    """The template generation from the annotation that the API maintains."""
    count: str = (owner["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return count


def is_updated(pod: Pod, generation: str, text: str) -> bool:
    """Whether a pod has this template generation or this hash."""
    labels = pod.labels
    if generation and labels.get(GENERATION_LABEL) == generation:
        return True
    return labels.get(HASH_LABEL) == text


class Tolerated:
    """The tolerations added to those of the template."""

    def __init__(self, dialect: Dialect) -> None:
        self._always = [_exists(dialect, *arguments) for arguments in _TOLERATED]
        self._on_host_network = _exists(dialect, *_ON_HOST_NETWORK)

    def tolerations_for(self, spec: Object) -> list[Object]:
        """The tolerations of a pod with this spec, with the added ones, which have no time
        limit."""
        added = self._always
        if spec.get("hostNetwork"):
            added = [*added, self._on_host_network]
        places = {_identity(toleration): toleration for toleration in added}
        tolerations = spec.get("tolerations") or []
        merged = [places.pop(_identity(toleration), toleration) for toleration in tolerations]
        return [*merged, *places.values()]


def _exists(dialect: Dialect, name: str, effect: str) -> Object:
    return {"key": dialect.label(f"node.@/{name}"), "operator": "Exists", "effect": effect}


def _identity(toleration: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(toleration.get(name, "") for name in _IDENTITY)


def daemon_template(owner: Object, text: str, tolerated: Tolerated) -> Object:
    """The pod template of a set whose revision has this hash."""
    template = owner["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: text}
    if generation := template_generation(owner):
        labels[GENERATION_LABEL] = generation
    spec = {**template["spec"], "tolerations": tolerated.tolerations_for(template["spec"])}
    return {"metadata": {**metadata, "labels": labels}, "spec": spec}


def for_node(template: Object, node: str) -> Object:
    """The template with its required node affinity replaced by this node."""
    term = {"matchFields": [{"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}]}
    affinity = template["spec"].get("affinity") or {}
    nodes = {**(affinity.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": [term]}}
    spec = {**template["spec"], "affinity": {**affinity, "nodeAffinity": nodes}}
    return {**template, "spec": spec}
