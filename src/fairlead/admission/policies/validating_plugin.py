"""ValidatingAdmissionPolicy: refuses writes for which an expression of a policy is false, or warns
of them, or records them in the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from fairlead.admission.metrics import count_conditions, count_validation
from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.base import kept_ref
from fairlead.admission.policies import compilation, evaluation
from fairlead.admission.policies.dispatch import (
    Dependencies,
    Failure,
    InputCache,
    Invocation,
    PolicyPlugin,
)
from fairlead.admission.policies.policy_index import Binding, Policy
from fairlead.admission.webhooks.call import annotate
from fairlead.base.dialect import Dialect
from fairlead.base.errors import Cause, StatusError, forbidden
from fairlead.codec.cel.values import type_name
from fairlead.resources.context import Context

_FAILURE = "validation.policy.admission.@/validation_failure"
_CODES = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413, "Unauthorized": 401}
MAX_MESSAGE = 5 * 1024  # bytes of an evaluated message
MAX_ANNOTATION = 10 * 1024  # bytes


class Denial(NamedTuple):
    """A validation that does not hold, or that failed with an `error`. `place` is its position in
    the policy."""

    place: int
    message: str
    reason: str = "Invalid"
    error: str = ""
    seconds: float = 0.0


class Result(NamedTuple):
    """The result of one policy with one binding and parameter: match conditions, denials, audit
    annotations by key, and failed audit annotations, which refuse the write. If failures are
    ignored, they are counted only."""

    conditions: evaluation.Conditions = evaluation.Conditions()
    denials: Sequence[Denial] = ()
    annotations: Sequence[tuple[str, str]] = ()
    failures: Sequence[Denial] = ()
    ignored: Sequence[Denial] = ()


class _Refusal(NamedTuple):
    policy: Policy
    binding: Binding | None
    message: str
    reason: str


class ValidatingAdmissionPolicy(PolicyPlugin):
    name = "ValidatingAdmissionPolicy"

    def __init__(self, dialect: Dialect, dependencies: Dependencies) -> None:
        super().__init__(dependencies)
        self._failure = dialect.group_name(_FAILURE)

    async def validate(self, attributes: Attributes) -> None:
        """Evaluate all policies; the first refusal is the error."""
        if not self.policies.candidates(attributes):
            return
        cache = InputCache(self, attributes, is_final=True)
        refusals: list[_Refusal] = []
        annotations: dict[str, list[str]] = {}
        async for applicable in self.applicable(attributes):
            policy, binding = applicable.policy, applicable.binding
            if isinstance(applicable, Failure):
                if not policy.ignores_failure:
                    refusals.append(_Refusal(policy, binding, applicable.message, "Invalid"))
                continue
            result = await self._evaluated(applicable, cache)
            _count(result, policy, applicable.binding, attributes.operation)
            for denial in result.denials:
                refusals += self._act(applicable, denial, attributes.context)
            for key, value in result.annotations:
                values = annotations.setdefault(f"{policy.name}/{key}", [])
                if value not in values:
                    values.append(value)
            refusals += [
                _Refusal(policy, binding, failure.message, failure.reason)
                for failure in result.failures
            ]
        for key, values in annotations.items():
            annotate(attributes.context, key, ", ".join(values))
        if refusals:
            raise _denied(attributes, refusals[0])

    async def _evaluated(self, invocation: Invocation, cache: InputCache) -> Result:
        policy = invocation.policy
        inputs, size = await cache.get(invocation.resource)
        return await cache.decisions.run(
            size,
            evaluate_policy,
            await self.compiled(policy),
            inputs._replace(params=invocation.params),
            ignores_failure=policy.ignores_failure,
        )

    def _act(self, invocation: Invocation, denial: Denial, context: Context) -> list[_Refusal]:
        """Carry out the actions of the binding for a denial; returns refusals."""
        refusals = []
        policy, binding = invocation.policy, invocation.binding
        actions = binding.spec.get("validationActions") or ()
        for action in actions:
            count_validation(
                policy.name, binding.name, denial.error, action.lower(), denial.seconds
            )
            if action == "Deny":
                refusals.append(_Refusal(policy, binding, denial.message, denial.reason))
            elif action == "Audit":
                failure = {
                    "message": denial.message,
                    "policy": policy.name,
                    "binding": binding.name,
                    "expressionIndex": denial.place,
                    "validationActions": actions,
                }
                annotate(context, self._failure, orjson.dumps([failure]).decode())
            elif action == "Warn":
                context.warn(
                    f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding"
                    f" '{binding.name}': {denial.message}"
                )
        return refusals


def _count(result: Result, policy: Policy, binding: Binding, operation: str) -> None:
    """Count the match conditions and their failures; `_act` counts the denials."""
    count_conditions(result.conditions, policy.name, "policy", "validate", operation)
    for failures, action in ((result.failures, "deny"), (result.ignored, "allow")):
        for failure in failures:
            count_validation(policy.name, binding.name, failure.error, action, failure.seconds)


def _denied(attributes: Attributes, refusal: _Refusal) -> StatusError:
    with_binding = f" with binding '{refusal.binding.name}'" if refusal.binding else ""
    message = (
        f"ValidatingAdmissionPolicy '{refusal.policy.name}'{with_binding} denied request:"
        f" {refusal.message}"
    )
    error = forbidden(kept_ref(attributes), message, [Cause("", message)])
    error.reason, error.code = refusal.reason, _CODES[refusal.reason]
    return error


# The evaluation of one policy, which may run in a thread


def evaluate_policy(
    policy: compilation.CompiledPolicy, inputs: evaluation.Inputs, *, ignores_failure: bool
) -> Result:
    """Evaluate a policy. `ignores_failure`: expressions that fail do not deny."""
    conditions = evaluation.Conditions()
    annotations: list[tuple[str, str]] = []
    failures: list[Denial] = []
    if policy.conditions:
        conditions = evaluation.evaluate_conditions(policy.conditions, inputs, policy.variables)
    try:
        if not conditions.hold(ignores_failure=ignores_failure):
            return Result(conditions)
        denials = _denials(policy, inputs)
        annotations, failures = _annotations(policy, inputs, ignores_failure)
    except (evaluation.MatchFailed, evaluation.OutOfBudget) as error:
        denials = [Denial(0, str(error), error=str(error))]
    ignored = [denial for denial in denials if denial.error] if ignores_failure else []
    denials = [denial for denial in denials if denial not in ignored]
    return Result(conditions, denials, annotations, failures, ignored)


def _denials(policy: compilation.CompiledPolicy, inputs: evaluation.Inputs) -> list[Denial]:
    """The validations that do not hold or failed."""
    run = evaluation.Evaluation(inputs, policy.variables, evaluation.MAX_BINDING_COST)
    outcomes = [run.outcome(validation.expression) for validation in policy.validations]
    if all(outcome.value is True for outcome in outcomes):
        return []
    messages, failed = _messages(policy, inputs, run.left)
    denials = []
    for index, (validation, outcome) in enumerate(zip(policy.validations, outcomes, strict=True)):
        if outcome.error or failed:
            error = outcome.error or f"failed messageExpression: {failed}"
            denials.append(Denial(index, error, error=error, seconds=outcome.seconds))
        elif outcome.value is not True:
            text = (
                messages[index]
                or validation.message.strip()
                or f"failed expression: {validation.expression.text.strip()}"
            )
            denials.append(Denial(index, text, validation.reason, seconds=outcome.seconds))
    return denials


def _messages(
    policy: compilation.CompiledPolicy, inputs: evaluation.Inputs, left: int
) -> tuple[list[str], str]:
    """The evaluated messages of all validations, empty for those without a usable one; and the
    error if they cost too much. They see no authorizer."""
    run = evaluation.Evaluation(inputs._replace(decisions=None), policy.variables, left)
    messages = []
    try:
        for validation in policy.validations:
            expression = validation.message_expression
            value = run.outcome(expression).value if expression is not None else ""
            text = value.strip() if type(value) is str else ""
            usable = "\n" not in text and len(text.encode(errors="replace")) <= MAX_MESSAGE
            messages.append(text if usable else "")
    except evaluation.OutOfBudget as error:
        return [], str(error)
    return messages, ""


def _annotations(
    policy: compilation.CompiledPolicy, inputs: evaluation.Inputs, ignores_failure: bool
) -> tuple[list[tuple[str, str]], list[Denial]]:
    """The audit annotations, and those that failed. They see no authorizer."""
    annotations: list[tuple[str, str]] = []
    failures: list[Denial] = []
    inputs = inputs._replace(decisions=None)
    run = evaluation.Evaluation(inputs, policy.variables, evaluation.MAX_BINDING_COST)
    for place, annotation in enumerate(policy.annotations):
        outcome = run.outcome(annotation.expression)
        value, error = outcome.value, outcome.error
        if error:
            if ignores_failure:
                continue
        elif type(value) is str:
            text = value.strip().encode(errors="replace")[:MAX_ANNOTATION].decode(errors="ignore")
            if text:
                annotations.append((annotation.key, text))
        elif value is not None:
            error = (
                f"valueExpression '{annotation.expression.text}' resulted in unsupported return"
                f" type: {type_name(value)}. Return type must be either string or null."
            )
        if error:
            failures.append(Denial(place, error, error=error, seconds=outcome.seconds))
    return annotations, failures
