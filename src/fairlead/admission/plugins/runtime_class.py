"""RuntimeClass: sets the overhead and the scheduling constraints of a pod's runtime class."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error, refusal
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.tolerations import merged
from fairlead.admission.plugins.version_facts import PerObjectCache
from fairlead.resources.core.shared import same_quantities
from fairlead.storage.version import Version

CLASSES: Final = "node/v1/runtimeclasses"
_NO_CLASS: Final[Object] = {}
_OTHER_OVERHEAD: Final = (
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
)
_OWN_OVERHEAD: Final = (
    "pod rejected: Pod's Overhead is set by its RuntimeClass and must not be given"
)
_UNKNOWN_OVERHEAD: Final = (
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
)


class RuntimeClass(PluginBase):
    name = "RuntimeClass"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, find: Find) -> None:
        self._find = find
        self._classes = PerObjectCache(Version.object)

    def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        spec = attributes.value["spec"]
        runtime_class = self._class(attributes, spec)
        if runtime_class.get("overhead") is not None:
            _set_overhead(attributes, spec, runtime_class["overhead"].get("podFixed"))
        if runtime_class.get("scheduling") is not None:
            _set_scheduling(attributes, spec, runtime_class["scheduling"])

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        spec = attributes.value["spec"]
        overhead = self._class(attributes, spec).get("overhead")
        pod_overhead = spec.get("overhead")
        if overhead is None:
            if pod_overhead is not None:
                raise refusal(attributes, _UNKNOWN_OVERHEAD)
        elif not same_quantities(pod_overhead, overhead.get("podFixed")):
            raise refusal(attributes, _OTHER_OVERHEAD)

    def _class(self, attributes: Attributes, spec: Object) -> Object:
        """The pod's class. Shared: do not modify."""
        name = spec.get("runtimeClassName")
        if name is None:
            return _NO_CLASS
        entry = self._find(CLASSES, "", name)
        if entry is None:
            raise mutation_error(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return self._classes.of(entry)


def _set_overhead(attributes: Attributes, spec: Object, fixed: Object | None) -> None:
    overhead = spec.get("overhead")
    if overhead is not None and not same_quantities(overhead, fixed):
        raise mutation_error(attributes, _OTHER_OVERHEAD)
    # In a later round it is the value set here.
    if overhead is not None and not attributes.round and _refuses_any(attributes):
        raise mutation_error(attributes, _OWN_OVERHEAD)
    if fixed:
        spec["overhead"] = dict(fixed)


def _refuses_any(attributes: Attributes) -> bool:
    return attributes.context.dialect.set_overhead_refused


def _set_scheduling(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        present = selector.setdefault(key, value)
        if present != value:
            raise mutation_error(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                f" pod.spec.nodeSelector[{key}] = {present}",
            )
    if selector:
        spec["nodeSelector"] = selector
    added = deepcopy(scheduling.get("tolerations") or [])
    tolerations = merged(spec.get("tolerations") or [], added)
    if tolerations:
        spec["tolerations"] = tolerations
