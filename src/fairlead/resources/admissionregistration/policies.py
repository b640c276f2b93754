"""The behaviour of ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlead.codec.json_path import JsonPathError, compile_path
from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.resources.admissionregistration.expressions import Declared, Expressions
from fairlead.resources.admissionregistration.match_resources import (
    check_match_conditions,
    check_match_resources,
    check_mutated_operations,
    check_param_kind,
    check_param_ref,
    warn_of_static_name,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.rules import check_conditions, one_of_if_given
from fairlead.resources.storage.shared import OrderedBehaviour, Step, keep_metadata

FAILURE_POLICIES = ("Fail", "Ignore")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
REINVOCATION = ("IfNeeded", "Never")
MAX_AUDIT_ANNOTATIONS = 20
MAX_VALUE_EXPRESSION = 5 * 1024  # bytes
_NO_RULES = "validations or auditAnnotations must contain at least one item"
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the"
    " API response and headers serves no purpose)"
)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)


class _PolicyBehaviour(OrderedBehaviour):
    """What both kinds of policies share. On update, match conditions are checked only if they or
    the kind of the parameters changed."""

    qualified_finalizers = False
    update_order = (Step.METADATA, Step.RULES)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_spec(value, causes, context, checks_conditions=True)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        new, before = value["spec"], old["spec"]
        changed = any(
            new.get(name) != before.get(name) for name in ("paramKind", "matchConditions")
        )
        self._check_spec(value, causes, context, checks_conditions=changed)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        warn_of_static_name(value, context)

    def _check_spec(
        self, value: Object, causes: Causes, context: Context, *, checks_conditions: bool
    ) -> None:
        raise NotImplementedError


def _check_common(
    spec: Object,
    expressions: Expressions,
    causes: Causes,
    *,
    checks_conditions: bool,
    mutates: bool = False,
) -> None:
    """Check the fields that both kinds have, in the order in which both check them."""
    if spec.get("failurePolicy") is None:
        causes.required("spec.failurePolicy")
    one_of_if_given(spec.get("failurePolicy"), FAILURE_POLICIES, "spec.failurePolicy", causes)
    has_params = spec.get("paramKind") is not None
    if has_params:
        check_param_kind(spec["paramKind"], "spec.paramKind", causes)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        causes.required("spec.matchConstraints")
    else:
        check_match_resources(constraints, "spec.matchConstraints", causes)
        if not constraints.get("resourceRules"):
            causes.required("spec.matchConstraints.resourceRules")
        if mutates:
            check_mutated_operations(constraints, "spec.matchConstraints", causes)
    if checks_conditions:
        conditions = spec.get("matchConditions") or ()
        path = "spec.matchConditions"
        check_match_conditions(conditions, path, causes, expressions.release, params=has_params)
    for index, variable in enumerate(spec.get("variables") or ()):
        _check_variable(variable, expressions, has_params, f"spec.variables[{index}]", causes)


def _check_variable(
    variable: Object, expressions: Expressions, params: bool, path: str, causes: Causes
) -> None:
    name, expression = variable["name"], variable["expression"]
    if not name.strip():
        causes.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        causes.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        causes.required(f"{path}.expression", "expression is not specified")
        return
    declared = Declared(params=params)
    type_ = expressions.check(expression, (), declared, f"{path}.expression", causes)
    expressions.declare(name, type_)


class ValidatingAdmissionPolicyBehaviour(_PolicyBehaviour):
    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep_metadata(value, old)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        status = value.get("status") or {}
        warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
        for index, warning in enumerate(warnings):
            path = f"status.typeChecking.expressionWarnings[{index}]"
            if not warning["warning"]:
                causes.required(f"{path}.warning")
            _check_field_ref(warning["fieldRef"].strip(), f"{path}.fieldRef", causes)
        check_conditions(status.get("conditions"), "status.conditions", causes)

    def _check_spec(
        self, value: Object, causes: Causes, context: Context, *, checks_conditions: bool
    ) -> None:
        spec = value["spec"]
        has_variables = bool(spec.get("variables"))
        expressions = Expressions(context.gates.release, has_variables=has_variables)
        _check_common(spec, expressions, causes, checks_conditions=checks_conditions)
        validations = spec.get("validations") or ()
        annotations = spec.get("auditAnnotations") or ()
        if not validations and not annotations:
            causes.required("spec.validations", _NO_RULES)
            causes.required("spec.auditAnnotations", _NO_RULES)
        params = spec.get("paramKind") is not None
        for index, validation in enumerate(validations):
            path = f"spec.validations[{index}]"
            _check_validation(validation, expressions, params, path, causes)
        name = value["metadata"].get("name", "")
        _check_audit_annotations(name, annotations, expressions, params, causes)


def _check_field_ref(ref: str, path: str, causes: Causes) -> None:
    if not ref:
        causes.required(path)
        return
    try:
        compile_path(ref if ref[0] in ".[" else f".{ref}", 0)
    except JsonPathError as error:
        causes.invalid(path, ref, f"invalid JSONPath: {error}")


def _check_validation(
    validation: Object, expressions: Expressions, params: bool, path: str, causes: Causes
) -> None:
    expression = validation["expression"]
    if not expression.strip():
        causes.required(f"{path}.expression", "expression is not specified")
    else:
        declared = Declared(params=params)
        expressions.check(expression, ("bool",), declared, f"{path}.expression", causes)
    given = validation.get("messageExpression", "")
    if given and not given.strip():
        causes.invalid(f"{path}.messageExpression", given, "must be non-empty if specified")
    elif given:
        declared = Declared(params=params, authorizer=False)
        expressions.check(given, ("string",), declared, f"{path}.messageExpression", causes)
    message = validation.get("message", "")
    if message and not message.strip():
        causes.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        causes.invalid(f"{path}.message", message, "must not contain line breaks")
    one_of_if_given(validation.get("reason"), REASONS, f"{path}.reason", causes)


def _check_audit_annotations(
    name: str,
    annotations: Sequence[Object],
    expressions: Expressions,
    params: bool,
    causes: Causes,
) -> None:
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        detail = f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations"
        causes.invalid("spec.auditAnnotations", list(annotations), detail)
    seen: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation["key"]
        if name:
            full = f"{name}/{key}"
            causes.invalid_each(f"{path}.key", full, qualified_name(full))
        else:
            causes.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        _check_value_expression(annotation, expressions, params, path, causes)
        if key in seen:
            causes.duplicate(f"{path}.key", key)
        seen.add(key)


def _check_value_expression(
    annotation: Object, expressions: Expressions, params: bool, path: str, causes: Causes
) -> None:
    written: str = annotation["valueExpression"]
    expression, field_path = written.strip(), f"{path}.valueExpression"
    if not expression:
        causes.required(field_path, "valueExpression is not specified")
    elif len(expression.encode()) > MAX_VALUE_EXPRESSION:
        causes.required(field_path, f"must not exceed {MAX_VALUE_EXPRESSION} bytes in length")
    else:
        results = ("string", "null_type")
        expressions.check(
            expression, results, Declared(params=params), field_path, causes, shown=written
        )


class MutatingAdmissionPolicyBehaviour(_PolicyBehaviour):
    def _check_spec(
        self, value: Object, causes: Causes, context: Context, *, checks_conditions: bool
    ) -> None:
        spec = value["spec"]
        expressions = Expressions(context.gates.release, has_variables=True)
        _check_common(spec, expressions, causes, checks_conditions=checks_conditions, mutates=True)
        mutations = spec.get("mutations") or ()
        if not mutations:
            causes.required("spec.mutations", "mutations must contain at least one item")
        params = spec.get("paramKind") is not None
        for index, mutation in enumerate(mutations):
            path = f"spec.mutations[{index}]"
            _check_mutation(mutation, expressions, params, path, causes)
        policy = spec.get("reinvocationPolicy", "")
        if not policy:
            causes.required("spec.reinvocationPolicy")
        elif policy not in REINVOCATION:
            causes.unsupported("spec.reinvocationPolicy", policy, REINVOCATION)


# The field of each patch type, and the type of its expression.
_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "Object"),
    "JSONPatch": ("jsonPatch", "list(JSONPatch)"),
}


def _check_mutation(
    mutation: Object, expressions: Expressions, params: bool, path: str, causes: Causes
) -> None:
    patch_type = mutation["patchType"]
    if not patch_type:
        causes.required(f"{path}.patchType")
        return
    if patch_type not in _PATCHES:
        causes.unsupported(f"{path}.patchType", patch_type, PATCH_TYPES)
        return
    for candidate, (field, result) in sorted(
        _PATCHES.items(), key=lambda entry: entry[0] != patch_type
    ):
        patch, field_path = mutation.get(field), f"{path}.{field}"
        if candidate != patch_type:
            if patch is not None:
                detail = f"must not be specified when patchType is {patch_type}"
                causes.invalid(field_path, f"{{{field}}}", detail)
        elif patch is None:
            causes.required(field_path, f"must be specified when patchType is {patch_type}")
        else:
            expression = patch.get("expression", "").strip()
            declared = Declared(params=params, patches=True)
            if not expression:
                causes.required(f"{field_path}.expression")
            else:
                expressions.check(
                    expression, (result,), declared, f"{field_path}.expression", causes
                )


class _BindingBehaviour(OrderedBehaviour):
    qualified_finalizers = False
    update_order = (Step.METADATA, Step.RULES)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        name = spec.get("policyName", "")
        if not name:
            causes.required("spec.policyName")
        else:
            causes.invalid_each("spec.policyName", name, dns_subdomain(name))
        if spec.get("paramRef") is not None:
            check_param_ref(spec["paramRef"], "spec.paramRef", causes)
        if spec.get("matchResources") is not None:
            check_match_resources(spec["matchResources"], "spec.matchResources", causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        warn_of_static_name(value, context)


class ValidatingAdmissionPolicyBindingBehaviour(_BindingBehaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        super().check(value, causes, context)
        path = "spec.validationActions"
        actions: list[str] = value["spec"].get("validationActions") or []
        for index, action in enumerate(actions):
            if action not in ACTIONS:
                causes.unsupported(f"{path}[{index}]", action, ACTIONS)
            if action in actions[:index]:
                causes.duplicate(f"{path}[{index}]", action)
        if "Deny" in actions and "Warn" in actions:
            causes.invalid(path, actions, _DENY_AND_WARN)
        if not actions:
            causes.required(path, "at least one validation action is required")


class MutatingAdmissionPolicyBindingBehaviour(_BindingBehaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        super().check(value, causes, context)
        match = value["spec"].get("matchResources")
        if match is not None:
            check_mutated_operations(match, "spec.matchResources", causes)
