"""LimitRanger: pods get what the limit ranges of their namespace give by default, and pods and
claims stay within their bounds."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.admission.plugins.limit_checks import (
    Range,
    claim_violations,
    pod_violations,
    range_of,
)
from fairlead.admission.plugins.remembering import MOST_KEPT, EntryFacts, FindCollection
from fairlead.dialect import Dialect

CLAIMS, RANGES = "core/v1/persistentvolumeclaims", "core/v1/limitranges"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))
# What pods of the namespace `default` request where nothing else is said and the dialect wants it.
_USUAL = Range((("cpu", "100m"),), (), ())


class LimitRanger(PluginBase):
    name = "LimitRanger"
    concerns: frozenset[str] | None = frozenset({PODS, CLAIMS})
    # Claims that nobody changes are held against ranges that may be new. Pods are not: what a range
    # looks at cannot change.
    judged_by_more: tuple[str, ...] = (CLAIMS,)

    def __init__(self, dialect: Dialect, collection: FindCollection) -> None:
        self._ranges = collection(RANGES)
        self._facts = EntryFacts(range_of)
        self._of_namespaces: dict[str, tuple[Range, ...]] = {}
        self._revision = -1
        self._annotation = dialect.label("@/limit-ranger")
        self._usual = (_USUAL,) if dialect.limit_ranger_default_cpu else ()

    async def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        ranges = self._of(attributes.namespace)
        if not ranges and attributes.namespace == "default":
            ranges = self._usual
        for found in ranges:
            self._fill(found, attributes.value)

    async def validate(self, attributes: Attributes) -> None:
        key, value = attributes.resource.key, attributes.value
        if key == PODS and attributes.operation == CREATE:
            find = pod_violations
        elif key == CLAIMS and attributes.operation in (CREATE, UPDATE):
            find = claim_violations
        else:
            return
        assert value is not None
        if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
            return
        for found in self._of(attributes.namespace):
            wrong = find(found, value["spec"])
            if wrong:
                said = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
                raise refusal(attributes, said)

    def _of(self, namespace: str) -> Sequence[Range]:
        if self._ranges.last_revision != self._revision:
            self._revision = self._ranges.last_revision
            self._of_namespaces.clear()
        known = self._of_namespaces.get(namespace)
        if known is None:
            if len(self._of_namespaces) >= MOST_KEPT:
                self._of_namespaces.clear()
            found = tuple(self._facts.of(entry) for entry in self._ranges.current(namespace))
            known = self._of_namespaces[namespace] = found
        return known

    def _fill(self, found: Range, pod: Object) -> None:
        """Give containers what they do not say themselves, and write down what was given."""
        told: list[str] = []
        for field, word in _CONTAINERS:
            for container in pod["spec"].get(field) or ():
                resources = container["resources"]
                for kind, defaults in (("request", found.requests), ("limit", found.limits)):
                    names = _filled(resources, f"{kind}s", defaults)
                    if names:
                        told.append(f"{', '.join(names)} {kind} for {word} {container['name']}")
        if told:
            annotations = pod["metadata"].get("annotations") or {}
            annotations[self._annotation] = f"LimitRanger plugin set: {'; '.join(told)}"
            pod["metadata"]["annotations"] = annotations


def _filled(resources: Object, field: str, defaults: tuple[tuple[str, str], ...]) -> list[str]:
    given = resources.get(field) or {}
    missing = [(name, text) for name, text in defaults if name not in given]
    if missing:
        resources[field] = {**given, **dict(missing)}
    return [name for name, _ in missing]
