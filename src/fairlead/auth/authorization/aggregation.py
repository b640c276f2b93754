"""Aggregated ClusterRoles: combines the rules of the ClusterRoles that their selectors match."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import orjson
from sortedcontainers import SortedDict

from fairlead.auth.authorization.bindings import Follow
from fairlead.auth.authorization.rbac import CLUSTER_ROLES
from fairlead.auth.authorization.rules import Rule
from fairlead.base.logs import Logger
from fairlead.base.slices import TimeSlices
from fairlead.resources.rules import selector_matches
from fairlead.storage.version import Change, Version

logger = Logger("fairlead")

# Writes rules to the newest version of the named ClusterRole and returns after the commit. A
# deleted role is no error.
WriteRules = Callable[[str, list[Rule]], Awaitable[object]]

_RETRY_SECONDS = 1.0


class _Role(NamedTuple):
    labels: dict[str, str]
    rules: dict[str, str]  # encoded to save memory, keyed by canonical content
    selectors: list[dict[str, Any]]

    def selects(self, other: _Role) -> bool:
        return any(selector_matches(selector, other.labels) for selector in self.selectors)


class ClusterRoleAggregation:
    """Follows the ClusterRoles. `reconcile` updates the aggregated roles that a change affects,
    `run` does so after every change. The commit callback only records the change; the work is done
    later, in small steps."""

    def __init__(self, write: WriteRules) -> None:
        self._write = write
        self._roles: SortedDict[str, _Role] = SortedDict()
        self._aggregated: dict[str, _Role] = {}
        self._noted: dict[str, Version | None] = {}
        self._stale: dict[str, None] = {}
        self._changed = asyncio.Event()

    def follow(self, follow: Follow) -> None:
        follow(CLUSTER_ROLES, self._role_changed)

    def _role_changed(self, change: Change) -> None:
        self._noted[change.name] = change.after
        self._changed.set()

    async def run(self) -> None:
        """Wait for changes and reconcile, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.reconcile()
            except Exception:
                logger.exception("cannot aggregate cluster roles")
                self._changed.set()
                await asyncio.sleep(_RETRY_SECONDS)

    async def reconcile(self) -> None:
        """Update one role after the other until none changes, because aggregated roles may
        aggregate each other. Each role is updated at most once per existing role, because cycles
        may never converge."""
        tries: Counter[str] = Counter()
        while self._noted or self._stale:
            await asyncio.sleep(0)
            if self._noted:
                name = next(iter(self._noted))
                self._take(name, self._noted.pop(name))
                continue
            name = next(iter(self._stale))
            del self._stale[name]
            tries[name] += 1
            role = self._aggregated.get(name)
            if role is not None and tries[name] <= len(self._roles) + 1:
                await self._renew(name, role)

    def _take(self, name: str, version: Version | None) -> None:
        """Apply a recorded change and mark the affected aggregated roles as stale."""
        before = self._roles.pop(name, None)
        self._aggregated.pop(name, None)
        versions = [before] if before is not None else []
        if version is not None:
            role = self._roles[name] = _read(version)
            versions.append(role)
            if role.selectors:
                self._aggregated[name] = role
                self._stale[name] = None
        for other, aggregated in self._aggregated.items():
            if other != name and any(map(aggregated.selects, versions)):
                self._stale[other] = None

    async def _renew(self, name: str, role: _Role) -> None:
        rules = await self._rules_for(name, role)
        if list(rules) != list(role.rules):
            try:
                await self._write(name, list(map(orjson.loads, rules.values())))
            except BaseException:
                self._stale[name] = None
                raise

    async def _rules_for(self, name: str, role: _Role) -> dict[str, str]:
        rules: dict[str, str] = {}
        slices = TimeSlices()
        for selector in role.selectors:
            for other, candidate in self._roles.items():
                await slices.pause()
                if other != name and selector_matches(selector, candidate.labels):
                    for key, rule in candidate.rules.items():
                        rules.setdefault(key, rule)
        return rules


def _read(version: Version) -> _Role:
    value = version.object()
    return _Role(
        value["metadata"].get("labels") or {},
        dict(map(_encoded, value.get("rules") or ())),
        (value.get("aggregationRule") or {}).get("clusterRoleSelectors") or [],
    )


def _encoded(rule: Rule) -> tuple[str, str]:
    """The canonical JSON of a rule and the rule as written; one object if they are equal. Strings,
    because the bytes that orjson returns take 4 KB each."""
    key = orjson.dumps(rule, option=orjson.OPT_SORT_KEYS).decode()
    written = orjson.dumps(rule).decode()
    return key, key if key == written else written
