"""The status of quotas says what their namespaces hold.

What is created is charged by admission, with the write itself. This controller counts anew when a
quota is new or changed, when something goes or uses less, and every now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Context, Decimal
from functools import partial
from time import monotonic, perf_counter
from typing import NamedTuple

from fairlead.admission.plugins.base import PODS
from fairlead.admission.plugins.resource_quota import QUOTAS
from fairlead.admission.plugins.resource_quota.quotas import amounts
from fairlead.admission.plugins.resource_quota.scopes import (
    PodScopes,
    Selector,
    scopes_of,
    selectors_of,
)
from fairlead.admission.plugins.resource_quota.usage import (
    NOTHING,
    Counting,
    Measure,
    Measures,
    Usage,
    given_up_at,
)
from fairlead.base import budget, clock
from fairlead.base.errors import ResourceRef, StatusError, modified
from fairlead.codec.types.quantity import Amount
from fairlead.controllers.framework import Follow, Keys
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.registry import Resource
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

_LOOK_AGAIN = 300.0
_LOOK_FOR_RESOURCES = 5.0  # while a quota counts what is not served yet
_REST = 10  # times as long as a count took nothing is counted again: others need the loop too
_SECONDS_A_TURN = 0.004  # of counting before others get their turn
_MOST_NAMES_KEPT = 100  # of what an object uses; others are measured anew for each count
_ATTEMPTS = 10  # to count what changes all the time, before others get their turn
_BYTES_A_NAME = 64  # that working out its text costs as much as
_BYTES_AN_OBJECT = 256  # that reading one costs as much as, beside its own
_EXACT = Context(prec=60)  # what is taken out of a sum must be what was put in


class _Fact(NamedTuple):
    """What one version of an object uses, and until when it is sure to. Where it has many names
    its usage is not kept: it would need several times the memory of the object."""

    version: Version
    usage: Usage | None
    scopes: PodScopes | None
    end: datetime | None

    def is_of(self, version: Version, now: datetime) -> bool:
        return self.version is version and (self.end is None or self.end >= now)


def _read(resource: Resource, measure: Measure, version: Version) -> _Fact:
    value = version.object()
    usage = measure.usage(value)
    if resource.key != PODS:
        return _Fact(version, usage, None, None)
    return _Fact(version, usage, scopes_of(value), given_up_at(value))


# The key of an object that is not counted as it is now, and its version if it still exists.
_Changed = tuple[str, Version | None]


class _Turns:
    """The event loop is given to others every few milliseconds. `spent` is what we had of it."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._began = perf_counter()

    async def pause(self) -> None:
        if perf_counter() - self._began >= _SECONDS_A_TURN:
            await self.end()

    async def end(self) -> None:
        self.spent += perf_counter() - self._began
        await asyncio.sleep(0)
        self._began = perf_counter()


class _Sum:
    """What the objects of one resource in a namespace use together, of what a quota limits.
    `facts` are those of the objects that are in it: what changes is taken out and put in again."""

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
        """What is not counted as it is now, uncommitted writes included."""
        versions = self._collection.newest(self.place[1])
        if type(self.measure) is Counting:
            count = 0 if self._selectors else len(versions)
            self.total = dict.fromkeys(self._names, Amount(Decimal(count)))
            return []
        now, facts = clock.now(), self.facts
        found: list[_Changed] = [
            (version.key, version)
            for version in versions
            if (fact := facts.get(version.key)) is None or not fact.is_of(version, now)
        ]
        added = sum(key not in facts for key, _ in found)
        if len(facts) + added != len(versions):
            gone = facts.keys() - {version.key for version in versions}
            found.extend((key, None) for key in gone)
        return found

    def count(self, key: str, fact: _Fact | None) -> bool:
        """Count an object as it is now, None if it is gone. Gives False if it cannot be told what
        was counted of it before: then all has to be counted again."""
        old = self.facts.pop(key, None)
        if old is not None:
            if old.usage is None:
                return False
            self._add(old, _EXACT.subtract)
        if fact is not None:
            self._add(fact, _EXACT.add)
            is_small = fact.usage is not None and len(fact.usage) <= _MOST_NAMES_KEPT
            self.facts[key] = fact if is_small else fact._replace(usage=None)
        return True

    def _add(self, fact: _Fact, add: Callable[[Decimal, Decimal], Decimal]) -> None:
        scopes, total = fact.scopes, self.total
        if self._selectors and (scopes is None or not all(map(scopes.match, self._selectors))):
            return
        for name, more in (fact.usage or {}).items():
            known = total.get(name)
            if known is not None:
                kind = known.kind if known.value else more.kind
                total[name] = Amount(add(known.value, more.value), kind)


