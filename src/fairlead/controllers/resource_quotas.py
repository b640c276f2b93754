"""The status of quotas says what their namespaces hold.

What is created is charged by admission, with the write itself. This controller counts anew when a
quota is new or changed, when something goes or uses less, and every now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from time import monotonic, perf_counter
from typing import NamedTuple

from fairlead import budget, clock
from fairlead.admission.plugins.base import PODS
from fairlead.admission.plugins.resource_quota import QUOTAS
from fairlead.admission.plugins.resource_quota.measuring import (
    NOTHING,
    Counting,
    Measure,
    Measures,
    Usage,
    given_up_at,
)
from fairlead.admission.plugins.resource_quota.quotas import amounts
from fairlead.admission.plugins.resource_quota.scopes import PodScopes, scopes_of, selectors_of
from fairlead.controllers.framework import Follow, Keys
from fairlead.errors import StatusError
from fairlead.kinds.custom.kind import DEFINITIONS
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.change import Change
from fairlead.storage.version import Version

_LOOK_AGAIN = 300.0
_LOOK_FOR_RESOURCES = 5.0  # while a quota counts what is not served yet
_REST = 10  # times as long as a count took nothing is counted again: others need the loop too
_SECONDS_A_TURN = 0.004  # of reading before others get their turn


class _Fact(NamedTuple):
    """What one version of an object uses, and until when it is sure to."""

    version: Version
    usage: Usage
    scopes: PodScopes | None
    end: datetime | None


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
        known = self._facts.setdefault((resource.key, change.namespace), {})
        before = self._fact(known, resource, measure, change.before)
        after = self._fact(known, resource, measure, change.after)
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
        counted = self._counted(quota["spec"])
        await self._read_ahead(counted, namespace)
        recount = partial(self._recounted, namespace)
        try:
            done = await self._objects.change(QUOTAS, namespace, name, recount, "status")
        except StatusError as error:
            if error.code != 404:
                raise
            return None
        self._seen[key] = done["spec"]
        return self._next_look(namespace, done)

    def _forget(self, key: str, namespace: str) -> None:
        self._seen.pop(key, None)
        self._rests.pop(key, None)
        self._resting.discard(key)
        if not self._quotas.current(namespace):
            for place in [place for place in self._facts if place[1] == namespace]:
                del self._facts[place]

    def _counted(self, spec: Object) -> list[tuple[Resource, Measure]]:
        """The resources that a quota is about; they are followed from now on."""
        names = tuple(spec.get("hard") or ())
        found = []
        for resource in self._api.resources.in_namespaces():
            measure = self._measures.of(resource)
            if measure is None or not measure.matching(names):
                continue
            found.append((resource, measure))
            if self._followed.get(resource.key) is not resource:
                self._followed[resource.key] = resource
                self._follow(resource.key, partial(self._counted_by, resource, measure))
        return found

    async def _read_ahead(self, counted: list[tuple[Resource, Measure]], namespace: str) -> None:
        """Read what was not read yet, with pauses: counting must go without."""
        end = perf_counter() + _SECONDS_A_TURN
        for resource, measure in counted:
            if type(measure) is Counting:
                continue
            known = self._facts.setdefault((resource.key, namespace), {})
            for version in self._api.collection(resource).newest(namespace):
                if version.key not in known or known[version.key].version is not version:
                    size = len(version.body or b"")
                    fact = await budget.run(size, self._read, resource, measure, version)
                    known[version.key] = fact
                    if perf_counter() >= end:
                        await asyncio.sleep(0)
                        end = perf_counter() + _SECONDS_A_TURN

    def _fact(
        self, known: dict[str, _Fact], resource: Resource, measure: Measure, version: Version
    ) -> _Fact:
        """What is known about a version, from now on at least."""
        fact = known.get(version.key)
        is_over = fact is not None and fact.end is not None and fact.end < clock.now()
        if fact is None or fact.version is not version or is_over:
            fact = known[version.key] = self._read(resource, measure, version)
        return fact

    @staticmethod
    def _read(resource: Resource, measure: Measure, version: Version) -> _Fact:
        value = version.object()
        usage = measure.usage(value)
        if resource.key != PODS:
            return _Fact(version, usage, None, None)
        return _Fact(version, usage, scopes_of(value), given_up_at(value))

    def _recounted(self, namespace: str, quota: Object) -> Object:
        """The quota with its status as it should be. What is charged and what is written moves
        together, so both are looked at in one go, uncommitted writes included."""
        started = monotonic()
        spec, status = quota["spec"], quota.get("status") or {}
        used: Usage = {}
        for resource, measure in self._counted(spec):
            names = measure.matching(spec["hard"])
            for name, found in self._used(resource, measure, namespace, names, spec).items():
                used[name] = found
        old = amounts(status.get("used"))
        texts = {
            name: status["used"][name] if name in old and old[name].value == found.value
            else str(found)
            for name, found in sorted(used.items())
        }  # fmt: skip
        wanted = {"hard": dict(sorted((spec.get("hard") or {}).items())), "used": texts}
        kept = {name: item for name, item in status.items() if name not in wanted}
        done = monotonic()
        self._rests[f"{namespace}/{quota['metadata']['name']}"] = done + _REST * (done - started)
        return {**quota, "status": kept | {name: item for name, item in wanted.items() if item}}

    def _used(
        self,
        resource: Resource,
        measure: Measure,
        namespace: str,
        names: list[str],
        spec: Object,
    ) -> Usage:
        total = dict.fromkeys(names, NOTHING)
        selectors = selectors_of(spec)
        for usage, scopes in self._objects_of(resource, measure, namespace):
            if selectors and (scopes is None or not all(map(scopes.match, selectors))):
                continue
            for name, more in usage.items():
                if name in total:
                    total[name] = total[name].plus(more)
        return total

    def _objects_of(
        self, resource: Resource, measure: Measure, namespace: str
    ) -> Iterable[tuple[Usage, PodScopes | None]]:
        versions = self._api.collection(resource).newest(namespace)
        if type(measure) is Counting:
            usage = measure.usage({})
            return [(usage, None) for _ in versions]
        known = self._facts.get((resource.key, namespace), {})
        facts = [self._fact(known, resource, measure, version) for version in versions]
        self._facts[resource.key, namespace] = {fact.version.key: fact for fact in facts}
        return [(fact.usage, fact.scopes) for fact in facts]

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
