"""Parsed quotas: limits, usage, and charges."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from fairlead.admission.plugins.base import Object
from fairlead.admission.plugins.resource_quota.scopes import Scopes, Selector, selectors_of
from fairlead.admission.plugins.resource_quota.usage import NOTHING, Usage
from fairlead.admission.plugins.version_facts import MAX_CACHED
from fairlead.base import budget, meter
from fairlead.base.caches import BoundedCache
from fairlead.codec.types.quantity import Amount, amount
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version
from fairlead.storage.writes import Companion


class Quota(NamedTuple):
    """A quota in one version. `names` are from its spec; `hard` and `used` are from its status, and
    these are enforced. `value` is the stored object."""

    name: str
    value: Object
    names: AbstractSet[str]
    selectors: tuple[Selector, ...]
    hard: Usage
    used: Usage

    def matches(self, scopes: Scopes | None) -> bool:
        """Whether an object is in all scopes of the quota; only pods can be in a scope."""
        if not self.selectors:
            return True
        return scopes is not None and all(scopes.match(selector) for selector in self.selectors)

    def excess(self, added: Usage) -> str:
        """The message if an addition exceeds the quota; empty if it does not."""
        over = sorted(
            name
            for name, more in added.items()
            if self.used[name].value + more.value > self.hard[name].value
        )
        if not over:
            return ""
        return (
            f"exceeded quota: {self.name}, requested: {shown(added, over)},"
            f" used: {shown(self.used, over)}, limited: {shown(self.hard, over)}"
        )

    def charged(self, added: Usage) -> Quota:
        """The quota with an addition in its status."""
        status = self.value["status"]
        used, texts = {**self.used}, {**status["used"]}
        for name, more in added.items():
            used[name] = self.used[name].plus(more)
            texts[name] = str(used[name])
        value = {**self.value, "status": {**status, "used": texts}}
        return Quota(self.name, value, self.names, self.selectors, self.hard, used)


def quota_of(version: Version) -> Quota:
    value = version.object()
    del value["metadata"]["resourceVersion"]
    spec, status = value["spec"], value.get("status") or {}
    return Quota(
        version.name,
        value,
        (spec.get("hard") or {}).keys(),
        selectors_of(spec),
        amounts(status.get("hard")),
        amounts(status.get("used")),
    )


def amounts(texts: Mapping[str, str] | None) -> Usage:
    return {name: amount(text) for name, text in (texts or {}).items()}


def shown(usage: Mapping[str, Amount], names: list[str]) -> str:
    return ",".join(f"{name}={usage[name]}" for name in names)


def increase(new: Usage, old: Usage) -> Usage:
    """The amounts by which usage grows."""
    difference: Usage = {}
    for name, used in new.items():
        more = used.value - old.get(name, NOTHING).value
        if more > 0:
            difference[name] = Amount(more, used.kind)
    return difference


class Quotas:
    """Cache of parsed quotas by version. The result of a charge is cached before it is stored. The
    revision of an uncommitted version may still change, so versions are compared by identity. Large
    quotas are not cached."""

    def __init__(self) -> None:
        self._cache: BoundedCache[str, tuple[Version, Quota]]
        self._cache = BoundedCache(MAX_CACHED, longest=meter.MAX_BYTES_ON_LOOP, name="quotas")
        self._charges: BoundedCache[str, tuple[Companion, Quota]]
        self._charges = BoundedCache(
            MAX_CACHED, longest=meter.MAX_BYTES_ON_LOOP, name="charged quotas"
        )

    async def of(self, version: Version) -> Quota:
        cached = self._cache.get(version.key)
        if cached is not None and cached[0] is version:
            return cached[1]
        size = len(version.body or b"")
        charge = self._charges.drop(version.key)
        if charge is not None and charge[0].version is version:
            quota = charge[1]
        else:
            quota = await budget.run(size, quota_of, version)
        self._cache.keep(version.key, (version, quota), size)
        return quota

    def charge(self, collection: Collection, version: Version, charged: Quota) -> Companion:
        """The companion write that charges a quota in the commit of a write."""
        companion = Companion(collection, charged.value, version)
        self._charges.keep(version.key, (companion, charged), len(version.body or b""))
        return companion