def _weight(changed: list[_Changed]) -> int:
    """How many bytes of objects have to be read."""
    return sum(_BYTES_AN_OBJECT + len(one.body or b"") for _, one in changed if one is not None)


class ResourceQuotas:
    """Keys are `namespace/name` of quotas."""

    workers = 1

    def __init__(self, api: Api, objects: Client) -> None:
        self._api = api
        self._objects = objects
        self._quotas = objects.collection(QUOTAS)
        self._measures = Measures(api.dialect)
        self._followed: dict[str, Resource] = {}
        self._facts: dict[tuple[str, str], dict[str, _Fact]] = {}  # by resource and namespace
        self._seen: dict[str, Object] = {}  # the specs of quotas that were counted
        self._rests: dict[str, float] = {}  # until when a quota is not counted again
        self._resting: set[str] = set()  # those that will be when that is over
        self._follow: Callable[[str, Keys], object] = lambda resource, keys: None

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow

    def follows(self) -> Mapping[str, Keys]:
        return {QUOTAS: self._changed_quota, DEFINITIONS: self._quotas_of_custom}

    def _changed_quota(self, change: Change) -> Iterable[str]:
        """A quota that limits something else than before. Charges are no news."""
        if change.after is None:
            return (change.key,)
        if change.before is not None and _is_charge(change.before, change.after):
            return ()
        value = change.after.object()
        spec, status = value["spec"], value.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        is_right = (spec.get("hard") or {}) == hard and hard.keys() == used.keys()
        return () if is_right and self._seen.get(change.key) == spec else (change.key,)

    def _quotas_of_custom(self, change: Change) -> Iterable[str]:
        counted = (key for key, spec in self._seen.items() if _counts_by_name(spec))
        return list(counted)

    def _counted_by(self, resource: Resource, measure: Measure, change: Change) -> Iterable[str]:
        """The quotas of a namespace in which less may be used now."""
        if change.before is None:
            return ()  # charged with its creation
        keys = [entry.key for entry in self._quotas.current(change.namespace)]
        if not keys or change.after is None or type(measure) is Counting:
            return keys if change.after is None else ()
        if max(len(one.body or b"") for one in (change.before, change.after)) > budget.LIGHT:
            return keys  # whether it uses less takes long to find out, and is when it is counted
        known = self._facts.get((resource.key, change.namespace), {}).get(change.key)
        if known is not None and known.usage is not None and known.version is change.before:
            before = known
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
        if now < self._rests.get(key, 0.0):
            if key in self._resting:
                return None
            self._resting.add(key)
            return self._rests[key] - now
        self._resting.discard(key)
        turns = _Turns()
        done = await self._recount(namespace, name, quota["spec"], turns)
        self._rests[key] = monotonic() + _REST * turns.spent
        if done is None:
            return None
        self._seen[key] = done["spec"]
        return self._next_look(namespace, done)

    async def _recount(
        self, namespace: str, name: str, spec: Object, turns: _Turns
    ) -> Object | None:
        """Count what a quota is about and write that down; None if it is gone or limits something
        else by now. Writes are charged to the quota meanwhile: the count holds for the status that
        the quota had in the same moment, so it is written over no other."""
        sums, ref = self._sums(namespace, spec), self._objects.resource(QUOTAS).ref(name)
        for _ in range(_ATTEMPTS):
            await self._catch_up(sums, turns)
            version = self._api.newest(QUOTAS, namespace, name)
            quota = version.object() if version is not None else {}
            if quota.get("spec") != spec:
                return None
            if not self._finish(sums):
                continue
            used = {name: found for one in sums for name, found in one.total.items()}
            status = await budget.run(_BYTES_A_NAME * len(used), _status_with, quota, used)
            try:
                change = partial(_over, quota, status, ref)
                return await self._objects.change(QUOTAS, namespace, name, change, "status")
            except StatusError as error:
                if error.code == 404:
                    return None
                if error.code != 409:
                    raise
            await turns.end()
        raise modified(ref)

    def _sums(self, namespace: str, spec: Object) -> list[_Sum]:
        names, selectors = (spec.get("hard") or {}).keys(), selectors_of(spec)
        return [
            _Sum(resource, measure, self._api.collection(resource), namespace, found, selectors)
            for resource, measure, found in self._counted(names)
        ]

    async def _catch_up(self, sums: list[_Sum], turns: _Turns) -> None:
        """Count what changed, in short turns; more may change meanwhile."""
        for one in sums:
            known = self._facts.get(one.place, {})
            for key, version in one.changed():
                fact = await self._fact(known, one, version) if version is not None else None
                if not one.count(key, fact):
                    one.restart()
                    break
                await turns.pause()
            self._facts[one.place] = dict(one.facts)
            await turns.pause()

    def _finish(self, sums: list[_Sum]) -> bool:
        """Do the rest in one go; gives False if that is too much, or has to start again."""
        for one in sums:
            left = one.changed()
            if _weight(left) > budget.LIGHT:
                return False
            for key, version in left:
                read = _read(one.resource, one.measure, version) if version is not None else None
                if not one.count(key, read):
                    one.restart()
                    return False
        return True

    def _forget(self, key: str, namespace: str) -> None:
        self._seen.pop(key, None)
        self._rests.pop(key, None)
        self._resting.discard(key)
        if not self._quotas.current(namespace):
            for place in [place for place in self._facts if place[1] == namespace]:
                del self._facts[place]

    def _counted(self, names: AbstractSet[str]) -> list[tuple[Resource, Measure, list[str]]]:
        """The resources that a quota is about, each with the names by which it is; they are
        followed from now on."""
        found = []
        for resource in self._api.resources.in_namespaces():
            measure = self._measures.of(resource)
            matching = measure.matching(names) if measure is not None else ()
            if measure is None or not matching:
                continue
            found.append((resource, measure, list(matching)))
            if self._followed.get(resource.key) is not resource:
                self._followed[resource.key] = resource
                self._follow(resource.key, partial(self._counted_by, resource, measure))
        return found

    async def _fact(self, known: dict[str, _Fact], one: _Sum, version: Version) -> _Fact:
        fact = known.get(version.key)
        if fact is not None and fact.usage is not None and fact.is_of(version, clock.now()):
            return fact
        size = len(version.body or b"")
        return await budget.run(size, _read, one.resource, one.measure, version)

    def _next_look(self, namespace: str, quota: Object) -> float:
        """When to count again without a reason."""
        pause = _LOOK_AGAIN
        status = quota.get("status") or {}
        if (status.get("hard") or {}).keys() != (status.get("used") or {}).keys():
            pause = _LOOK_FOR_RESOURCES
        now = clock.now()
        for fact in self._facts.get((PODS, namespace), {}).values():
            if fact.end is not None and fact.end >= now:
                pause = min(pause, (fact.end - now).total_seconds() + 0.01)
        return pause


