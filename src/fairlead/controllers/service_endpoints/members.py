"""Which pods are behind which services: known at every commit without reading either again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.controllers.service_endpoints.pods import PodFacts, facts_of
from fairlead.operations.api import Object
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

SERVICES = "core/v1/services"
Labels = Mapping[str, str]


def selector_of(service: Object) -> Labels:
    """What selects the pods of a service; empty if it has none, or they are somebody else's
    business."""
    spec = service["spec"]
    return {} if spec.get("type") == "ExternalName" else spec.get("selector") or {}


def _selects(selector: Labels, labels: Labels) -> bool:
    return all(labels.get(name) == value for name, value in selector.items())


class ServicePods:
    """Services are found by one label of their selector, so that a pod costs a look for each of
    its own labels. Every controller that uses it tells it of services and pods; what it was told
    already costs next to nothing. Services are to be told first."""

    def __init__(self, pods: Collection) -> None:
        self._pods = pods
        self._selectors: dict[str, Labels] = {}  # by key of the service
        self._by_label: dict[tuple[str, str, str], set[str]] = {}
        self._members: dict[str, dict[str, None]] = {}  # keys of pods by key of the service
        self._facts: dict[str, tuple[Version, PodFacts]] = {}
        self._pods_told = False
        self._last: tuple[Change | None, Iterable[str]] = (None, ())

    def service_changed(self, change: Change) -> Iterable[str]:
        """The key of the service."""
        selector = selector_of(change.after.object()) if change.after is not None else {}
        if selector != self._selectors.get(change.key, {}):
            self._forget(change.key)
            if selector:
                self._learn(change.key, change.namespace, selector)
        return (change.key,)

    def _learn(self, key: str, namespace: str, selector: Labels) -> None:
        self._selectors[key] = selector
        labels = ((namespace, *item) for item in selector.items())
        rarest = min(labels, key=lambda label: len(self._by_label.get(label, ())))
        self._by_label.setdefault(rarest, set()).add(key)
        members = self._members[key] = {}
        if self._pods_told:
            for pod in self._pods.current(namespace):
                if _selects(selector, pod.labels):
                    members[pod.key] = None

    def _forget(self, key: str) -> None:
        selector = self._selectors.pop(key, {})
        namespace = key.partition("/")[0]
        for item in selector.items():
            label = (namespace, *item)
            keys = self._by_label.get(label, set())
            keys.discard(key)
            if not keys:
                self._by_label.pop(label, None)
        for pod in self._members.pop(key, ()):
            self._facts.pop(pod, None)  # who still needs it reads it again

    def pod_changed(self, change: Change) -> Iterable[str]:
        """The keys of the services that a change of a pod means something to."""
        if self._last[0] is not change:
            self._last = (change, self._services_of(change))
        return self._last[1]

    def _services_of(self, change: Change) -> Iterable[str]:
        self._pods_told = True
        before, after = self._matching(change.before), self._matching(change.after)
        for key in before - after:
            self._members[key].pop(change.key, None)
        for key in after:
            self._members[key][change.key] = None
        if not after:
            self._facts.pop(change.key, None)
        if change.before is None or change.after is None or before != after:
            return before | after
        if not after:
            return ()
        return () if self._read(change.before) == self._read(change.after) else after

    def _matching(self, pod: Version | None) -> set[str]:
        if pod is None or not self._by_label:
            return set()
        namespace, labels = pod.namespace, pod.labels
        return {
            key
            for item in labels.items()
            for key in self._by_label.get((namespace, *item), ())
            if _selects(self._selectors[key], labels)
        }

    def _read(self, pod: Version) -> PodFacts:
        known = self._facts.get(pod.key)
        if known is not None and known[0] is pod:
            return known[1]
        facts = facts_of(pod.object())
        self._facts[pod.key] = (pod, facts)
        return facts

    def of(self, key: str) -> list[PodFacts]:
        """The pods of a service, in the order of their names."""
        selector = self._selectors.get(key)
        if selector is None:
            return []
        found = (self._pods.get(pod) for pod in sorted(self._members[key]))
        return [
            self._read(pod) for pod in found if pod is not None and _selects(selector, pod.labels)
        ]
