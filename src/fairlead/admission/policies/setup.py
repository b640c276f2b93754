"""Constructs the two policy plugins, and the check of the match conditions of webhooks. Most
servers have neither, so the modules that evaluate expressions are loaded by the first write that
needs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import cached_property
from typing import NamedTuple

from fairlead.admission.plugin import Attributes, LazyPlugin, Plugin
from fairlead.admission.plugins.version_facts import FindCollection, FindNamespace
from fairlead.admission.policies import (
    dispatch,
    inputs,
    mutating_plugin,
    parameters,
    validating_plugin,
)
from fairlead.admission.policies.policy_index import Policies
from fairlead.admission.webhooks.documents import DocumentConverter, Documents
from fairlead.admission.webhooks.match import Match
from fairlead.auth.authorization.attributes import Attributes as AccessAttributes
from fairlead.auth.authorization.attributes import Decision
from fairlead.resources.registry import Resources
from fairlead.storage.audience import Follower

MUTATING, VALIDATING = "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"
_GROUP = "admissionregistration/v1"
# The resources of policies and of bindings.
_FOLLOWED_RESOURCES = {
    MUTATING: ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
    VALIDATING: ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
}


class PolicyDependencies(NamedTuple):
    """The dependencies of the plugins. `follow` registers a listener for the commits of a resource,
    called before their clients get a response. `on_change` is called when the set of policies
    changes. `is_serving` returns whether startup is complete. `read` reads a stored object in the
    version of a resource."""

    resources: Resources
    converter: DocumentConverter
    find: FindNamespace
    collection: FindCollection
    read: parameters.ReadObject
    decide: Callable[[AccessAttributes], Awaitable[Decision]]
    follow: Callable[[str, Follower], None]
    on_change: Callable[[], None]
    is_serving: Callable[[], bool]


class PolicySetup:
    def __init__(self, dependencies: PolicyDependencies) -> None:
        self._dependencies = dependencies

    @cached_property
    def _builder(self) -> inputs.InputBuilder:
        needs = self._dependencies
        return inputs.InputBuilder(needs.resources, needs.find, needs.decide)

    async def webhook_applies(
        self, match: Match, attributes: Attributes, documents: Documents
    ) -> bool:
        """Whether the match conditions of a webhook hold, see `InputBuilder`."""
        return await self._builder.webhook_applies(match, attributes, documents)

    def plugins(self, enabled: Collection[str]) -> dict[str, LazyPlugin]:
        """The enabled plugins among the two, by name."""
        needs = self._dependencies
        plugins: dict[str, LazyPlugin] = {}
        for name, (policy_resource, binding_resource) in _FOLLOWED_RESOURCES.items():
            if name in enabled:
                policies = Policies(needs.resources, needs.on_change, needs.is_serving)
                needs.follow(f"{_GROUP}/{policy_resource}", policies.policy_changed)
                needs.follow(f"{_GROUP}/{binding_resource}", policies.binding_changed)
                plugins[name] = LazyPlugin(name, policies, self._build(name, policies))
        return plugins

    def _build(self, name: str, policies: Policies) -> Callable[[], Plugin]:
        def build() -> Plugin:
            if name == MUTATING:
                return mutating_plugin.MutatingAdmissionPolicy(self._plugin_dependencies(policies))
            dialect = self._dependencies.resources.dialect
            dependencies = self._plugin_dependencies(policies)
            return validating_plugin.ValidatingAdmissionPolicy(dialect, dependencies)

        return build

    def _plugin_dependencies(self, policies: Policies) -> dispatch.Dependencies:
        needs = self._dependencies
        reader = parameters.Parameters(needs.resources, needs.collection, needs.read)
        return dispatch.Dependencies(policies, self._builder, reader, needs.converter)
