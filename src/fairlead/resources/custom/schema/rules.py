"""Validation rules: CEL expressions that must hold for a value or for its change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fairlead.base import meter
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.errors import (
    CompileError,
    ConstantProblem,
    CostExceeded,
    EvaluationError,
    ResultProblem,
)
from fairlead.codec.cel.types import BOOL
from fairlead.codec.types.mismatch import quoted
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import (
    INVALID,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE,
    Causes,
)
from fairlead.resources.custom.schema.rule_types import Declared, declared
from fairlead.resources.custom.schema.single_values import identity

MAX_RULE_COST = 1_000_000  # cost of one evaluation
_STEPS_PER_CHARACTER = 50  # budget of compiling a rule
_MAX_ON_LOOP = 10_000  # cost of one evaluation on the event loop
MAX_OBJECT_COST = 10_000_000  # cost of all rules on one object
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing"
    " errors to complete validation"
)
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)

# The reference also declares `rule`, which has no value in any evaluation.
_VARIABLES = ("self", "oldSelf", "rule")

# Causes after which the rules are not evaluated.
_BLOCKING = (REQUIRED, TOO_LONG, TOO_MANY, TYPE)


class RuleError(ValueError):
    """A rule that cannot be compiled; the message says why."""


@dataclass(slots=True)
class Rule:
    """A compiled rule. `program` is None if the rule does not compile; `problem` says why."""

    text: str
    message: str
    program: Program | None
    problem: str = ""
    is_transition: bool = False

    @property
    def named(self) -> str:
        return self.message.strip() or self.text


@dataclass(slots=True)
class Node:
    """The rules on values of one schema and below."""

    kind: str
    own: list[Rule]
    properties: dict[str, Node] = field(default_factory=dict)
    values: Node | None = None
    items: Node | None = None
    keys: tuple[str, ...] = ()  # that identify an item in the old list

    @property
    def is_needed(self) -> bool:
        return bool(self.own or self.properties or self.values or self.items)


def compiled_rule(text: str, of: Declared) -> Program:
    """Compile a rule on values of a type; raises RuleError."""
    meter.spend(_STEPS_PER_CHARACTER * len(text))
    try:
        return compile_expression(text, dict.fromkeys(_VARIABLES, of.type), BOOL)
    except (CompileError, ConstantProblem, ResultProblem) as error:
        raise RuleError(str(error)) from None


def rules_of(schema: Schema, markers: Markers, is_object: bool = True) -> Node | None:
    """The rules in a schema; None if it has none."""
    node = Node(schema.get("type") or "", _own_rules(schema, markers, is_object))
    for name, inner in (schema.get("properties") or {}).items():
        inner_rules = rules_of(inner, markers, bool(inner.get(markers.embedded)))
        if inner_rules is not None:
            node.properties[name] = inner_rules
    values, items = values_schema(schema), items_schema(schema)
    if values is not None:
        node.values = rules_of(values, markers, bool(values.get(markers.embedded)))
    if items is not None:
        node.items = rules_of(items, markers, bool(items.get(markers.embedded)))
        if schema.get(markers.list_type) == "map":
            node.keys = tuple(schema.get(markers.list_keys) or ())
    return node if node.is_needed else None


def _own_rules(schema: Schema, markers: Markers, is_object: bool) -> list[Rule]:
    validations = schema.get(markers.validations) or ()
    of = declared(schema, markers, is_object) if validations else None
    rules: list[Rule] = []
    for rule in validations:
        text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
        if text and of is not None:
            rules.append(_rule(rule["rule"], text, message, of))
    return rules


def _rule(written: str, text: str, message: str, of: Declared) -> Rule:
    try:
        program = compiled_rule(written, of)
    except RuleError as error:
        return Rule(text, message, None, str(error))
    return Rule(text, message, program, is_transition=program.uses("oldSelf"))


def rule_checker(schema: Schema, markers: Markers) -> Callable[[Any, Any, Causes], None] | None:
    """A function that evaluates the rules in a schema on an object and the object it replaces."""
    node = rules_of(schema, markers)
    return partial(_check, node) if node is not None else None


def _check(node: Node, value: Any, old: Any, causes: Causes) -> None:
    """Evaluate all rules on an object, unless blocking causes were found before."""
    if any(cause.reason in _BLOCKING for cause in causes):
        causes.add(INVALID, "<nil>", f'Invalid value: "null": {NOT_CHECKED}')
        return
    run = _Run(causes)
    run.visit(node, value, old, "")


def check_default(
    schema: Schema, markers: Markers, default: Any, path: str, causes: Causes
) -> None:
    """Evaluate the rules on a default, with the default as the old value too."""
    node = rules_of(schema, markers, bool(schema.get(markers.embedded)))
    if node is not None:
        _Run(causes).visit(node, default, default, path)


class _Run:
    """The evaluation of all rules on one object. Stops when the cost budget is used up."""

    def __init__(self, causes: Causes) -> None:
        self._causes = causes
        self._left = MAX_OBJECT_COST

    def visit(self, node: Node, value: Any, old: Any, path: str) -> None:
        if value is None or self._left < 0:
            return
        meter.spend()
        if node.own:
            self._evaluate(node, value, old, path)
        if value.__class__ is dict:
            self._visit_object(node, value, old, path)
        elif value.__class__ is list and node.items is not None:
            before = _by_keys(old, node.keys)
            for index, item in enumerate(value):
                old_item = before.get(_key(item, node.keys)) if before else None
                self.visit(node.items, item, old_item, f"{path}[{index}]")

    def _visit_object(self, node: Node, value: dict[str, Any], old: Any, path: str) -> None:
        before = old if old.__class__ is dict else {}
        if node.values is not None:
            for key, item in value.items():
                self.visit(node.values, item, before.get(key), f"{path}[{key}]")
        for key in node.properties.keys() & value.keys():
            here = f"{path}.{key}" if path else key
            self.visit(node.properties[key], value[key], before.get(key), here)

    def _evaluate(self, node: Node, value: Any, old: Any, path: str) -> None:
        for rule in node.own:
            if rule.program is None:
                self._add_cause(node, path, f"rule compile error: {rule.problem}")
            elif old is not None or not rule.is_transition:
                if self._left <= 0:
                    self._stop(node, path, OUT_OF_BUDGET)
                    return
                self._evaluate_one(node, rule, rule.program, value, old, path)
                if self._left < 0:
                    return

    def _evaluate_one(
        self, node: Node, rule: Rule, program: Program, value: Any, old: Any, path: str
    ) -> None:
        failed = ""
        limit = _MAX_ON_LOOP if meter.is_on_loop() else MAX_RULE_COST
        try:
            result, cost = program.evaluate({"self": value, "oldSelf": old}, limit)
        except CostExceeded as error:
            if limit != MAX_RULE_COST:
                raise meter.LoopBudgetExceeded from None
            reason = (
                "no further validation rules will be run due to call cost exceeds limit for rule"
            )
            self._stop(node, path, f"'{error}': {reason}: {rule.named}")
            return
        except EvaluationError as error:
            result, cost, failed = None, error.cost, _failure(str(error), rule)
        meter.spend(1 + cost)
        if cost > self._left:
            self._stop(node, path, OUT_OF_BUDGET)
            return
        self._left -= cost
        if result is not True:
            self._add_cause(node, path, failed or rule.message or f"failed rule: {rule.text}")

    def _stop(self, node: Node, path: str, detail: str) -> None:
        self._left = -1
        self._add_cause(node, path, detail)

    def _add_cause(self, node: Node, path: str, detail: str) -> None:
        text = f"Invalid value: {quoted(node.kind)}: {detail}"
        self._causes.add(INVALID, path or "<nil>", text)


def _failure(message: str, rule: Rule) -> str:
    """The message of a failed evaluation, in the reference's wording."""
    if message.startswith("no such overload"):
        reason = "call arguments did not match a supported operator, function or macro signature"
        return f"'{message}': {reason} for rule: {rule.named}"
    return f"{message} evaluating rule: {rule.named}"


def _by_keys(old: Any, keys: tuple[str, ...]) -> dict[bytes, Any]:
    if not keys or old.__class__ is not list:
        return {}
    return {key: item for item in old if (key := _key(item, keys))}


def _key(item: Any, keys: tuple[str, ...]) -> bytes:
    """The identity of a list item by its keys; empty if it lacks a key."""
    if item.__class__ is not dict or any(key not in item for key in keys):
        return b""
    return identity([item[key] for key in keys])
