"""An index of the pods that objects select, maintained on every commit without rescanning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from fairlead.base.slices import TimeSlices
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

PODS = "core/v1/pods"
Facts = TypeVar("Facts")
_MAX_MEMBERS = 100_000  # members per namespace, about 100 bytes each
# Namespace, label, value; empty label and value for selectors without matchLabels.
_Label = tuple[str, str, str]


class SelectedPods(Generic[Facts]):
    """The pods that each selecting object (a Service, a budget) selects.

    An object is indexed by one label of its selector, so a pod event costs one lookup per label of
    the pod. `select` returns the label selector of an object, or None if it selects nothing; `read`
    extracts facts from a pod, cached per version.

    Several controllers may share an instance. Each passes its events to `owner_changed` and
    `pod_changed`, selecting objects first; a repeated event is cheap.
    """

    def __init__(
        self,
        pods: Collection,
        select: Callable[[Object], Object | None],
        read: Callable[[Object], Facts],
    ) -> None:
        self._pods = pods
        self._select = select
        self._read_pod = read
        self._slices = TimeSlices()
        self._selectors: dict[str, Object] = {}  # by key of the selecting object
        self._by_label: dict[_Label, set[str]] = {}
        # By key of the selecting object: keys of its pods, with the last version seen. None means
        # that `of` must scan all pods: the object is new, or the namespace is over the limit.
        self._members: dict[str, dict[str, Version] | None] = {}
        self._sizes: Counter[str] = Counter()  # members kept per namespace
        self._searches: set[str] = set()  # keys of objects whose pods are being scanned
        self._facts: dict[str, tuple[Version, Facts]] = {}
        self._knows_pods = False
        self._last: tuple[Change | None, list[str]] = (None, [])
        self._selecting: list[str] = []

    def owner_changed(self, change: Change) -> Iterable[str]:
        """Index the object; returns its key."""
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
        self._members[key] = None if self._knows_pods else {}

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
        for pod in self._drop(key):
            self._facts.pop(pod, None)  # read again if another object selects the pod
        self._members.pop(key, None)

    def _drop(self, key: str) -> Iterable[str]:
        """Discard the members of an object; returns their keys."""
        members = self._members.get(key) or {}
        if key in self._members:
            self._members[key] = None
        self._sizes[key.partition("/")[0]] -= len(members)
        return members

    def _keep(self, key: str, pod: Version) -> None:
        members = self._members.get(key)
        if members is None:
            return
        if pod.key not in members:
            if self._sizes[pod.namespace] >= _MAX_MEMBERS:
                self._drop(key)
                return
            self._sizes[pod.namespace] += 1
        members[pod.key] = pod

    def _leave(self, key: str, pod: str) -> None:
        members = self._members.get(key)
        if members is not None and members.pop(pod, None) is not None:
            self._sizes[key.partition("/")[0]] -= 1

    def pod_changed(self, change: Change) -> Iterator[str | None]:
        """Yields the keys of objects that a pod event affects, and None for candidates it does not
        affect."""
        if self._last[0] is change:
            yield from self._last[1]
            return
        keys: list[str] = []
        for key in self._concerned(change):
            if key is not None:
                keys.append(key)
            yield key
        self._last = (change, keys)

    @property
    def selecting(self) -> list[str]:
        """Keys of the objects that select the pod of the last event, or selected it before its
        delete."""
        return self._selecting

    def _concerned(self, change: Change) -> Iterator[str | None]:
        self._knows_pods = True
        self._selecting = selecting = []
        before, after = change.before, change.after
        is_same = before is not None and after is not None and before.labels == after.labels
        differs: bool | None = None if before is not None and after is not None else True
        for key in self._candidates(before) | (set() if is_same else self._candidates(after)):
            selector = self._selectors.get(key)
            was = before is not None and selector_matches(selector, before.labels)
            is_now = was
            if not is_same:
                is_now = after is not None and selector_matches(selector, after.labels)
            if is_now and after is not None:
                self._keep(key, after)
            elif was:
                self._leave(key, change.key)
            if is_now or (was and after is None):
                selecting.append(key)
            if was and is_now and differs is None:
                assert before is not None
                assert after is not None
                differs = self._read(before) != self._read(after)
            yield key if was != is_now or (was and differs) else None
        if after is None or not selecting:
            self._facts.pop(change.key, None)

    def _candidates(self, pod: Version | None) -> set[str]:
        """Keys of the objects that may select a pod."""
        if pod is None or not self._by_label:
            return set()
        labels = ((pod.namespace, *item) for item in (("", ""), *pod.labels.items()))
        return {key for label in labels for key in self._by_label.get(label, ())}

    def _read(self, pod: Version) -> Facts:
        fact = self._facts.get(pod.key)
        if fact is not None and fact[0] is pod:
            return fact[1]
        facts = self._read_pod(pod.object())
        self._facts[pod.key] = (pod, facts)
        return facts

    async def of(self, key: str) -> list[Facts]:
        """Facts of the pods that an object selects, by pod name. Yields to the event loop."""
        selector, members = self._selectors.get(key), self._members.get(key)
        if selector is None:
            return []
        if members is not None and key not in self._searches:
            versions = [version for _, version in sorted(members.items(), key=_first)]
            return await self._selected(key, selector, versions, are_members=True)
        pods = self._pods.current(key.partition("/")[0])
        if key in self._searches:
            return await self._selected(key, selector, pods)
        self._members[key] = {}  # events add members from now on
        self._searches.add(key)
        try:
            return await self._selected(key, selector, pods)
        except BaseException:
            self._drop(key)
            raise
        finally:
            self._searches.discard(key)

    async def _selected(
        self, key: str, selector: Object, pods: list[Version], *, are_members: bool = False
    ) -> list[Facts]:
        """Facts of the pods that match, in their current versions."""
        keys = []
        for facts in pods:
            await self._slices.pause()
            pod = self._pods.get(facts.key)
            if pod is None:
                continue  # deleted; the event follows
            if not (are_members and pod is facts):
                if not selector_matches(selector, pod.labels):
                    continue
                self._keep(key, pod)
            keys.append(self._read(pod))
        return keys


def _first(item: tuple[str, object]) -> str:
    return item[0]


def ready_condition(pod: Object) -> Mapping[str, str]:
    """The condition Ready of a pod; empty if it has none."""
    conditions = pod["status"].get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == "Ready"), {})
