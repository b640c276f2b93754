"""Quotas as they stand: what they allow, what is used, and what a write would add."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from fairlead.admission.plugins.base import Object
from fairlead.admission.plugins.resource_quota.scopes import PodScopes, Selector, selectors_of
from fairlead.admission.plugins.resource_quota.usage import NOTHING, Usage
from fairlead.admission.plugins.version_facts import MOST_KEPT
from fairlead.base import budget
from fairlead.base.caches import Bounded
from fairlead.codec.types.quantity import Amount, amount
from fairlead.storage.collection import Collection
from fairlead.storage.companion import Companion
from fairlead.storage.version import Version


class Quota(NamedTuple):
    """A quota at one time. `names` are what it shall limit, `hard` and `used` what its status
    says: those are what holds. `value` is the object as it is stored."""

    name: str
    value: Object
    names: AbstractSet[str]
    selectors: tuple[Selector, ...]
    hard: Usage
    used: Usage

    def is_about(self, scopes: PodScopes | None) -> bool:
        """Whether an object is in all scopes of the quota; only pods are in any."""
        if not self.selectors:
            return True
        return scopes is not None and all(scopes.match(selector) for selector in self.selectors)

    def excess(self, added: Usage) -> str:
        """What of an addition goes beyond the quota, in words; empty if nothing does."""
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
    """What is more than it was."""
    found: Usage = {}
    for name, wanted in new.items():
        more = wanted.value - old.get(name, NOTHING).value
        if more > 0:
            found[name] = Amount(more, wanted.kind)
    return found


class Quotas:
    """Quotas by what they are stored as, each worked out once; what a charge makes of one is known
    before it is stored. Versions that are not committed yet have a revision that may still change,
    so they are told apart by what they are. Large ones are not kept."""

    def __init__(self) -> None:
        self._known: Bounded[str, tuple[Version, Quota]]
        self._known = Bounded(MOST_KEPT, longest=budget.LIGHT, name="quotas")
        self._charges: Bounded[str, tuple[Companion, Quota]]
        self._charges = Bounded(MOST_KEPT, longest=budget.LIGHT, name="charged quotas")

    async def of(self, version: Version) -> Quota:
        known = self._known.get(version.key)
        if known is not None and known[0] is version:
            return known[1]
        size = len(version.body or b"")
        charge = self._charges.drop(version.key)
        if charge is not None and charge[0].version is version:
            quota = charge[1]
        else:
            quota = await budget.run(size, quota_of, version)
        self._known.keep(version.key, (version, quota), size)
        return quota

    def charge(self, collection: Collection, version: Version, charged: Quota) -> Companion:
        """The change of a quota that goes with a write which adds to it."""
        made = Companion(collection, charged.value, version)
        self._charges.keep(version.key, (made, charged), len(version.body or b""))
        return made
