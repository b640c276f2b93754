"""Validation rules: CEL expressions that must hold for a value or for its change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from fairlead.base import meter
from fairlead.base.metrics import REGISTRY
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.errors import (
    CompileError,
    ConstantProblem,
    CostExceeded,
    EvaluationError,
    ResultProblem,
)
from fairlead.codec.cel.types import BOOL, STRING, OptionalType, Type
from fairlead.codec.types.mismatch import quoted, shown
from fairlead.resources.custom.schema.correlation import Correlated
from fairlead.resources.custom.schema.field_paths import FieldPathError, field_path
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import (
    DUPLICATE,
    INVALID,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE,
    UNSUPPORTED,
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

MAX_MESSAGE_BYTES = 5 * 1024  # of the result of a message expression
MESSAGE_OUT_OF_BUDGET = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation"
    " rules will be run"
)

_DURATIONS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_COMPILING = REGISTRY.histogram(
    "apiserver_cel_compilation_duration_seconds",
    "Duration of compiling the validation rules of a schema.",
    _DURATIONS,
)
_EVALUATING = REGISTRY.histogram(
    "apiserver_cel_evaluation_duration_seconds",
    "Duration of evaluating the validation rules of a schema on an object.",
    _DURATIONS,
)
# Causes after which the rules are not evaluated; later releases add an unsupported value.
_BLOCKING = (REQUIRED, TOO_LONG, TOO_MANY, TYPE)
_REASONS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


# Takes the object, the one that it replaces, the causes, the correlation of both, and a function
# that warns.
RuleCheck = Callable[..., None]


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
    is_optional: bool = False  # oldSelf is an optional, and the rule also holds without it
    message_text: str = ""
    message_program: Program | None = None
    reason: str = INVALID
    field_path: str = ""  # relative to the value

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


def compiled_rule(text: str, of: Declared, environment: Environment, rule: Schema) -> Program:
    """Compile a rule on values of a type; raises RuleError."""
    return _compiled(text, _variables(of, environment, rule), BOOL, environment)


def compiled_message(of: Declared, environment: Environment, rule: Schema) -> Program:
    """Compile the message expression of a rule; raises RuleError."""
    try:
        text = rule["messageExpression"]
        return _compiled(text, _variables(of, environment, rule), STRING, environment)
    except RuleError as error:
        message = str(error).removeprefix("cel expression ").removeprefix("program ")
        raise RuleError(f"messageExpression {message}") from None


def _variables(of: Declared, environment: Environment, rule: Schema) -> dict[str, Type]:
    if not environment.is_revised:
        # The reference also declares `rule`, which has no value in any evaluation.
        return dict.fromkeys(("self", "oldSelf", "rule"), of.type)
    old = OptionalType(of.type) if rule.get("optionalOldSelf") else of.type
    return {"self": of.type, "oldSelf": old}


def _compiled(
    text: str, variables: dict[str, Type], result: Type, environment: Environment
) -> Program:
    meter.spend(_STEPS_PER_CHARACTER * len(text))
    try:
        return compile_expression(text, variables, result, environment)
    except (CompileError, ConstantProblem, ResultProblem) as error:
        raise RuleError(str(error)) from None


def rules_of(
    schema: Schema, markers: Markers, environment: Environment, is_object: bool = True
) -> Node | None:
    """The rules in a schema; None if it has none."""
    node = Node(schema.get("type") or "", _own_rules(schema, markers, environment, is_object))
    for name, inner in (schema.get("properties") or {}).items():
        inner_rules = rules_of(inner, markers, environment, bool(inner.get(markers.embedded)))
        if inner_rules is not None:
            node.properties[name] = inner_rules
    values, items = values_schema(schema), items_schema(schema)
    if values is not None:
        embedded = bool(values.get(markers.embedded))
        node.values = rules_of(values, markers, environment, embedded)
    if items is not None:
        node.items = rules_of(items, markers, environment, bool(items.get(markers.embedded)))
        if schema.get(markers.list_type) == "map":
            node.keys = tuple(schema.get(markers.list_keys) or ())
    return node if node.is_needed else None


def _own_rules(
    schema: Schema, markers: Markers, environment: Environment, is_object: bool
) -> list[Rule]:
    validations = schema.get(markers.validations) or ()
    of = declared(schema, markers, is_object) if validations else None
    rules: list[Rule] = []
    for rule in validations:
        if (rule.get("rule") or "").strip() and of is not None:
            rules.append(_rule(rule, schema, of, environment))
    return rules


def _rule(rule: Schema, schema: Schema, of: Declared, environment: Environment) -> Rule:
    text, message = rule["rule"].strip(), rule.get("message") or ""
    try:
        program = compiled_rule(rule["rule"], of, environment, rule)
    except RuleError as error:
        return Rule(text, message, None, str(error))
    compiled = Rule(text, message, program, is_transition=program.uses("oldSelf"))
    if environment.is_revised:
        compiled.is_optional = bool(rule.get("optionalOldSelf"))
        compiled.reason = rule.get("reason") or INVALID
        if rule.get("messageExpression"):
            compiled.message_text = rule["messageExpression"]
            with suppress(RuleError):
                compiled.message_program = compiled_message(of, environment, rule)
        if rule.get("fieldPath"):
            with suppress(FieldPathError):
                compiled.field_path = field_path(rule["fieldPath"], schema).text
    return compiled


def rule_checker(schema: Schema, markers: Markers, environment: Environment) -> RuleCheck | None:
    """A function that evaluates the rules in a schema on an object and the object it replaces."""
    started = perf_counter()
    node = rules_of(schema, markers, environment)
    if node is not None:
        _COMPILING.observe(perf_counter() - started)
    return partial(_check, node, environment.is_revised) if node is not None else None


def _check(
    node: Node,
    is_later: bool,
    value: Any,
    old: Any,
    causes: Causes,
    correlated: Correlated | None = None,
    warn: Callable[[str], None] | None = None,
) -> None:
    """Evaluate all rules on an object, unless blocking causes were found before."""
    blocking = (*_BLOCKING, UNSUPPORTED) if is_later else _BLOCKING
    if any(cause.reason in blocking for cause in causes):
        null = "null" if is_later else '"null"'
        causes.add(INVALID, "<nil>", f"Invalid value: {null}: {NOT_CHECKED}")
        return
    run, started = _Run(causes, is_later, warn), perf_counter()
    run.visit(node, value, old, "", _Place(correlated, None))
    _EVALUATING.observe(perf_counter() - started)


def check_default(
    schema: Schema,
    markers: Markers,
    environment: Environment,
    default: Any,
    path: str,
    causes: Causes,
) -> None:
    """Evaluate the rules on a default, with the default as the old value too."""
    node = rules_of(schema, markers, environment, bool(schema.get(markers.embedded)))
    if node is not None:
        run = _Run(causes, environment.is_revised)
        run.visit(node, default, default, path, _Place(None, None))


class _Place(NamedTuple):
    """The value and its old value, None if they cannot be matched, and the nearest parent with a
    matching old value."""

    correlated: Correlated | None
    parent: Correlated | None

    def key(self, name: str) -> _Place:
        if self.correlated is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _Place(None, None)
        return _Place(self.correlated.key(name), self.correlated)

    def item(self, index: int) -> _Place:
        if self.correlated is None:
            return self
        return _Place(self.correlated.item(index), self.correlated)

    def is_unchanged(self) -> bool:
        nearest = self.correlated or self.parent
        return nearest is not None and nearest.is_same()


class _Run:
    """The evaluation of all rules on one object. Stops when the cost budget is used up."""

    def __init__(
        self, causes: Causes, is_later: bool, warn: Callable[[str], None] | None = None
    ) -> None:
        self._causes = causes
        self._is_later = is_later
        self._warn = warn
        self._left = MAX_OBJECT_COST

    def visit(self, node: Node, value: Any, old: Any, path: str, place: _Place) -> None:
        if value is None or self._left < 0:
            return
        meter.spend()
        if node.own:
            self._evaluate(node, value, old, path, place)
        if value.__class__ is dict:
            self._visit_object(node, value, old, path, place)
        elif value.__class__ is list and node.items is not None:
            before = _by_keys(old, node.keys)
            for index, item in enumerate(value):
                old_item = before.get(_key(item, node.keys)) if before else None
                item_path = f"{path}[{index}]"
                self.visit(node.items, item, old_item, item_path, place.item(index))

    def _visit_object(
        self, node: Node, value: dict[str, Any], old: Any, path: str, place: _Place
    ) -> None:
        before = old if old.__class__ is dict else {}
        if node.values is not None:
            for key, item in value.items():
                item_path = f"{path}[{key}]"
                self.visit(node.values, item, before.get(key), item_path, place.key(key))
        for key in node.properties.keys() & value.keys():
            item_path = f"{path}.{key}" if path else key
            inner = node.properties[key]
            self.visit(inner, value[key], before.get(key), item_path, place.key(key))

    def _evaluate(self, node: Node, value: Any, old: Any, path: str, place: _Place) -> None:
        for rule in node.own:
            if rule.program is None:
                self._add_cause(node, path, f"rule compile error: {rule.problem}")
            elif old is not None or not rule.is_transition or rule.is_optional:
                if self._left <= 0:
                    self._stop(node, path, OUT_OF_BUDGET)
                    return
                holds = self._evaluate_one(node, rule, rule.program, value, old, path)
                if self._left < 0:
                    return
                if not holds:
                    self._report(node, rule, value, old, path, place)
                    if self._left < 0:
                        return

    def _evaluate_one(
        self, node: Node, rule: Rule, program: Program, value: Any, old: Any, path: str
    ) -> bool:
        """Whether a rule holds or could not be evaluated, which is reported here."""
        failed = ""
        result: Any = None
        try:
            result, cost = self._run(program, {"self": value, "oldSelf": old})
        except CostExceeded as error:
            reason = (
                "no further validation rules will be run due to call cost exceeds limit for rule"
            )
            self._stop(node, path, f"'{error}': {reason}: {rule.named}")
            return False
        except EvaluationError as error:
            cost, failed = error.cost, _failure(str(error), rule)
        meter.spend(1 + cost)
        if cost > self._left:
            self._stop(node, path, OUT_OF_BUDGET)
            return False
        self._left -= cost
        if failed:
            self._add_cause(node, path, failed)
            return True
        return result is True

    def _run(self, program: Program, values: dict[str, Any]) -> tuple[Any, int]:
        limit = _MAX_ON_LOOP if meter.is_on_loop() else MAX_RULE_COST
        try:
            return program.evaluate(values, limit)
        except CostExceeded:
            if limit != MAX_RULE_COST:
                raise meter.LoopBudgetExceeded from None
            raise

    def _report(
        self, node: Node, rule: Rule, value: Any, old: Any, path: str, place: _Place
    ) -> None:
        """Report a rule that does not hold; as a warning if the value was invalid before and is
        unchanged."""
        if not self._is_later:
            self._add_cause(node, path, rule.message or f"failed rule: {rule.text}")
            return
        field = path
        if rule.field_path:
            field = f"{path}.{rule.field_path}" if path else rule.field_path
        reason, detail = rule.reason, ""
        if rule.message_program is not None:
            try:
                detail = self._message(rule, rule.message_program, node, value, old)
            except _MessageBudgetExceeded as error:
                self._left = -1
                reason, detail = INVALID, str(error)
        detail = detail or rule.message.strip() or f"failed rule: {rule.text}"
        text = _reported(reason, node.kind, value, detail)
        if place.is_unchanged() and not rule.is_transition:
            if self._warn is not None:
                self._warn(f"{field or '<nil>'}: {text}")
        else:
            self._causes.add(reason if reason in _REASONS else INVALID, field or "<nil>", text)

    def _message(self, rule: Rule, program: Program, node: Node, value: Any, old: Any) -> str:
        """The result of a message expression; empty if it cannot be used."""
        values = {"self": value}
        if old is not None or rule.is_optional:
            values["oldSelf"] = old
        result, cost = "", 0
        try:
            result, cost = self._run(program, values)
        except CostExceeded:
            reason = (
                "no further validation rules will be run due to call cost exceeds limit for"
                f" messageExpression: {quoted(rule.message_text)}"
            )
            raise _MessageBudgetExceeded(reason) from None
        except EvaluationError as error:
            cost = error.cost
        meter.spend(1 + cost)
        if cost > self._left:
            raise _MessageBudgetExceeded(MESSAGE_OUT_OF_BUDGET)
        self._left -= cost
        message = str(result).strip()
        if len(message.encode()) > MAX_MESSAGE_BYTES or "\n" in message:
            return ""
        return message

    def _stop(self, node: Node, path: str, detail: str) -> None:
        self._left = -1
        self._add_cause(node, path, detail)

    def _add_cause(self, node: Node, path: str, detail: str) -> None:
        text = f"Invalid value: {quoted(node.kind)}: {detail}"
        self._causes.add(INVALID, path or "<nil>", text)


class _MessageBudgetExceeded(Exception):
    """A message expression that costs too much."""


def _reported(reason: str, kind: str, value: Any, detail: str) -> str:
    """The text of a cause; objects and lists are not shown."""
    given = "" if kind in ("object", "array") else f": {shown(value)}"
    if reason == DUPLICATE:
        return f"Duplicate value{given}"
    if reason in _REASONS:
        return f"{_REASONS[reason]}: {detail}"
    return f"Invalid value{given}: {detail}"


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
