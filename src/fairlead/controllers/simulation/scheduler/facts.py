"""The scheduler's view of pods, placed and pending."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple, cast

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.quantity import quantity
from fairlead.operations.api import Object
from fairlead.resources.core.pods import PREFERRED, REQUIRED
from fairlead.resources.core.pods.totals import pod_totals
from fairlead.resources.rules import selector_matches
from fairlead.storage.version import Version

_MILLI = 1000
# Assumed requests for scoring of pods without any: 100 millicores, 200 MiB.
_MIN_CPU, _MIN_MEMORY = 100, 200 * 1024 * 1024

Labels = dict[str, str]
LabelsOf = Callable[[str], Labels]  # labels of a namespace


def _units(name: str, value: Decimal) -> int:
    """An amount as an integer: millicores for cpu, else the base unit, rounded up."""
    scaled = value * _MILLI if name == "cpu" else value
    return int(scaled.to_integral_value(ROUND_CEILING))


def amounts(quantities: Mapping[str, str] | None) -> dict[str, int]:
    return {name: _units(name, quantity(text)) for name, text in (quantities or {}).items()}


def labels_of(version: Version) -> Labels:
    """The labels of a stored object; shared, do not modify."""
    return cast(Labels, version.labels)


class Term:
    """A term of pod (anti-)affinity: the pods it matches, and its topology key."""

    __slots__ = ("_namespaces", "_selecting", "_selector", "topology")

    def __init__(self, term: Object, namespace: str) -> None:
        self.topology: str = term["topologyKey"]
        self._selector = term.get("labelSelector")
        self._selecting = term.get("namespaceSelector")
        named = frozenset(term.get("namespaces") or ())
        self._namespaces = named or (
            frozenset((namespace,)) if self._selecting is None else frozenset()
        )

    def is_about(self, namespace: str, labels: Labels, labels_of: LabelsOf) -> bool:
        if not selector_matches(self._selector, labels):
            return False
        if namespace in self._namespaces:
            return True
        return self._selecting is not None and selector_matches(
            self._selecting, labels_of(namespace)
        )


def required_terms(spec: Object, kind: str, namespace: str) -> tuple[Term, ...]:
    """The required terms of `podAffinity` or `podAntiAffinity`."""
    terms = ((spec.get("affinity") or {}).get(kind) or {}).get(REQUIRED) or ()
    return tuple(Term(term, namespace) for term in terms)


def preferred_terms(spec: Object, kind: str, namespace: str) -> list[tuple[int, Term]]:
    terms = ((spec.get("affinity") or {}).get(kind) or {}).get(PREFERRED) or ()
    return [(term["weight"], Term(term["podAffinityTerm"], namespace)) for term in terms]


class Port(NamedTuple):
    """A host port of a pod."""

    protocol: str
    address: str
    number: int

    def clashes_with(self, other: Port) -> bool:
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or "0.0.0.0" in (self.address, other.address)


class PodSummary:
    """The relevant fields of a pod on a node or to be placed. `repels` are its required
    anti-affinity terms; `started` is when it arrived on the node."""

    __slots__ = (
        "cpu",
        "deleting",
        "generation",
        "key",
        "labels",
        "memory",
        "namespace",
        "ports",
        "priority",
        "repels",
        "requests",
        "started",
    )

    def __init__(self, key: str, pod: Object, labels: Labels) -> None:
        spec, metadata = pod["spec"], pod["metadata"]
        self.key = key
        self.generation: int = metadata.get("generation") or 0
        self.namespace: str = metadata["namespace"]
        self.labels = labels
        self.priority: int = spec.get("priority") or 0
        self.requests = _requests(spec)
        self.cpu = self.requests.get("cpu") or _MIN_CPU
        self.memory = self.requests.get("memory") or _MIN_MEMORY
        self.ports = tuple(host_ports(spec))
        self.repels = required_terms(spec, "podAntiAffinity", self.namespace)
        self.deleting = bool(metadata.get("deletionTimestamp"))
        self.started: str = pod["status"].get("startTime") or metadata["creationTimestamp"]


_shared: BoundedCache[tuple[tuple[str, int], ...], dict[str, int]] = BoundedCache()


def _requests(spec: Object) -> dict[str, int]:
    """The requests of a pod; equal ones share one dict."""
    totals = pod_totals(spec)[0]
    if not totals:
        return _NOTHING
    units = {name: _units(name, amount.value) for name, amount in totals.items()}
    key = tuple(sorted(units.items()))
    shared = _shared.get(key)
    if shared is None:
        _shared.keep(key, units, sum(len(name) + 8 for name in units))
        return units
    return shared


_NOTHING: dict[str, int] = {}


def host_ports(spec: Object) -> Iterator[Port]:
    """The ports of the node that a pod takes."""
    for container in spec["containers"]:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address = port.get("hostIP") or "0.0.0.0"
                yield Port(port.get("protocol") or "TCP", address, port["hostPort"])


class PendingPod(NamedTuple):
    """A pending pod. `delegated` are the extended resources that device classes stand for, with the
    names of the classes: devices serve them on nodes that do not offer them."""

    pod: Object
    facts: PodSummary
    delegated: Mapping[str, str] = {}

    @property
    def spec(self) -> Object:
        spec: Object = self.pod["spec"]
        return spec

    @property
    def name(self) -> str:
        name: str = self.pod["metadata"]["name"]
        return name

    @property
    def nominated(self) -> str:
        """The node nominated for it by preemption."""
        node: str = self.pod["status"].get("nominatedNodeName") or ""
        return node


def pending_pod(key: str, pod: Object) -> PendingPod:
    return PendingPod(pod, PodSummary(key, pod, pod["metadata"].get("labels") or {}))
