"""Which pods are selected by which objects: known at every commit without reading either again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from fairlead.kinds.rules import selector_matches
from fairlead.operations.api import Object
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

PODS = "core/v1/pods"
Facts = TypeVar("Facts")
_Label = tuple[str, str, str]  # with the namespace; without a name for what asks for no one label


class PodMembers(Generic[Facts]):
    """Selecting objects are found by one label that they ask for, so that a pod costs a look for
    each of its own labels. `select` gives the label selector of an object, None if it selects
    nothing; `read` what matters of a pod, which is kept by version.

    Every controller that uses it tells it of both, selecting objects first; what it was told
    already costs next to nothing."""

    def __init__(
        self,
        pods: Collection,
        select: Callable[[Object], Object | None],
        read: Callable[[Object], Facts],
    ) -> None:
        self._pods = pods
        self._select = select
        self._read_pod = read
        self._selectors: dict[str, Object] = {}  # by key of the selecting object
        self._by_label: dict[_Label, set[str]] = {}
        # Keys of pods, with the version that was last found to be selected.
        self._members: dict[str, dict[str, Version]] = {}
        self._facts: dict[str, tuple[Version, Facts]] = {}
        self._pods_told = False
        self._last: tuple[Change | None, Iterable[str]] = (None, ())

    def owner_changed(self, change: Change) -> Iterable[str]:
        """The key of the selecting object."""
        selector = self._select(change.after.object()) if change.after is not None else None
        if selector != self._selectors.get(change.key):
            self._forget(change.key)
            if selector is not None:
                self._learn(change.key, change.namespace, selector)
        return (change.key,)

    def _learn(self, key: str, namespace: str, selector: Object) -> None:
        self._selectors[key] = selector
        labels = [(namespace, *item) for item in (selector.get("matchLabels") or {}).items()]
        rarest = min(labels, key=self._count, default=(namespace, "", ""))
        self._by_label.setdefault(rarest, set()).add(key)
        members = self._members[key] = {}
        if self._pods_told:
            for pod in self._pods.current(namespace):
                if selector_matches(selector, pod.labels):
                    members[pod.key] = pod

    def _count(self, label: _Label) -> int:
        return len(self._by_label.get(label, ()))

    def _forget(self, key: str) -> None:
        selector = self._selectors.pop(key, {})
        namespace = key.partition("/")[0]
        for item in (("", ""), *(selector.get("matchLabels") or {}).items()):
            label = (namespace, *item)
            keys = self._by_label.get(label, set())
            keys.discard(key)
            if not keys:
                self._by_label.pop(label, None)
        for pod in self._members.pop(key, ()):
            self._facts.pop(pod, None)  # who still needs it reads it again

    def pod_changed(self, change: Change) -> Iterable[str]:
        """The keys of the objects that a change of a pod means something to."""
        if self._last[0] is not change:
            self._last = (change, self._concerned(change))
        return self._last[1]

    def _concerned(self, change: Change) -> Iterable[str]:
        self._pods_told = True
        before, after = self.selecting(change.before), self.selecting(change.after)
        for key in before - after:
            self._members[key].pop(change.key, None)
        if change.after is not None:
            for key in after:
                self._members[key][change.key] = change.after
        if not after:
            self._facts.pop(change.key, None)
        if change.before is None or change.after is None or before != after:
            return before | after
        if not after:
            return ()
        return () if self._read(change.before) == self._read(change.after) else after

    def selecting(self, pod: Version | None) -> set[str]:
        """The keys of the objects that select a pod as it was or is."""
        if pod is None or not self._by_label:
            return set()
        namespace, labels = pod.namespace, pod.labels
        return {
            key
            for item in (("", ""), *labels.items())
            for key in self._by_label.get((namespace, *item), ())
            if selector_matches(self._selectors[key], labels)
        }

    def _read(self, pod: Version) -> Facts:
        known = self._facts.get(pod.key)
        if known is not None and known[0] is pod:
            return known[1]
        facts = self._read_pod(pod.object())
        self._facts[pod.key] = (pod, facts)
        return facts

    def of(self, key: str) -> list[Facts]:
        """The pods that an object selects, in the order of their names."""
        members = self._members.get(key, {})
        found = []
        for name, known in sorted(members.items(), key=_first):
            pod = self._pods.get(name)
            if pod is None:
                continue  # its end is about to be told
            if pod is not known:
                if not selector_matches(self._selectors[key], pod.labels):
                    continue
                members[name] = pod
            found.append(self._read(pod))
        return found


def _first(item: tuple[str, object]) -> str:
    return item[0]


def ready_condition(pod: Object) -> Mapping[str, str]:
    """The condition that says whether a pod is ready; empty if it has none."""
    conditions = pod["status"].get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "Ready"), {})
