"""Selects the policies, bindings and parameters that apply to a write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.admission.policies import compilation, evaluation
from fairlead.admission.policies.inputs import InputBuilder
from fairlead.admission.policies.parameters import ConfigurationError, Parameters
from fairlead.admission.policies.policy_index import Binding, Policies, Policy
from fairlead.admission.webhooks.documents import DocumentConverter, Documents
from fairlead.admission.webhooks.match import namespace_of
from fairlead.base import budget
from fairlead.base.errors import StatusError
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource


class Dependencies(NamedTuple):
    """The dependencies of a policy plugin."""

    policies: Policies
    builder: InputBuilder
    parameters: Parameters
    converter: DocumentConverter


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
        self.converter = dependencies.converter
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
        slices = TimeSlices()
        for policy in self.policies.candidates(attributes):
            await slices.pause()
            try:
                resource = self.policies.resource_for(policy, attributes, self.builder.find)
                if resource is None:
                    continue
                params = self._param_resource(policy)
            except (ConfigurationError, StatusError) as error:
                yield Failure(policy, None, f"failed to configure policy: {error}")
                continue
            for binding in self.policies.bindings(policy):
                await slices.pause()
                try:
                    collected = await self._collected(binding, attributes, params)
                except (ConfigurationError, StatusError) as error:
                    yield Failure(policy, binding, f"failed to configure binding: {error}")
                    continue
                for one in collected:
                    await slices.pause()
                    yield Invocation(policy, binding, resource, one)

    def _param_resource(self, policy: Policy) -> Resource | None:
        kind = policy.spec.get("paramKind")
        return None if kind is None else self._parameters.resource(kind)

    async def _collected(
        self, binding: Binding, attributes: Attributes, params: Resource | None
    ) -> Sequence[Object | None]:
        """The parameters of a binding for a write, none if it does not match."""
        if self.policies.resource_for(binding, attributes, self.builder.find) is None:
            return ()
        ref = binding.spec.get("paramRef")
        return await self._parameters.collect(params, ref, namespace_of(attributes))


class InputCache:
    """The inputs of expressions for one write, once for each version; `forget` after the object
    changed."""

    def __init__(self, plugin: PolicyPlugin, attributes: Attributes, *, is_final: bool) -> None:
        self.documents = Documents(plugin.converter, attributes, is_final=is_final)
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
