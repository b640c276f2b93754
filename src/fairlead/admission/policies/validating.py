"""ValidatingAdmissionPolicy: refuses writes for which an expression of a policy is false, or warns
of them, or records them in the audit log."""

from __future__ import annotations

from typing import NamedTuple

import orjson

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
from fairlead.admission.policies.followed import Binding, Policy
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
    """A validation that does not hold, or that failed. `place` is its position in the policy."""

    place: int
    message: str
    reason: str = "Invalid"


class Result(NamedTuple):
    """The result of one policy with one binding and parameter: denials, audit annotations by key,
    and errors of audit annotations, which refuse the write."""

    denials: list[Denial]
    annotations: list[tuple[str, str]]
    errors: list[str]


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
        if not self.policies.matches(attributes):
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
            for denial in result.denials:
                refusals += self._act(applicable, denial, attributes.context)
            for key, value in result.annotations:
                values = annotations.setdefault(f"{policy.name}/{key}", [])
                if value not in values:
                    values.append(value)
            refusals += [_Refusal(policy, binding, text, "Invalid") for text in result.errors]
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
        """Do with a denial what the binding says; returns refusals."""
        refusals = []
        policy, binding = invocation.policy, invocation.binding
        actions = binding.spec.get("validationActions") or ()
        for action in actions:
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
    try:
        if policy.conditions and not evaluation.conditions_hold(
            policy.conditions, inputs, policy.variables, ignores_failure=ignores_failure
        ):
            return Result([], [], [])
        denials = _denials(policy, inputs, ignores_failure)
        annotations, errors = _annotations(policy, inputs, ignores_failure)
    except (evaluation.MatchFailed, evaluation.OutOfBudget) as error:
        return Result([] if ignores_failure else [Denial(0, str(error))], [], [])
    return Result(denials, annotations, errors)


def _denials(
    policy: compilation.CompiledPolicy, inputs: evaluation.Inputs, ignores_failure: bool
) -> list[Denial]:
    run = evaluation.Evaluation(inputs, policy.variables, evaluation.MAX_BINDING_COST)
    outcomes = [run.outcome(validation.expression) for validation in policy.validations]
    if all(outcome.value is True for outcome in outcomes):
        return []
    messages, failed = _messages(policy, inputs, run.left)
    denials = []
    for index, (validation, outcome) in enumerate(zip(policy.validations, outcomes, strict=True)):
        if outcome.error:
            if not ignores_failure:
                denials.append(Denial(index, outcome.error))
        elif failed:
            if not ignores_failure:
                denials.append(Denial(index, f"failed messageExpression: {failed}"))
        elif outcome.value is not True:
            text = (
                messages[index]
                or validation.message.strip()
                or f"failed expression: {validation.expression.text.strip()}"
            )
            denials.append(Denial(index, text, validation.reason))
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
) -> tuple[list[tuple[str, str]], list[str]]:
    """The audit annotations and the errors of those that failed. They see no authorizer."""
    annotations: list[tuple[str, str]] = []
    errors: list[str] = []
    inputs = inputs._replace(decisions=None)
    run = evaluation.Evaluation(inputs, policy.variables, evaluation.MAX_BINDING_COST)
    for annotation in policy.annotations:
        outcome = run.outcome(annotation.expression)
        value = outcome.value
        if outcome.error:
            if not ignores_failure:
                errors.append(outcome.error)
        elif type(value) is str:
            text = value.strip().encode(errors="replace")[:MAX_ANNOTATION].decode(errors="ignore")
            if text:
                annotations.append((annotation.key, text))
        elif value is not None:
            errors.append(
                f"valueExpression '{annotation.expression.text}' resulted in unsupported return"
                f" type: {type_name(value)}. Return type must be either string or null."
            )
    return annotations, errors
