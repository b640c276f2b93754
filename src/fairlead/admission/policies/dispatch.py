"""Selects the policies, bindings and parameters that apply to a write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.admission.policies import compilation, evaluation
from fairlead.admission.policies.followed import Binding, BoundMatch, Policies, Policy, PolicyMatch
from fairlead.admission.policies.inputs import InputBuilder
from fairlead.admission.policies.parameters import ConfigurationError, Parameters
from fairlead.admission.webhooks.match import namespace_of
from fairlead.admission.webhooks.shapes import Documents, Shapes
from fairlead.base import budget
from fairlead.base.errors import StatusError
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource


class Dependencies(NamedTuple):
    """The dependencies of a policy plugin."""

    policies: Policies
    builder: InputBuilder
    parameters: Parameters
    shapes: Shapes


class Invocation(NamedTuple):
    """A policy with a binding and one of its parameters, that applies to a write in the version of
    a resource."""

    policy: Policy
    binding: Binding
    resource: Resource
    params: Object | None


class Failure(NamedTuple):
    """A policy that cannot be evaluated for a write. `reason` is that of the error, empty if the
    configuration is wrong."""

    policy: Policy
    binding: Binding | None
    message: str
    reason: str = ""


class PolicyPlugin(PluginBase):
    """Handles the resources that its policies match."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.concerns = self.depends_on_other_state = dependencies.policies
        self.policies = dependencies.policies
        self.builder = dependencies.builder
        self.shapes = dependencies.shapes
        self._parameters = dependencies.parameters

    async def compiled(self, policy: Policy) -> compilation.CompiledPolicy:
        """The expressions of a policy, compiled on first use."""
        if policy.compiled is None:
            release = self.builder.resources.release
            policy.compiled = await budget.run(0, compilation.compile_policy, policy.spec, release)
        compiled: compilation.CompiledPolicy = policy.compiled
        return compiled

    async def applicable(self, attributes: Attributes) -> AsyncIterator[Invocation | Failure]:
        """What applies to a write, in the order of the names of policies, then of bindings."""
        for match in self.policies.matches(attributes):
            policy, resource = match.policy, None
            try:
                resource = match.match.resource_for(attributes, self.builder.find)
                if resource is None:
                    continue
                params = self._param_resource(policy)
            except (ConfigurationError, StatusError) as error:
                yield Failure(policy, None, f"failed to configure policy: {error}")
                continue
            async for applicable in self._bound(attributes, match, resource, params):
                yield applicable

    def _param_resource(self, policy: Policy) -> Resource | None:
        kind = policy.spec.get("paramKind")
        return None if kind is None else self._parameters.resource(kind)

    async def _bound(
        self,
        attributes: Attributes,
        match: PolicyMatch,
        resource: Resource,
        params: Resource | None,
    ) -> AsyncIterator[Invocation | Failure]:
        namespace = namespace_of(attributes)
        for bound in match.bindings:
            binding = bound.binding
            try:
                if not self._matches(bound, attributes):
                    continue
                ref = binding.spec.get("paramRef")
                collected = await self._parameters.collect(params, ref, namespace)
            except (ConfigurationError, StatusError) as error:
                text = f"failed to configure binding: {error}"
                yield Failure(match.policy, binding, text)
                continue
            for one in collected:
                yield Invocation(match.policy, binding, resource, one)

    def _matches(self, bound: BoundMatch, attributes: Attributes) -> bool:
        if bound.match is None:
            return True
        return bound.match.resource_for(attributes, self.builder.find) is not None


class InputCache:
    """The inputs of expressions for one write, once for each version; `forget` after the object
    changed."""

    def __init__(self, plugin: PolicyPlugin, attributes: Attributes, *, is_final: bool) -> None:
        self.documents = Documents(plugin.shapes, attributes, is_final=is_final)
        self.decisions = plugin.builder.decisions(attributes)
        self._builder = plugin.builder
        self._attributes = attributes
        self._inputs: dict[str, tuple[evaluation.Inputs, int]] = {}

    async def get(self, resource: Resource) -> tuple[evaluation.Inputs, int]:
        """The inputs without parameters, and the size of the objects. Raises NotFound if the
        namespace is missing."""
        inputs = self._inputs.get(resource.key)
        if inputs is None:
            values, size = await self._builder.inputs(
                self._attributes, self.documents, resource, self.decisions
            )
            namespace = self._builder.namespace(self._attributes)
            inputs = values._replace(namespace=namespace), size
            self._inputs[resource.key] = inputs
        return inputs

    def forget(self) -> None:
        self._inputs.clear()
