"""Which pods are selected by which objects: known at every commit without reading either again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from fairlead.controllers.pace import Pace
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

PODS = "core/v1/pods"
Facts = TypeVar("Facts")
_MOST_KEPT = 100_000  # members in one namespace, of about 100 bytes each
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
        self._pace = Pace()
        self._selectors: dict[str, Object] = {}  # by key of the selecting object
        self._by_label: dict[_Label, set[str]] = {}
        # Keys of pods, with the version that was last found to be selected. None where they have to
        # be looked for among all pods: of new objects, and of those that there is no room for.
        self._members: dict[str, dict[str, Version] | None] = {}
        self._sizes: Counter[str] = Counter()  # how many members are kept in a namespace
        self._searches: set[str] = set()  # the objects whose pods are just being looked for
        self._facts: dict[str, tuple[Version, Facts]] = {}
        self._pods_told = False
        self._last: tuple[Change | None, list[str]] = (None, [])
        self._selecting: list[str] = []

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
        self._members[key] = None if self._pods_told else {}

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
            self._facts.pop(pod, None)  # who still needs it reads it again
        self._members.pop(key, None)

    def _drop(self, key: str) -> Iterable[str]:
        """Do not keep the members of an object any more; gives the keys of those that were."""
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
            if self._sizes[pod.namespace] >= _MOST_KEPT:
                self._drop(key)
                return
            self._sizes[pod.namespace] += 1
        members[pod.key] = pod

    def _leave(self, key: str, pod: str) -> None:
        members = self._members.get(key)
        if members is not None and members.pop(pod, None) is not None:
            self._sizes[key.partition("/")[0]] -= 1

    def pod_changed(self, change: Change) -> Iterator[str | None]:
        """The keys of the objects that a change of a pod means something to; None for each of those
        that it means nothing to."""
        if self._last[0] is change:
            yield from self._last[1]
            return
        found: list[str] = []
        for key in self._concerned(change):
            if key is not None:
                found.append(key)
            yield key
        self._last = (change, found)

    @property
    def selecting(self) -> list[str]:
        """The keys of the objects that select the pod of the last change, or did if it is gone."""
        return self._selecting

    def _concerned(self, change: Change) -> Iterator[str | None]:
        self._pods_told = True
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
        """The keys of the objects that may select a pod."""
        if pod is None or not self._by_label:
            return set()
        labels = ((pod.namespace, *item) for item in (("", ""), *pod.labels.items()))
        return {key for label in labels for key in self._by_label.get(label, ())}

    def _read(self, pod: Version) -> Facts:
        known = self._facts.get(pod.key)
        if known is not None and known[0] is pod:
            return known[1]
        facts = self._read_pod(pod.object())
        self._facts[pod.key] = (pod, facts)
        return facts

    async def of(self, key: str) -> list[Facts]:
        """The pods that an object selects, in the order of their names."""
        selector, members = self._selectors.get(key), self._members.get(key)
        if selector is None:
            return []
        if members is not None and key not in self._searches:
            known = [version for _, version in sorted(members.items(), key=_first)]
            return await self._selected(key, selector, known, are_members=True)
        pods = self._pods.current(key.partition("/")[0])
        if key in self._searches:
            return await self._selected(key, selector, pods)
        self._members[key] = {}  # what changes from now on is kept there
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
        """What matters of those that are selected, as they are now."""
        found = []
        for known in pods:
            await self._pace.keep()
            pod = self._pods.get(known.key)
            if pod is None:
                continue  # its end is about to be told
            if not (are_members and pod is known):
                if not selector_matches(selector, pod.labels):
                    continue
                self._keep(key, pod)
            found.append(self._read(pod))
        return found


def _first(item: tuple[str, object]) -> str:
    return item[0]


def ready_condition(pod: Object) -> Mapping[str, str]:
    """The condition that says whether a pod is ready; empty if it has none."""
    conditions = pod["status"].get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "Ready"), {})
