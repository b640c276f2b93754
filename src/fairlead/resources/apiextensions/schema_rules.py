"""Checks the validation rules in a definition: each must compile and have a low cost estimate."""

from __future__ import annotations

from typing import Any

from fairlead.codec.cel.environment import Environment
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.custom.schema.markers import Markers, Schema
from fairlead.resources.custom.schema.rule_types import Declared, cardinality, declared
from fairlead.resources.custom.schema.rules import RuleError, compiled_message, compiled_rule

MAX_RULE_COST = 10_000_000  # estimated cost of all its evaluations on one object
MAX_SCHEMA_COST = 100_000_000
_MAX_NAMED_RULES = 4  # of the most expensive rules
_MAX_COST = 2**64 - 1
_COST_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays,"
    " maps, and strings are declared)"
)
_UNTYPED = (
    "internal error: failed to construct type information for {} rules: unable to convert"
    " structural schema to CEL declarations"
)
_CONTRIBUTED = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)


class RuleChecks:
    """Collects the errors of the rules in one schema, and their estimated cost."""

    def __init__(self, markers: Markers, environment: Environment, pending: Causes) -> None:
        self._markers = markers
        self._environment = environment
        self._pending = pending
        self._costs: list[tuple[int, str]] = []

    def check(
        self, schema: Schema, path: str, is_object: bool, times: int | None, uncorrelatable: str
    ) -> None:
        """Check the rules of one schema, at the path of their list. `times` is the maximal number
        of its values in an object, None if unbounded; `uncorrelatable` is the path of the list or
        map whose values cannot be matched with old values."""
        of = declared(schema, self._markers, is_object)
        if of is None:
            self._pending.internal(path, _UNTYPED.format(self._markers.validations))
            return
        maximum = cardinality(of.minimum) if times is None else times
        for index, rule in enumerate(schema[self._markers.validations]):
            self._check_one(rule, f"{path}[{index}]", of, maximum, uncorrelatable)

    def _check_one(
        self, rule: Schema, path: str, of: Declared, maximum: int, uncorrelatable: str
    ) -> None:
        field_path = f"{path}.rule"
        try:
            program = compiled_rule(rule["rule"], of, self._environment, rule)
        except RuleError as error:
            self._pending.invalid(field_path, _format_rule(rule), str(error))
            self._check_optional(rule, path, uses_old=False)
            return
        cost = min(program.estimate()[1] * maximum, _MAX_COST)
        self._add_cost(cost, field_path, "estimated rule cost")
        if self._environment.is_revised and rule.get("messageExpression"):
            self._check_message(rule, f"{path}.messageExpression", of)
        uses_old = program.uses("oldSelf")
        if uncorrelatable and uses_old:
            detail = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            self._pending.invalid(field_path, rule["rule"], f"{detail} {uncorrelatable}")
        self._check_optional(rule, path, uses_old)

    def _check_optional(self, rule: Schema, path: str, uses_old: bool) -> None:
        if rule.get("optionalOldSelf") is not None and not uses_old:
            detail = "may not be set if oldSelf is not used in rule"
            self._pending.invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)

    def _check_message(self, rule: Schema, path: str, of: Declared) -> None:
        try:
            program = compiled_message(of, self._environment, rule)
        except RuleError as error:
            self._pending.invalid(path, _format_rule(rule), str(error))
            return
        self._add_cost(program.estimate()[1], path, "estimated messageExpression cost")

    def _add_cost(self, cost: int, path: str, subject: str) -> None:
        self._costs.append((cost, path))
        if cost > MAX_RULE_COST:
            self._pending.forbidden(path, _too_expensive(subject, cost, MAX_RULE_COST))

    def report(self, path: str, causes: Causes) -> None:
        """Add all errors to `causes`; `path` is that of the whole schema."""
        for cause in self._pending:
            causes.append(cause)
        self._report_total(path, causes)

    def _report_total(self, path: str, causes: Causes) -> None:
        total = min(sum(cost for cost, _ in self._costs), _MAX_COST)
        if total <= MAX_SCHEMA_COST:
            return
        expensive = [cost for cost in self._costs if cost[0] >= MAX_SCHEMA_COST // 100]
        for _, rule_path in sorted(expensive, key=lambda cost: -cost[0])[:_MAX_NAMED_RULES]:
            causes.forbidden(rule_path, _CONTRIBUTED)
        subject = (
            f"{self._markers.validations} estimated rule cost total for entire OpenAPIv3 schema"
        )
        causes.forbidden(path, _too_expensive(subject, total, MAX_SCHEMA_COST))


def _too_expensive(subject: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{subject} exceeds budget by factor of {shown} {_COST_ADVICE}"


def _format_rule(rule: dict[str, Any]) -> GoValue:
    text, message = quote(rule["rule"]), quote(rule.get("message") or "")
    fields = {
        "Rule": rule["rule"],
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return GoValue(f"apiextensions.ValidationRule{{Rule:{text}, Message:{message}}}", fields)
