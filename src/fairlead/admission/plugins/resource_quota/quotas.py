"""Quotas as they stand: what they allow, what is used, and what a write would add."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.admission.plugins.base import Object
from fairlead.admission.plugins.resource_quota.measuring import NOTHING, Usage
from fairlead.admission.plugins.resource_quota.scopes import PodScopes, Selector, selectors_of
from fairlead.schema.quantity import Amount, amount
from fairlead.storage.version import Version

_MOST_KEPT = 4096


class Quota:
    """One version of a quota. `names` are what it shall limit, `hard` and `used` what its status
    says: those are what holds."""

    __slots__ = ("hard", "name", "names", "selectors", "used", "value", "version")

    def __init__(self, version: Version) -> None:
        self.version = version
        self.name = version.name
        self.value: Object = version.object()
        spec, status = self.value["spec"], self.value.get("status") or {}
        self.names: tuple[str, ...] = tuple(spec.get("hard") or ())
        self.selectors: tuple[Selector, ...] = selectors_of(spec)
        self.hard = amounts(status.get("hard"))
        self.used = amounts(status.get("used"))

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

    def charged(self, added: Usage) -> Object:
        """The quota with an addition in its status, as it is stored."""
        used = {**self.value["status"]["used"]}
        for name, more in added.items():
            used[name] = str(self.used[name].plus(more))
        metadata = {**self.value["metadata"]}
        del metadata["resourceVersion"]
        status = {**self.value["status"], "used": used}
        return {**self.value, "metadata": metadata, "status": status}


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
    """Worked out once for each version. Versions that are not committed yet have a revision that
    may still change, so they are told apart by what they are."""

    def __init__(self) -> None:
        self._known: dict[str, Quota] = {}

    def of(self, version: Version) -> Quota:
        known = self._known.get(version.key)
        if known is None or known.version is not version:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[version.key] = Quota(version)
        return known
