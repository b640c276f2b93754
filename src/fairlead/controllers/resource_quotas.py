"""Recalculates the usage in the status of ResourceQuotas.

Admission charges creates together with the write. This controller recounts when a quota is created
or changed, when objects are deleted or use less, and periodically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Context, Decimal
from functools import partial
from time import monotonic
from typing import NamedTuple

from fairlead.admission.plugins.base import PODS
from fairlead.admission.plugins.resource_quota import QUOTAS
from fairlead.admission.plugins.resource_quota.measures import Measures
from fairlead.admission.plugins.resource_quota.quotas import amounts
from fairlead.admission.plugins.resource_quota.scopes import (
    Scopes,
    Selector,
    scopes_of,
    selectors_of,
)
from fairlead.admission.plugins.resource_quota.usage import (
    NOTHING,
    Counting,
    Measure,
    Usage,
    deletion_deadline,
)
from fairlead.base import budget, clock, meter
from fairlead.base.errors import ResourceRef, StatusError, modified
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.quantity import Amount
from fairlead.controllers.framework import Follow, Keys
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.registry import Resource
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

_LOOK_AGAIN = 300.0
_RESOURCE_POLL_INTERVAL = 5.0  # while a quota names resources that are not served yet
# A quota is recounted at the earliest after this many times the duration of its last count.
_REST_FACTOR = 10
_MAX_CACHED_NAMES = 100  # usage with more names is not cached but measured for each count
_ATTEMPTS = 10  # to reach a consistent count before the key is retried with back-off
_BYTES_A_NAME = 64  # estimated cost of formatting one amount
_BYTES_AN_OBJECT = 256  # estimated cost of reading one object, in addition to its size
_EXACT_CONTEXT = Context(prec=60)  # exact, so that subtracting an amount reverts adding it


class _Fact(NamedTuple):
    """The usage of one version of an object, valid until `end`. `usage` is None if it has many
    names: caching it would take several times the memory of the object."""

    version: Version
    usage: Usage | None
    scopes: Scopes | None
    end: datetime | None

    def is_of(self, version: Version, now: datetime) -> bool:
        return self.version is version and (self.end is None or self.end >= now)


def _read(resource: Resource, measure: Measure, version: Version) -> _Fact:
    value = version.object()
    usage = measure.usage(value)
    scopes = scopes_of(resource.key, value)
    deadline = deletion_deadline(value) if resource.key == PODS else None
    return _Fact(version, usage, scopes, deadline)


# Key of an object with an outdated count, and its current version or None.
_Changed = tuple[str, Version | None]


class _Sum:
    """The total usage of one resource in a namespace, for the names that a quota limits. `facts`
    are the objects included: a changed object is subtracted and added again."""

    def __init__(
        self,
        resource: Resource,
        measure: Measure,
        collection: Collection,
        namespace: str,
        names: list[str],
        selectors: tuple[Selector, ...],
    ) -> None:
        self.resource = resource
        self.measure = measure
        self.place = resource.key, namespace
        self._collection = collection
        self._names = names
        self._selectors = selectors
        self.restart()

    def restart(self) -> None:
        self.facts: dict[str, _Fact] = {}
        self.total: Usage = dict.fromkeys(self._names, NOTHING)

    def changed(self) -> list[_Changed]:
        """Objects whose counted version is outdated, compared with the newest versions including
        uncommitted writes."""
        versions = self._collection.newest(self.place[1])
        if type(self.measure) is Counting:
            count = 0 if self._selectors else len(versions)
            self.total = dict.fromkeys(self._names, Amount(Decimal(count)))
            return []
        now, facts = clock.now(), self.facts
        changes: list[_Changed] = [
            (version.key, version)
            for version in versions
            if (fact := facts.get(version.key)) is None or not fact.is_of(version, now)
        ]
        added = sum(key not in facts for key, _ in changes)
        if len(facts) + added != len(versions):
            gone = facts.keys() - {version.key for version in versions}
            changes.extend((key, None) for key in gone)
        return changes

    def count(self, key: str, fact: _Fact | None) -> bool:
        """Count an object in its current version, or None if deleted. Returns False if its previous
        usage is not cached: then the caller must restart the sum."""
        old = self.facts.pop(key, None)
        if old is not None:
            if old.usage is None:
                return False
            self._add(old, _EXACT_CONTEXT.subtract)
        if fact is not None:
            self._add(fact, _EXACT_CONTEXT.add)
            is_small = fact.usage is not None and len(fact.usage) <= _MAX_CACHED_NAMES
            self.facts[key] = fact if is_small else fact._replace(usage=None)
        return True

    def _add(self, fact: _Fact, add: Callable[[Decimal, Decimal], Decimal]) -> None:
        scopes, total = fact.scopes, self.total
        if self._selectors and (scopes is None or not all(map(scopes.match, self._selectors))):
            return
        for name, more in (fact.usage or {}).items():
            amount = total.get(name)
            if amount is not None:
                kind = amount.kind if amount.value else more.kind
                total[name] = Amount(add(amount.value, more.value), kind)


def _weight(changed: list[_Changed]) -> int:
    """Estimated cost of reading changed objects, in bytes."""
    return sum(
        _BYTES_AN_OBJECT + len(version.body or b"") for _, version in changed if version is not None
    )


class ResourceQuotas:
    """Keys are `namespace/name` of quotas."""

    workers = 1

    def __init__(self, api: Api, objects: Client) -> None:
        self._api = api
        self._objects = objects
        self._quotas = objects.collection(QUOTAS)
        self._measures = Measures(api.dialect, api.gates, objects.collection)
        self._followed: dict[str, Resource] = {}
        self._facts: dict[tuple[str, str], dict[str, _Fact]] = {}  # by resource and namespace
        self._seen: dict[str, Object] = {}  # specs at the last count, by key
        self._recount_at: dict[str, float] = {}  # when a quota may be recounted (monotonic), by key
        self._resting: set[str] = set()  # keys with a delayed recount pending
        self._follow: Callable[[str, Keys], object] = lambda resource, keys: None

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow

    def follows(self) -> Mapping[str, Keys]:
        return {QUOTAS: self._changed_quota, DEFINITIONS: self._quotas_of_custom}

    def _changed_quota(self, change: Change) -> Iterable[str]:
        """The key of a quota whose spec differs from its last count. Updates that only charge usage
        are ignored."""
        if change.after is None:
            return (change.key,)
        quota = change.after.object()
        spec, status = quota["spec"], quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        is_right = (spec.get("hard") or {}) == hard and hard.keys() == used.keys()
        if is_right and self._seen.get(change.key) == spec:
            return ()
        if change.before is not None and _is_charge(change.before.object(), quota):
            return ()
        return (change.key,)

    def _quotas_of_custom(self, change: Change) -> Iterable[str]:
        counted = (key for key, spec in self._seen.items() if _counts_by_name(spec))
        return list(counted)

    def _counted_by(self, resource: Resource, measure: Measure, change: Change) -> Iterable[str]:
        """The quotas of the namespace if a change may lower usage."""
        if change.before is None:
            return ()  # charged by admission
        keys = [entry.key for entry in self._quotas.current(change.namespace)]
        if not keys or change.after is None or type(measure) is Counting:
            return keys if change.after is None else ()
        if (
            max(len(version.body or b"") for version in (change.before, change.after))
            > meter.MAX_BYTES_ON_LOOP
        ):
            return keys  # comparing usage of large objects is slow; recount instead
        fact = self._facts.get((resource.key, change.namespace), {}).get(change.key)
        if fact is not None and fact.usage is not None and fact.version is change.before:
            before = fact
        else:
            before = _read(resource, measure, change.before)
        after = _read(resource, measure, change.after)
        return keys if before[1:] != after[1:] else ()

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        quota = self._objects.find(QUOTAS, namespace, name)
        if quota is None:
            self._forget(key, namespace)
            return None
        now = monotonic()
        if now < self._recount_at.get(key, 0.0):
            if key in self._resting:
                return None
            self._resting.add(key)
            return self._recount_at[key] - now
        self._resting.discard(key)
        slices = TimeSlices()
        is_complete = await self._recount(namespace, name, quota["spec"], slices)
        self._recount_at[key] = monotonic() + _REST_FACTOR * slices.spent
        if is_complete is None:
            return None
        self._seen[key] = is_complete["spec"]
        return self._next_recount(namespace, is_complete)

    async def _recount(
        self, namespace: str, name: str, spec: Object, slices: TimeSlices
    ) -> Object | None:
        """Count and write the status; returns None if the quota is gone or its spec changed.

        Admission charges writes to the quota meanwhile. The count is consistent with the status at
        one moment, so it only replaces that status.
        """
        sums, ref = self._sums(namespace, spec), self._objects.resource(QUOTAS).ref(name)
        for _ in range(_ATTEMPTS):
            await self._catch_up(sums, slices)
            version = self._api.newest(QUOTAS, namespace, name)
            quota = version.object() if version is not None else {}
            if quota.get("spec") != spec:
                return None
            if not self._finish(sums):
                continue
            used = _added_up(sums)
            status = await budget.run(_BYTES_A_NAME * len(used), _status_with, quota, used)
            try:
                change = partial(_with_status, quota, status, ref)
                return await self._objects.change(QUOTAS, namespace, name, change, "status")
            except StatusError as error:
                if error.code == 404:
                    return None
                if error.code != 409:
                    raise
            await slices.pause()
        raise modified(ref)

    def _sums(self, namespace: str, spec: Object) -> list[_Sum]:
        names, selectors = (spec.get("hard") or {}).keys(), selectors_of(spec)
        return [
            _Sum(
                resource, measure, self._api.collection(resource), namespace, collection, selectors
            )
            for resource, measure, collection in self._counted(names)
        ]

    async def _catch_up(self, sums: list[_Sum], slices: TimeSlices) -> None:
        """Count changed objects, yielding to the event loop; more objects may change meanwhile."""
        for sum_ in sums:
            facts = self._facts.get(sum_.place, {})
            for key, version in sum_.changed():
                await slices.pause()
                fact = await self._fact(facts, sum_, version) if version is not None else None
                if not sum_.count(key, fact):
                    sum_.restart()
                    break
            self._facts[sum_.place] = dict(sum_.facts)
            await slices.pause()

    def _finish(self, sums: list[_Sum]) -> bool:
        """Count the remaining changes without yielding. Returns False if they are too many, or if a
        sum had to restart."""
        for sum_ in sums:
            left = sum_.changed()
            if _weight(left) > meter.MAX_BYTES_ON_LOOP:
                return False
            for key, version in left:
                read = _read(sum_.resource, sum_.measure, version) if version is not None else None
                if not sum_.count(key, read):
                    sum_.restart()
                    return False
        return True

    def _forget(self, key: str, namespace: str) -> None:
        self._seen.pop(key, None)
        self._recount_at.pop(key, None)
        self._resting.discard(key)
        if not self._quotas.current(namespace):
            for outdated in [key for key in self._facts if key[1] == namespace]:
                del self._facts[outdated]

    def _counted(self, names: AbstractSet[str]) -> list[tuple[Resource, Measure, list[str]]]:
        """The resources that a quota limits, each with its names in the quota; subscribes to
        them."""
        collections = []
        for resource in self._api.resources.in_namespaces():
            measure = self._measures.of(resource)
            matching = measure.matching(names) if measure is not None else ()
            if measure is None or not matching:
                continue
            collections.append((resource, measure, list(matching)))
            if self._followed.get(resource.key) is not resource:
                self._followed[resource.key] = resource
                self._follow(resource.key, partial(self._counted_by, resource, measure))
        return collections

    async def _fact(self, facts: dict[str, _Fact], sum_: _Sum, version: Version) -> _Fact:
        fact = facts.get(version.key)
        is_kept = fact is not None and fact.usage is not None and not sum_.measure.depends_on_others
        if fact is not None and is_kept and fact.is_of(version, clock.now()):
            return fact
        size = len(version.body or b"")
        return await budget.run(size, _read, sum_.resource, sum_.measure, version)

    def _next_recount(self, namespace: str, quota: Object) -> float:
        """Seconds until the next periodic count."""
        pause = _LOOK_AGAIN
        status = quota.get("status") or {}
        if (status.get("hard") or {}).keys() != (status.get("used") or {}).keys():
            pause = _RESOURCE_POLL_INTERVAL
        now = clock.now()
        for fact in self._facts.get((PODS, namespace), {}).values():
            if fact.end is not None and fact.end >= now:
                pause = min(pause, (fact.end - now).total_seconds() + 0.01)
        return pause


def _added_up(sums: list[_Sum]) -> Usage:
    """The usage of all resources; some names count several of them."""
    used: Usage = {}
    for sum_ in sums:
        for name, amount in sum_.total.items():
            used[name] = used[name].plus(amount) if name in used else amount
    return used


def _status_with(quota: Object, used: Usage) -> Object:
    """The desired status of a quota."""
    spec, status = quota["spec"], quota.get("status") or {}
    old = amounts(status.get("used"))
    texts = {
        name: status["used"][name] if name in old and old[name].value == amount.value
        else str(amount)
        for name, amount in sorted(used.items())
    }  # fmt: skip
    new_status = {"hard": dict(sorted((spec.get("hard") or {}).items())), "used": texts}
    other_fields = {name: item for name, item in status.items() if name not in new_status}
    return other_fields | {name: item for name, item in new_status.items() if item}


def _with_status(counted: Object, status: Object, ref: ResourceRef, current: Object) -> Object:
    """The quota with the new status. Raises StatusError (409) if its spec or status is not the one
    that was counted."""
    if any(current.get(name) != counted.get(name) for name in ("spec", "status")):
        raise modified(ref)
    return {**current, "status": status}


def _is_charge(before: Object, after: Object) -> bool:
    """Whether a quota was counted before, and spec and status.hard are the same."""
    old, new = before.get("status") or {}, after.get("status") or {}
    if "used" not in old or "used" not in new:
        return False
    return bool(before["spec"] == after["spec"] and old.get("hard") == new.get("hard"))


def _counts_by_name(spec: Object) -> bool:
    return any(name.startswith("count/") for name in spec.get("hard") or ())
