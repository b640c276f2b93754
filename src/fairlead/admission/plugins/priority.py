"""Priority: resolves a pod's priority from its class, and allows one default class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error, refusal
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.version_facts import (
    FindCollection,
    PerCollectionCache,
    PerObjectCache,
)
from fairlead.storage.version import Version

CLASSES: Final = "scheduling/v1/priorityclasses"
_DEFAULT_POLICY: Final = "PreemptLowerPriority"


class _Class(NamedTuple):
    name: str
    priority: int
    policy: str
    is_default: bool


_NO_CLASS: Final = _Class("", 0, _DEFAULT_POLICY, is_default=False)


def _class_of(entry: Version) -> _Class:
    value = entry.object()
    policy = value.get("preemptionPolicy") or _DEFAULT_POLICY
    return _Class(entry.name, value["value"], policy, bool(value.get("globalDefault")))


def _default_class(entries: Iterable[Version]) -> _Class | None:
    """The default class; of several, which only a race can create, the one with the lowest
    priority."""
    defaults = [
        priority_class for priority_class in map(_class_of, entries) if priority_class.is_default
    ]
    return min(defaults, key=lambda priority_class: priority_class.priority, default=None)


class Priority(PluginBase):
    name = "Priority"
    concerns: frozenset[str] | None = frozenset({PODS, CLASSES})
    depends_on_other_state: tuple[str, ...] = (CLASSES,)

    def __init__(self, find: Find, collection: FindCollection) -> None:
        self._find = find
        self._classes = PerObjectCache(_class_of)
        self._default = PerCollectionCache(collection, CLASSES, _default_class)

    def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != PODS or attributes.value is None:
            return
        spec = attributes.value["spec"]
        if attributes.operation == CREATE:
            self._resolve(attributes, spec)
        elif attributes.operation == UPDATE and attributes.old is not None:
            _keep(spec, attributes.old["spec"])

    def _resolve(self, attributes: Attributes, spec: Object) -> None:
        priority_class = self._class(attributes, spec)
        value = spec.get("priority")
        if value is not None and value != priority_class.priority:
            raise mutation_error(
                attributes,
                f"the integer value of priority ({value}) must not be provided in pod spec;"
                f" priority admission controller computed {priority_class.priority} from the given"
                " PriorityClass name",
            )
        spec["priority"] = priority_class.priority
        policy = spec.get("preemptionPolicy")
        if policy is not None and policy != priority_class.policy:
            raise mutation_error(
                attributes,
                f"the string value of PreemptionPolicy ({policy}) must not be provided in pod"
                f" spec; priority admission controller computed {priority_class.policy} from the"
                " given PriorityClass name",
            )
        spec["preemptionPolicy"] = priority_class.policy

    def _class(self, attributes: Attributes, spec: Object) -> _Class:
        name = spec.get("priorityClassName", "")
        if not name:
            default = self._default.get()
            if default is None:
                return _NO_CLASS
            spec["priorityClassName"] = default.name
            return default
        entry = self._find(CLASSES, "", name)
        if entry is None:
            raise mutation_error(attributes, f"no PriorityClass with name {name} was found")
        return self._classes.of(entry)

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != CLASSES or attributes.value is None:
            return
        if not attributes.value.get("globalDefault"):
            return
        default = self._default.get()
        if default is None:
            return
        if attributes.operation == CREATE or default.name != attributes.name:
            raise refusal(
                attributes,
                f"PriorityClass {default.name} is already marked as default. Only one default can"
                " exist",
            )


def _keep(spec: Object, old: Object) -> None:
    """Keep the fields if the client left them out, since old clients do not know them."""
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and old.get(name) is not None:
            spec[name] = old[name]
