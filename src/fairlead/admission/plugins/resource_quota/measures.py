"""Finds the measure of a resource; measures claims on devices, which depends on other objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal

from fairlead.admission.plugins.base import PODS, Object
from fairlead.admission.plugins.resource_quota.scopes import CLAIMS
from fairlead.admission.plugins.resource_quota.usage import (
    NOTHING,
    ONE,
    REQUESTS,
    Claims,
    Counting,
    Measure,
    Pods,
    Services,
    Usage,
    count_name,
)
from fairlead.admission.plugins.version_facts import FindCollection, PerCollectionCache
from fairlead.base.dialect import Dialect
from fairlead.codec.types.quantity import Amount
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource
from fairlead.resources.resource.extended_names import (
    EXTENDED_CLAIM,
    OF_CLASS,
    classes_by_resource,
)
from fairlead.storage.version import Version

# Resources of the core group that quotas may count by their plain names too.
_BARE_NAMES = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
# Never counted: not stored, or too short-lived.
_IGNORED = (
    "core/events",
    "events/events",
    "core/bindings",
    "authorization/localsubjectaccessreviews",
)
_DEVICE_CLAIMS, _CLASSES = "resource/v1/resourceclaims", "resource/v1/deviceclasses"
_GATE = "DRAExtendedResource"
_MAX_DEVICES = 32  # of a request for all devices


class Measures:
    """The measures of all resources, custom ones included."""

    def __init__(self, dialect: Dialect, gates: Gates, collection: FindCollection) -> None:
        pods = Pods(dialect, has_devices=gates[_GATE])
        extended = ExtendedResources(dialect, pods, collection) if gates[_GATE] else None
        self._special: dict[str, Measure] = {
            PODS: pods,
            "core/v1/services": Services(),
            CLAIMS: Claims(dialect),
            _DEVICE_CLAIMS: DeviceClaims(dialect, extended),
        }

    def of(self, resource: Resource) -> Measure | None:
        """The measure of a resource; None if it is not counted."""
        if not resource.namespaced or resource.parent is not None:
            return None
        if f"{resource.group_version.short}/{resource.name}" in _IGNORED:
            return None
        measure = self._special.get(resource.key)
        if measure is None:
            names = [count_name(resource)]
            if not resource.group and resource.name in _BARE_NAMES:
                names.append(resource.name)
            measure = self._special[resource.key] = Counting(*names)
        return measure


class ExtendedResources:
    """The extended resources that devices serve: the device class of each, and the usage that is
    already charged to the pod of a claim."""

    def __init__(self, dialect: Dialect, pods: Pods, collection: FindCollection) -> None:
        self._dialect = dialect
        self._pods = pods
        self._collection = collection
        self._classes: PerCollectionCache[Mapping[str, Object]] | None = None

    def matching(self, names: Iterable[str]) -> list[str]:
        prefixed = {name for name in names if name.startswith(REQUESTS)}
        if not prefixed:
            return []
        served = classes_by_resource(self._by_name().values(), self._dialect)
        return [name for name in prefixed if name.removeprefix(REQUESTS) in served]

    def names_of(self, device_class: str) -> list[str]:
        """The names in quotas that count the devices of a class."""
        names = [f"{REQUESTS}{self._dialect.label(OF_CLASS)}{device_class}"]
        known = self._by_name().get(device_class)
        resource = known and known["spec"].get("extendedResourceName")
        return [*names, f"{REQUESTS}{resource}"] if resource else names

    def charged_to_pod(self, claim: Object) -> Usage:
        """The usage of the pod that a claim was made for; empty if it is not made for one."""
        if not self._is_made(claim):
            return {}
        metadata = claim["metadata"]
        owner = _pod_owner(metadata)
        key = f"{metadata['namespace']}/{(owner or {}).get('name')}"
        version = self._collection(PODS).latest(key)
        pod = version.object() if version is not None else None
        if owner is None or pod is None or pod["metadata"]["uid"] != owner["uid"]:
            return {}
        status = (pod.get("status") or {}).get("extendedResourceClaimStatus")
        if status is not None:
            is_of_pod = status["resourceClaimName"] == metadata["name"]
        else:
            is_of_pod = not self._has_earlier(claim, owner["uid"])
        return self._pods.usage(pod) if is_of_pod else {}

    def _has_earlier(self, claim: Object, uid: str) -> bool:
        """Whether another claim was made for the same pod before."""
        others = self._collection(_DEVICE_CLAIMS).current(claim["metadata"]["namespace"])
        of_pod = (
            other["metadata"]
            for other in (version.object() for version in others)
            if self._is_made(other) and (_pod_owner(other["metadata"]) or {}).get("uid") == uid
        )
        return any(_order(other) < _order(claim["metadata"]) for other in of_pod)

    def _is_made(self, claim: Object) -> bool:
        annotations = claim["metadata"].get("annotations") or {}
        return bool(annotations.get(self._dialect.label(EXTENDED_CLAIM)) == "true")

    def _by_name(self) -> Mapping[str, Object]:
        if self._classes is None:
            self._classes = PerCollectionCache(self._collection, _CLASSES, _named)
        return self._classes.get() or {}


def _named(versions: Iterable[Version]) -> Mapping[str, Object]:
    return {version.name: version.object() for version in versions}


def _pod_owner(metadata: Object) -> Object | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            is_pod = (owner["apiVersion"], owner["kind"]) == ("v1", "Pod")
            return dict(owner) if is_pod else None
    return None


def _order(metadata: Object) -> tuple[str, str]:
    return str(metadata.get("creationTimestamp") or ""), metadata["name"]


class DeviceClaims(Counting):
    """Counts claims on devices and, by device class, the devices that they may get. The devices of
    a class with an extended resource count for that resource too, minus those charged to the pod of
    the claim already."""

    def __init__(self, dialect: Dialect, extended: ExtendedResources | None) -> None:
        self._count = f"count/resourceclaims.{dialect.group_name('resource.@')}"
        super().__init__(self._count)
        self._of_class = f".deviceclass.{dialect.group_name('resource.@')}/devices"
        self._extended = extended
        self.depends_on_others = extended is not None

    def matching(self, names: AbstractSet[str]) -> list[str]:
        own = [name for name in names if name in self._usage or name.endswith(self._of_class)]
        return own if self._extended is None else own + self._extended.matching(names)

    def usage(self, value: Object) -> Usage:
        devices = _devices(value)
        usage = {f"{name}{self._of_class}": Amount(Decimal(n)) for name, n in devices.items()}
        usage[self._count] = ONE
        if self._extended is not None and devices:
            usage |= _beyond(self._extended, value, devices)
        return usage


def _devices(claim: Object) -> Counter[str]:
    """The largest number of devices of each class that a claim may get."""
    counts: Counter[str] = Counter()
    for request in claim["spec"]["devices"]["requests"] or ():
        # Of several alternatives the largest number of each class counts.
        most: dict[str, int] = {}
        exactly = request.get("exactly")
        for wanted in [exactly] if exactly is not None else request.get("firstAvailable") or ():
            count = (
                _MAX_DEVICES if wanted.get("allocationMode") == "All" else wanted.get("count", 0)
            )
            name = wanted["deviceClassName"]
            most[name] = max(most.get(name, 0), count)
        counts.update(most)
    return counts


def _beyond(extended: ExtendedResources, claim: Object, devices: Counter[str]) -> Usage:
    """The usage of a claim by the names of extended resources, beyond that of its pod."""
    charged = extended.charged_to_pod(claim)
    usage: Usage = {}
    for device_class, count in devices.items():
        for name in extended.names_of(device_class):
            left = count - charged.get(name, NOTHING).value
            if left > 0:
                usage[name] = Amount(Decimal(left))
    return usage
