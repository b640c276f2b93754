"""Aggregated ClusterRoles: their rules are those of the ClusterRoles that their selectors find."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fairlead.authorization.following import Follow
from fairlead.authorization.rbac import CLUSTER_ROLES
from fairlead.authorization.rules import Rule
from fairlead.kinds.rules import selector_matches
from fairlead.storage.change import Change

logger = logging.getLogger("fairlead")

# Writes the rules of the ClusterRole of a name onto its newest version and returns once that is
# committed; a role that is gone meanwhile is no error.
WriteRules = Callable[[str, list[Rule]], Awaitable[object]]

_PAUSE_AFTER_ERROR = 1.0


class _Role(NamedTuple):
    labels: dict[str, str]
    rules: list[Rule]
    selectors: list[dict[str, Any]]


class ClusterRoleAggregation:
    """Follows the ClusterRoles; `reconcile` brings the aggregated ones up to date, `run` does it
    after every change."""

    def __init__(self, write: WriteRules) -> None:
        self._write = write
        self._roles: dict[str, _Role] = {}
        self._changed = asyncio.Event()

    def follow(self, follow: Follow) -> None:
        follow(CLUSTER_ROLES, self._role_changed)

    def _role_changed(self, change: Change) -> None:
        if change.after is None:
            self._roles.pop(change.name, None)
        else:
            value = change.after.object()
            self._roles[change.name] = _Role(
                value["metadata"].get("labels") or {},
                value.get("rules") or [],
                (value.get("aggregationRule") or {}).get("clusterRoleSelectors") or [],
            )
        self._changed.set()

    async def run(self) -> None:
        """For ever: wait for a change, then reconcile."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.reconcile()
            except Exception:
                logger.exception("cannot aggregate cluster roles")
                self._changed.set()
                await asyncio.sleep(_PAUSE_AFTER_ERROR)

    async def reconcile(self) -> None:
        """One role after the other until none changes, because aggregated roles may aggregate
        each other."""
        for _ in range(len(self._roles) + 1):
            settled = True
            for name in sorted(self._roles):
                role = self._roles.get(name)
                if role is not None and role.selectors:
                    rules = self._aggregated(name, role)
                    if rules != role.rules:
                        settled = False
                        await self._write(name, rules)
            if settled:
                return

    def _aggregated(self, name: str, role: _Role) -> list[Rule]:
        rules: list[Rule] = []
        for selector in role.selectors:
            for other, candidate in sorted(self._roles.items()):
                if other != name and selector_matches(selector, candidate.labels):
                    rules += [rule for rule in candidate.rules if rule not in rules]
        return rules
