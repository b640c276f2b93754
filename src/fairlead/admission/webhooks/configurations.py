"""The webhook configurations that are stored: follows their commits, before those are answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from fairlead.admission.plugin import Attributes
from fairlead.admission.webhooks.hooks import Hook, MakeWebhook, hooks_of
from fairlead.admission.webhooks.match import Match, equivalents, is_exempt, matched, may_match
from fairlead.auth.authentication.user import is_server
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.change import Change

logger = logging.getLogger("fairlead")


class Configurations:
    """The webhooks of one kind of configuration, by the names of those and then in their order.
    It holds the resources (by our name for them) that one of the webhooks may be asked about.
    `on_change` is told when they are others; `is_serving` says whether the server has prepared
    itself, about which no webhook is asked: most of them need a server that runs."""

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
        self._generation = -1  # of the resources that the matches were worked out for

    def changed(self, change: Change) -> None:
        """Take in a commit. A configuration that cannot be understood harms no other."""
        try:
            if change.after is None:
                self._by_name.pop(change.key, None)
            else:
                self._by_name[change.key] = hooks_of(change.after.object(), self._make)
        except Exception:
            logger.exception("the webhook configuration %s cannot be used", change.key)
        self._hooks = [hook for name in sorted(self._by_name) for hook in self._by_name[name]]
        self._matches.clear()
        self._on_change()

    def __contains__(self, key: object) -> bool:
        if not self._hooks or not isinstance(key, str):
            return False
        try:
            resource = self._resources.named(key)
        except KeyError:
            return False
        if is_exempt(resource):
            return False
        found = [resource, *equivalents(self._resources, resource)]
        names = {(one.group, one.name) for one in found}
        return any(may_match(hook, names) for hook in self._hooks)

    def asked(self, attributes: Attributes) -> Sequence[Match]:
        """The webhooks whose rules name a write."""
        if attributes.is_settled or (is_server(attributes.user) and not self._is_serving()):
            return ()
        resource, operation = attributes.resource, attributes.operation
        if self._generation != self._resources.generation:
            self._generation = self._resources.generation
            self._matches.clear()
        key = resource.key, operation
        found = self._matches.get(key)
        if found is None:
            found = self._matches[key] = self._worked_out(resource, operation)
        return found

    def _worked_out(self, resource: Resource, operation: str) -> Sequence[Match]:
        if is_exempt(resource):
            return ()
        others = equivalents(self._resources, resource)
        found = []
        for index, hook in enumerate(self._hooks):
            named = matched(hook, resource, others, operation)
            if named is not None:
                found.append(Match(hook, index, named))
        return found
