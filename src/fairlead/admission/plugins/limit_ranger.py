"""LimitRanger: applies the default requests and limits of a namespace's limit ranges to pods, and
checks pods and claims against their bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.admission.plugins.limit_checks import (
    Range,
    Texts,
    claim_violations,
    pod_violations,
    range_of,
)
from fairlead.admission.plugins.version_facts import MAX_CACHED, FindCollection, PerObjectCache
from fairlead.base import budget, meter
from fairlead.base.dialect import Dialect

# Finds the violations of a range by a spec.
Find = Callable[[Range, Object], Awaitable[list[str]]]
RESIZES = f"{PODS}/resize"
CLAIMS, RANGES = "core/v1/persistentvolumeclaims", "core/v1/limitranges"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))
_NAMES_PER_STEP = 8  # lookups per microsecond
_BYTES_PER_AMOUNT = 12  # its text, quotes, a colon and a comma
# Default requests of pods in the namespace `default` without limit ranges, in dialects that have
# them.
_DEFAULT_RANGE = Range((("cpu", "100m"),), (), ())


class LimitRanger(PluginBase):
    name = "LimitRanger"
    concerns: frozenset[str] | None = frozenset({PODS, RESIZES, CLAIMS})
    # Unchanged claims are checked against ranges that may be new. Pods are not: the fields that a
    # range checks are immutable.
    depends_on_other_state: tuple[str, ...] = (CLAIMS,)

    def __init__(self, dialect: Dialect, collection: FindCollection) -> None:
        self._ranges = collection(RANGES)
        self._facts = PerObjectCache(range_of)
        self._of_namespaces: dict[str, tuple[Range, ...]] = {}
        self._revision = -1
        self._annotation = dialect.label("@/limit-ranger")
        self._default_ranges = (_DEFAULT_RANGE,) if dialect.limit_ranger_default_cpu else ()

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return None
        if not len(self._ranges) and not self._default_ranges:
            return None
        return self._fill_defaults(attributes)

    async def _fill_defaults(self, attributes: Attributes) -> None:
        assert attributes.value is not None
        ranges = await self._of(attributes.namespace)
        if not ranges and attributes.namespace == "default":
            ranges = self._default_ranges
        if ranges:
            pod = attributes.value
            defaults = await budget.run(0, _compute_defaults, ranges, pod["spec"])
            for resources, field, amounts in defaults.amounts:
                resources[field] = amounts
            if defaults.annotation_text:
                annotations = pod["metadata"].get("annotations") or {}
                annotations[self._annotation] = (
                    f"LimitRanger plugin set: {defaults.annotation_text}"
                )
                pod["metadata"]["annotations"] = annotations

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        key = attributes.resource.key
        is_resize = key == RESIZES and attributes.operation == UPDATE
        if is_resize or (key == PODS and attributes.operation == CREATE):
            sums_all = attributes.context.gates["SidecarContainers"]
            find: Find = partial(pod_violations, sums_all=sums_all)
        elif key == CLAIMS and attributes.operation in (CREATE, UPDATE):
            find = claim_violations
        else:
            return None
        if not len(self._ranges):
            return None
        if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
            return None
        return self._check(attributes, find)

    async def _check(self, attributes: Attributes, find: Find) -> None:
        value = attributes.value
        assert value is not None
        for limit_range in await self._of(attributes.namespace):
            violations = await find(limit_range, value["spec"])
            if violations:
                message = violations[0] if len(violations) == 1 else f"[{', '.join(violations)}]"
                raise refusal(attributes, message)

    async def _of(self, namespace: str) -> Sequence[Range]:
        if self._ranges.last_revision != self._revision:
            self._revision = self._ranges.last_revision
            self._of_namespaces.clear()
        cached = self._of_namespaces.get(namespace)
        if cached is None:
            revision = self._revision
            current = self._ranges.current(namespace)
            cached = tuple([await self._facts.of_large(entry) for entry in current])
            if revision == self._ranges.last_revision:
                if len(self._of_namespaces) >= MAX_CACHED:
                    self._of_namespaces.clear()
                self._of_namespaces[namespace] = cached
        return cached


class _Defaults(NamedTuple):
    """The defaults for containers: the `resources` object, `requests` or `limits`, and the new
    value. `annotation_text` is the text for the pod's annotation."""

    amounts: list[tuple[Object, str, Texts]]
    annotation_text: str


def _compute_defaults(ranges: Sequence[Range], spec: Object) -> _Defaults:
    """Compute the missing defaults of containers, range by range. Does not modify the pod."""
    amounts: dict[tuple[int, str], tuple[Object, str, Texts]] = {}
    annotation = ""
    for limit_range in ranges:
        notes: list[str] = []
        for container, word in _containers(spec):
            resources = container["resources"]
            for kind, defaults in (
                ("request", limit_range.requests),
                ("limit", limit_range.limits),
            ):
                meter.spend(1 + len(defaults) // _NAMES_PER_STEP)
                field = f"{kind}s"
                key = id(resources), field
                _, _, present = amounts.get(key) or (None, "", resources.get(field) or {})
                missing = {name: text for name, text in defaults if name not in present}
                if missing:
                    names = ", ".join(missing)
                    meter.allocate(2 * len(names) + _BYTES_PER_AMOUNT * len(missing))
                    amounts[key] = resources, field, {**present, **missing}
                    notes.append(f"{names} {kind} for {word} {container['name']}")
        annotation = "; ".join(notes) or annotation
    return _Defaults(list(amounts.values()), annotation)


def _containers(spec: Object) -> Iterator[tuple[Object, str]]:
    for field, word in _CONTAINERS:
        for container in spec.get(field) or ():
            yield container, word