def _status_with(quota: Object, used: Usage) -> Object:
    """The status of a quota as it should be."""
    spec, status = quota["spec"], quota.get("status") or {}
    old = amounts(status.get("used"))
    texts = {
        name: status["used"][name] if name in old and old[name].value == found.value
        else str(found)
        for name, found in sorted(used.items())
    }  # fmt: skip
    wanted = {"hard": dict(sorted((spec.get("hard") or {}).items())), "used": texts}
    kept = {name: item for name, item in status.items() if name not in wanted}
    return kept | {name: item for name, item in wanted.items() if item}


def _over(counted: Object, status: Object, ref: ResourceRef, current: Object) -> Object:
    """The quota with a new status, if it still has the one that was counted for."""
    if any(current.get(name) != counted.get(name) for name in ("spec", "status")):
        raise modified(ref)
    return {**current, "status": status}


def _is_charge(before: Version, after: Version) -> bool:
    """Whether nothing but what is used changed. Told by the bytes: this comes with every write
    that is charged."""
    return before.body is not None and _limits_part(before.body) == _limits_part(after.body or b"")


def _limits_part(body: bytes) -> bytes:
    """What a quota limits and says that it does; what is before and behind it is left out."""
    start, end = body.rfind(b'"spec":'), body.rfind(b'"used":')
    return body[start:end] if 0 <= start < end else body


def _counts_by_name(spec: Object) -> bool:
    return any(name.startswith("count/") for name in spec.get("hard") or ())
