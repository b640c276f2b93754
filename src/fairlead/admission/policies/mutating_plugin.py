"""MutatingAdmissionPolicy: changes written objects by apply configurations or JSON patches that
expressions construct.

If a policy changes the object, the chain runs all mutating steps a second time. The second round
evaluates the policies with `reinvocationPolicy: IfNeeded` that came before the change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import orjson

from fairlead.admission.metrics import count_conditions, count_mutation
from fairlead.admission.plugin import CONNECT, DELETE, Attributes
from fairlead.admission.plugins.base import mutation_error
from fairlead.admission.policies import compilation, evaluation
from fairlead.admission.policies.dispatch import (
    Failure,
    InputCache,
    Invocation,
    PolicyPlugin,
)
from fairlead.admission.webhooks.documents import DocumentError, Patch
from fairlead.base import meter
from fairlead.base.errors import StatusError
from fairlead.codec.cel import patches
from fairlead.codec.types.model import Object, Struct
from fairlead.fields import json_patch
from fairlead.fields.check import explanation, problems
from fairlead.fields.errors import (
    FailedTest,
    MalformedPatch,
    OperationFailed,
    TooManyOperations,
)
from fairlead.fields.shapes import Items, Listing, Shape, Single, field_shape, shape_of
from fairlead.fields.typed_values import merge
from fairlead.resources.registry import Resource

Key = tuple[str, str, str, str]  # policy, binding, namespace and name of the parameter


class MutationFailed(Exception):
    """A mutation that cannot be computed or applied; the text says why."""


@dataclass(slots=True)
class _Rounds:
    """State for the second round: the policies evaluated since the last change that may be
    evaluated again, those to be evaluated again, and the object after the first round as JSON."""

    willing: set[Key] = field(default_factory=set)
    again: set[Key] = field(default_factory=set)
    output: bytes = b""

    def object_changed(self) -> None:
        self.again |= self.willing
        self.willing.clear()


class MutatingAdmissionPolicy(PolicyPlugin):
    name = "MutatingAdmissionPolicy"

    async def admit(self, attributes: Attributes) -> None:
        if attributes.operation == DELETE or not self.policies.candidates(attributes):
            return
        failures: list[Failure] = []
        invocations: list[Invocation] = []
        async for applicable in self.applicable(attributes):
            if isinstance(applicable, Failure):
                failures.append(applicable)
            else:
                invocations.append(applicable)
        if invocations:
            failures += await self._mutate(attributes, invocations)
        failures = [failure for failure in failures if not failure.policy.ignores_failure]
        if failures:
            raise _denied(attributes, failures)

    async def _mutate(self, attributes: Attributes, invocations: list[Invocation]) -> list[Failure]:
        rounds = attributes.state_of(self.name, _Rounds)
        if attributes.round and rounds.output != _sorted_json(attributes.value):
            rounds.object_changed()
        cache = InputCache(self, attributes, is_final=False)
        failures: list[Failure] = []
        is_patched = False
        for invocation in invocations:
            key = _key(invocation)
            try:
                if not await self._is_needed(invocation, cache, attributes.operation):
                    continue
            except evaluation.MatchFailed as error:
                failures.append(_failure(invocation, str(error)))
                continue
            if attributes.round and key not in rounds.again:
                continue
            before = _sorted_json(attributes.value)
            compiled = await self.compiled(invocation.policy)
            for mutation in compiled.mutations:
                if attributes.value is None:
                    break
                failed = await self._apply_counted(mutation, invocation, cache, attributes)
                if failed is None:
                    is_patched = True
                else:
                    failures.append(_failure(invocation, failed))
            if _sorted_json(attributes.value) != before:
                rounds.object_changed()
            if invocation.policy.spec.get("reinvocationPolicy") == "IfNeeded":
                rounds.willing.add(key)
        if is_patched:
            rounds.object_changed()
            attributes.wants_round = True
        rounds.output = _sorted_json(attributes.value)
        return failures

    async def _is_needed(self, invocation: Invocation, cache: InputCache, operation: str) -> bool:
        """Whether the match conditions hold; raises MatchFailed."""
        compiled = await self.compiled(invocation.policy)
        if not compiled.conditions:
            return True
        inputs, size = await cache.get(invocation.resource)
        conditions = await cache.decisions.run(
            size,
            evaluation.evaluate_conditions,
            compiled.conditions,
            inputs._replace(params=invocation.params, namespace=None),
            compiled.variables,
        )
        policy = invocation.policy
        count_conditions(conditions, policy.name, "policy", "validate", operation)
        return conditions.hold(ignores_failure=policy.ignores_failure)

    async def _apply_counted(
        self,
        mutation: compilation.Mutation,
        invocation: Invocation,
        cache: InputCache,
        attributes: Attributes,
    ) -> str | None:
        """Apply a mutation; returns the error of one that failed."""
        started = perf_counter()
        failed: str | None = None
        try:
            await self._apply(mutation, invocation, cache, attributes)
        except MutationFailed as error:
            failed = str(error)
        names = invocation.policy.name, invocation.binding.name
        count_mutation(*names, failed, perf_counter() - started)
        return failed

    async def _apply(
        self,
        mutation: compilation.Mutation,
        invocation: Invocation,
        cache: InputCache,
        attributes: Attributes,
    ) -> None:
        resource = invocation.resource
        inputs, size = await cache.get(resource)
        computed = await cache.decisions.run(
            size,
            _computed_patch,
            mutation,
            inputs._replace(params=invocation.params),
            await self.compiled(invocation.policy),
        )
        if mutation.is_json_patch:
            struct = None if attributes.operation == CONNECT else resource.struct
            patch = _json_patch(computed, struct)
        else:
            if attributes.operation == CONNECT:
                raise MutationFailed(
                    "error applying patch: failed to convert patch object to typed object: no"
                    f" corresponding type for {resource.kind}"
                )
            patch = _merge_patch(computed, resource)
        try:
            await cache.documents.patch(patch, resource, size)
        except FailedTest:
            return  # a `test` operation failed, so the patch changes nothing
        except OperationFailed as error:
            raise MutationFailed(f"JSON Patch: {error}") from None
        except DocumentError as error:
            raise MutationFailed(str(error)) from None
        cache.forget()


def _key(invocation: Invocation) -> Key:
    metadata = (invocation.params or {}).get("metadata") or {}
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    return invocation.policy.name, invocation.binding.name, namespace, name


def _failure(invocation: Invocation, message: str) -> Failure:
    return Failure(invocation.policy, invocation.binding, message, "Invalid")


def _sorted_json(value: Object | None) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _denied(attributes: Attributes, failures: list[Failure]) -> StatusError:
    """The error lists all failures; the first one gives its message and reason."""
    messages = [_text(failure) for failure in failures]
    error = mutation_error(attributes, "")
    details = {**(error.details or {}), "causes": [{"message": text} for text in messages]}
    reason = failures[0].reason or error.reason
    return StatusError(error.code, reason, messages[0], details=details)


def _text(failure: Failure) -> str:
    name = failure.policy.name
    if failure.binding is None:
        return f'policy "{name}" denied request: {failure.message}'
    return (
        f"policy '{name}' with binding '{failure.binding.name}' denied request: {failure.message}"
    )


# Patches, which may be computed in a thread


def _computed_patch(
    mutation: compilation.Mutation,
    inputs: evaluation.Inputs,
    policy: compilation.CompiledPolicy,
) -> Any:
    """The configuration or the operations that a mutation constructs; raises MutationFailed."""
    expression = mutation.expression
    if expression.program is None:
        raise MutationFailed(expression.error)
    run = evaluation.Evaluation(inputs, policy.variables, evaluation.MAX_BINDING_COST)
    try:
        outcome = run.outcome(expression)
    except evaluation.OutOfBudget as error:
        raise MutationFailed(str(error)) from None
    if outcome.error:
        raise MutationFailed(outcome.error)
    try:
        if mutation.is_json_patch:
            return [_operation(operation) for operation in outcome.value]
        patches.check_type_names(outcome.value, patches.OBJECT)
        return patches.plain(outcome.value)
    except patches.PatchError as error:
        raise MutationFailed(f"type mismatch: {error}") from None


def _operation(operation: Object) -> Object:
    value = operation.get("value")
    if isinstance(value, patches.Constructed):
        patches.check_type_names(value, value.type_name)
    computed: Object = patches.plain(operation)
    if not computed.get("from"):
        computed.pop("from", None)
    return {"op": "", "path": "", **computed}


def _json_patch(computed: list[Object], struct: Struct | None) -> Patch:
    """`struct` is the type of the object, which must not get other fields."""
    try:
        operations = json_patch.operations(computed)
    except (MalformedPatch, TooManyOperations) as error:
        raise MutationFailed(f"JSON Patch: {error}") from None

    def patched(current: Object) -> Object:
        meter.allocate(len(orjson.dumps(computed)))  # the object may grow by this much
        own: Object = orjson.loads(orjson.dumps(current))
        result = json_patch.apply_json_patch(own, operations, in_place=True)
        if struct is not None:
            _check_known(struct, result)
        return result

    return patched


_TYPE = ("kind", "apiVersion")
_UNDECLARED = ": field not declared in schema"


def _check_known(struct: Struct, document: Object) -> None:
    content = {name: value for name, value in document.items() if name not in _TYPE}
    for problem in problems(struct, content):
        if problem.endswith(_UNDECLARED):
            path = problem.removesuffix(_UNDECLARED).removeprefix(".")
            raise MutationFailed(f'strict decoding error: unknown field "{path}"')


def _merge_patch(computed: Object, resource: Resource) -> Patch:
    struct = resource.struct

    def patched(current: Object) -> Object:
        meter.allocate(len(orjson.dumps(computed)))
        config = {name: value for name, value in computed.items() if name not in _TYPE}
        _check_config(struct, config)
        head = {name: current[name] for name in _TYPE if name in current}
        own: Object = orjson.loads(orjson.dumps(current))
        live = {name: value for name, value in own.items() if name not in _TYPE}
        return {**head, **merge(struct, live, config)}

    return patched


def _check_config(struct: Struct, config: Object) -> None:
    """Raise MutationFailed if the configuration does not match its type or has atomic parts."""
    errors = problems(struct, config)
    if errors:
        raise MutationFailed(
            "error applying patch: failed to convert patch object to typed object:"
            f" {explanation(errors)}"
        )
    atomic = list(_atomic_paths(shape_of(struct), config, ""))
    if atomic:
        raise MutationFailed(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps"
            f" or structs: {', '.join(atomic)}"
        )


def _atomic_paths(shape: Shape, value: Any, path: str) -> list[str]:
    """The paths of atomic lists, maps and structs in a configuration."""
    found: list[str] = []
    if not isinstance(value, (dict, list)):
        return found
    if isinstance(shape, Single):
        if shape.kind is None:
            return found
        found.append(path)
        shape = shape.content
    if isinstance(value, dict):
        for name, item in value.items():
            found += _atomic_paths(field_shape(shape, name), item, f"{path}.{name}")
    elif isinstance(shape, (Items, Listing)):
        for index, item in enumerate(value):
            found += _atomic_paths(shape.item, item, f"{path}[{index}]")
    return found
