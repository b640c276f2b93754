"""Follows the stored webhook configurations; sees each commit before its client gets the
response."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.admission.plugin import Attributes
from fairlead.admission.webhooks.hooks import Hook, MakeWebhook, hooks_of
from fairlead.admission.webhooks.match import (
    Match,
    equivalents,
    is_exempt,
    matchable_names,
    matched,
    may_match,
)
from fairlead.auth.authentication.user import is_server
from fairlead.base.logs import Logger
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.version import Change

logger = Logger("fairlead")


class Configurations:
    """The webhooks of one type, ordered by configuration name and then by position. As a container
    it has the internal names of the resources that its webhooks may match. `on_change` is called
    after a configuration changes. `is_serving` returns whether startup is complete: webhooks are
    not called for the server's own writes during startup, because most need a running server."""

    def __init__(
        self,
        resources: Resources,
        make: MakeWebhook,
        on_change: Callable[[], None],
        is_serving: Callable[[], bool],
    ) -> None:
        self._is_serving = is_serving
        self._resources = resources
        self._make = make
        self._on_change = on_change
        self._by_name: dict[str, list[Hook]] = {}
        self._hooks: list[Hook] = []
        self._matches: dict[tuple[str, str], Sequence[Match]] = {}
        self._generation = -1  # the resource generation that `_matches` was computed for

    def changed(self, change: Change) -> None:
        """Process a commit. An invalid configuration does not affect the others."""
        try:
            if change.after is None:
                self._by_name.pop(change.key, None)
            else:
                self._by_name[change.key] = hooks_of(change.after.object(), self._make)
        except Exception:
            logger.exception("a webhook configuration cannot be used", name=change.key)
        self._hooks = [hook for name in sorted(self._by_name) for hook in self._by_name[name]]
        self._matches.clear()
        self._on_change()

    def __contains__(self, key: object) -> bool:
        if not self._hooks or not isinstance(key, str):
            return False
        names = matchable_names(self._resources, key, is_exempt)
        return any(may_match(hook, names) for hook in self._hooks)

    def matches(self, attributes: Attributes) -> Sequence[Match]:
        """The webhooks whose rules match a write; empty if webhooks are not to be called for it."""
        if attributes.is_settled or (is_server(attributes.user) and not self._is_serving()):
            return ()
        resource, operation = attributes.resource, attributes.operation
        if self._generation != self._resources.generation:
            self._generation = self._resources.generation
            self._matches.clear()
        key = resource.key, operation
        matches = self._matches.get(key)
        if matches is None:
            matches = self._matches[key] = self._compute_matches(resource, operation)
        return matches

    def _compute_matches(self, resource: Resource, operation: str) -> Sequence[Match]:
        if is_exempt(resource):
            return ()
        others = equivalents(self._resources, resource)
        matches = []
        for index, hook in enumerate(self._hooks):
            named = matched(hook, resource, others, operation)
            if named is not None:
                matches.append(Match(hook, index, named))
        return matches
