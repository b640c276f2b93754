"""Measures the usage of objects in the units of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Protocol

from fairlead.admission.plugins.base import Object
from fairlead.base import clock, meter
from fairlead.base.dialect import Dialect
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.quantity import Amount, amount
from fairlead.codec.types.times import parse_time
from fairlead.resources.core.pods import FINISHED, totals
from fairlead.resources.core.pods.resources import (
    CONTAINER_RESOURCES,
    HUGE_PAGES,
    is_extended,
    is_native,
)
from fairlead.resources.registry import Resource
from fairlead.resources.resource.extended_names import OF_CLASS

Usage = dict[str, Amount]

ONE = Amount(Decimal(1))
NOTHING = Amount(Decimal(0))
REQUESTS, _LIMITS = "requests.", "limits."
_NO_PREFIX = "\0"  # no name begins with it
_ONE_POD: Usage = {"count/pods": ONE}
# A quota on these requires every container to state its share.
_NAMED_BY_ALL = frozenset(
    f"{prefix}{name}" for prefix in ("", REQUESTS, _LIMITS) for name in ("cpu", "memory")
)


class Measure(Protocol):
    """Computes the usage of objects of one resource. Without `measures_updates`, updates cannot
    change usage. With `depends_on_others`, changes of other objects can. Returned usage is shared
    and must not be modified."""

    measures_updates: bool
    depends_on_others: bool

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """The names in a quota that apply to this resource."""

    def usage(self, value: Object) -> Usage: ...

    def missing(self, names: Iterable[str], value: Object) -> str:
        """The requests or limits that an object lacks to be counted by these names; empty if
        none."""


def count_name(resource: Resource) -> str:
    return f"count/{resource.name}.{resource.group}" if resource.group else f"count/{resource.name}"


class Counting:
    """Counts objects."""

    measures_updates = False
    depends_on_others = False

    def __init__(self, *names: str) -> None:
        self._names = names
        self._usage = dict.fromkeys(names, ONE)

    def matching(self, names: AbstractSet[str]) -> list[str]:
        return [name for name in self._usage if name in names]

    def usage(self, value: Object) -> Usage:
        return self._usage

    def missing(self, names: Iterable[str], value: Object) -> str:
        return ""


class Services(Counting):
    """Counts services, load balancers and node ports."""

    measures_updates = True

    def __init__(self) -> None:
        super().__init__(
            "count/services", "services", "services.nodeports", "services.loadbalancers"
        )

    def usage(self, value: Object) -> Usage:
        spec = value["spec"]
        kind, ports = spec.get("type"), spec.get("ports") or ()
        on_nodes = 0
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            on_nodes = sum(1 for port in ports if port.get("nodePort"))
        elif kind in ("LoadBalancer", "NodePort"):
            on_nodes = len(ports)
        return {
            "count/services": ONE,
            "services": ONE,
            "services.nodeports": Amount(Decimal(on_nodes)),
            "services.loadbalancers": ONE if kind == "LoadBalancer" else NOTHING,
        }


class Claims(Counting):
    """Counts claims and their storage, in total and by storage class."""

    measures_updates = True

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(
            "count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"
        )
        self._of_class = f".storageclass.{dialect.group_name('storage.@')}/"
        self._annotation = dialect.label("volume.beta.@/storage-class")
        self._suffixes = tuple(
            f"{self._of_class}{name}" for name in ("persistentvolumeclaims", "requests.storage")
        )

    def matching(self, names: AbstractSet[str]) -> list[str]:
        return [name for name in names if name in self._usage or name.endswith(self._suffixes)]

    def usage(self, value: Object) -> Usage:
        usage = {"count/persistentvolumeclaims": ONE, "persistentvolumeclaims": ONE}
        storage = _storage(value)
        if storage is not None:
            usage["requests.storage"] = storage
        annotations = value["metadata"].get("annotations") or {}
        name = annotations.get(self._annotation) or value["spec"].get("storageClassName")
        if name:
            for kind in ("persistentvolumeclaims", "requests.storage"):
                if kind in usage:
                    usage[f"{name}{self._of_class}{kind}"] = usage[kind]
        return usage


def _storage(claim: Object) -> Amount | None:
    """The requested or the allocated storage, whichever is more, in whole bytes."""
    requested = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    if requested is None:
        return None
    size = amount(requested)
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if allocated is not None and amount(allocated).value > size.value:
        size = amount(allocated)
    return Amount(size.value.to_integral_value(ROUND_UP), size.kind)


class Pods:
    """Counts pods and, until they end, their requests and limits."""

    measures_updates = False
    depends_on_others = False

    def __init__(self, dialect: Dialect, *, has_devices: bool) -> None:
        self._dialect = dialect
        self._cache = ContentCache[Usage]("measured pods")
        # Resources that stand for a class of devices are counted like those of others.
        self._of_devices = dialect.label(OF_CLASS) if has_devices else _NO_PREFIX
        self._names = {"count/pods", "pods"} | {
            f"{prefix}{name}" for prefix in ("", REQUESTS, _LIMITS) for name in CONTAINER_RESOURCES
        }

    def matching(self, names: AbstractSet[str]) -> list[str]:
        return [name for name in names if name in self._names or self._is_special(name)]

    def _is_special(self, name: str) -> bool:
        if name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES)):
            return True
        if not name.startswith(REQUESTS):
            return False
        return not is_native(name, self._dialect) or name.startswith(REQUESTS + self._of_devices)

    def usage(self, value: Object) -> Usage:
        return self._pod_usage(value["spec"]) if is_counted(value) else _ONE_POD

    def _pod_usage(self, spec: Object) -> Usage:
        """The usage of a pod in no terminal phase: requests, limits and the pod itself."""
        key = self._cache.key(totals.demands(spec))
        cached = self._cache.get(key)
        if cached is None:
            cached = {**_ONE_POD, "pods": ONE}
            self._add(cached, *totals.pod_totals(spec))
            self._cache.keep(key, cached)
        return cached

    def _add(
        self, usage: Usage, requests: Mapping[str, Amount], limits: Mapping[str, Amount]
    ) -> None:
        for name, text in requests.items():
            if name in CONTAINER_RESOURCES or name.startswith(HUGE_PAGES):
                usage[name] = usage[REQUESTS + name] = text
            elif is_extended(name, self._dialect) or name.startswith(self._of_devices):
                usage[REQUESTS + name] = text
        for name in CONTAINER_RESOURCES:
            if name in limits:
                usage[_LIMITS + name] = limits[name]

    def missing(self, names: Iterable[str], value: Object) -> str:
        if totals.has_own_resources(value["spec"]):
            return ""
        parts = []
        for name in sorted(_NAMED_BY_ALL.intersection(names)):
            containers = _containers(value["spec"])
            meter.spend(len(containers))
            silent = sorted(
                {container["name"] for container in containers if not _names(container, name)}
            )
            if silent:
                parts.append(f"{name} for: {','.join(silent)}")
        return f"must specify {'; '.join(parts)}" if parts else ""


def _containers(spec: Object) -> list[Object]:
    return [*spec["containers"], *(spec.get("initContainers") or ())]


def _names(container: Object, name: str) -> bool:
    field = "limits" if name.startswith(_LIMITS) else "requests"
    return name.rpartition(".")[2] in (container["resources"].get(field) or ())


def is_counted(pod: Object) -> bool:
    """Whether a pod's requests still count: not if it has finished, nor if its grace period for
    deletion has passed."""
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return False
    end = deletion_deadline(pod)
    return end is None or clock.now() <= end


def deletion_deadline(pod: Object) -> datetime | None:
    """When a pod in deletion stops counting, even if it still exists; None if it is not in
    deletion."""
    metadata = pod["metadata"]
    going, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if going is None or grace is None:
        return None
    return parse_time(going) + timedelta(seconds=grace)
