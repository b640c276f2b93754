"""The libraries of later releases: results, costs and estimates, compared with a table from the
reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead.base.release import V1_25, V1_36
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError, CostExceeded, EvaluationError
from fairlead.codec.cel.types import BOOL, INT, STRING, ListType, OptionalType
from fairlead.resources.custom.schema.markers import markers_of
from fairlead.resources.custom.schema.rule_types import declared

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
INTEGERS: Schema = {"type": "array", "items": INTEGER}
ENTRY: Schema = {"type": "object", "properties": {"k": TEXT | {"maxLength": 5}, "v": INTEGER}}
SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "maxItems": 10, "items": TEXT | {"maxLength": 20}},
        "l": INTEGERS,
        "ll": {"type": "array", "maxItems": 3, "items": INTEGERS | {"maxItems": 4}},
        "s": TEXT | {"maxLength": 30},
        "n": INTEGER,
        "f": {"type": "number"},
        "x": {"x-kubernetes-int-or-string": True},
        "m": {
            "type": "object",
            "maxProperties": 5,
            "additionalProperties": TEXT | {"maxLength": 9},
        },
        "o": {
            "type": "object",
            "properties": {
                "p": TEXT,
                "q": {"type": "object", "properties": {"r": INTEGER}},
            },
        },
        "os": {"type": "array", "maxItems": 7, "items": ENTRY},
        "d": TEXT | {"format": "duration"},
        "nul": TEXT | {"nullable": True},
    },
}
VALUE = {
    "a": ["p", "q", "p"], "l": [3, 1, 2, 3], "ll": [[1, 2], [3]], "s": "hello", "n": 5,
    "f": 1.5, "x": "7", "m": {"k": "v", "z": "w"}, "o": {"p": "pp"},
    "os": [{"k": "b", "v": 2}, {"k": "a", "v": 1}], "d": "1h",
}  # fmt: skip
UNLIMITED = 2**64 - 1


def rows() -> list[list[str]]:
    lines = Path(__file__).with_name("libraries.txt").read_text().splitlines()
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def program(rule: str) -> Program:
    of = declared(SCHEMA, markers_of("kubernetes"), is_object=False)
    assert of is not None
    variables = {"self": of.type, "oldSelf": of.type}
    return compile_expression(rule, variables, BOOL, environment(V1_36))


def outcome(rule: str, budget: int = 10**9) -> tuple[str, int]:
    try:
        result, cost = program(rule).evaluate({"self": VALUE, "oldSelf": VALUE}, budget)
    except EvaluationError as error:
        return f"! {error}", error.cost
    return str(result).lower(), cost


@pytest.mark.parametrize(("rule", "estimate", "cost", "expected"), rows())
def test_an_expression_has_the_outcome_and_costs_of_the_reference(
    rule: str, estimate: str, cost: str, expected: str
) -> None:
    assert outcome(rule) == (expected, int(cost))
    most = UNLIMITED if estimate == "unlimited" else int(estimate)
    assert program(rule).estimate().maximum == most


def problem(text: str, release: Any = V1_36, **variables: Any) -> str:
    with pytest.raises(CompileError) as refused:
        compile_expression(text, variables, None, environment(release))
    return str(refused.value).removeprefix("compilation failed: ERROR: <input>:").split("\n")[0]


@pytest.mark.parametrize(
    "text",
    ["isIP('a')", "quantity('1')", "optional.of(1)", "sets.contains([1], [1])", "lists.range(1)"],
)
def test_an_earlier_release_lacks_the_libraries(text: str) -> None:
    assert "undeclared reference to" in problem(text, V1_25)
    compile_expression(text, {}, None, environment(V1_36))


PROBLEMS = {
    "[1].?a": "1:4: type 'list(int)' does not support field selection",
    "[?1]": "1:3: expected type 'optional_type(int)' but found 'int'",
    "{?'a': 1}": "1:8: expected type 'optional_type(int)' but found 'int'",
    "[1, 'a']": "1:5: expected type 'int' but found 'string'",
    "duration('x')": "1:10: invalid duration argument",
    "'a'.matches('(')": "1:13: invalid matches argument",
    "'%d'.format(['a'])": (
        "1:14: error during formatting: decimal clause can only be used on integers, was given"
        " string"
    ),
    "'%s %s'.format([1])": "1:15: index 1 out of range",
    "'%s'.format([1, 2])": (
        "1:12: too many arguments supplied to string.format (expected 1, got 2)"
    ),
    "[1].all(i, i, true)": "1:12: duplicate variable name: i",
    "[1].sortBy(e, [e])": (
        "1:11: found no matching overload for '@sortByAssociatedKeys' applied to"
        " 'list(int).(list(list(int)))'"
    ),
    "optional.of(1).optMap(1, 2)": ("1:23: optMap() variable name must be a simple identifier"),
    "true && 1": "1:9: expected type 'bool' but found 'int'",
    "quantity('1').x": "1:14: unexpected failed resolution of 'kubernetes.Quantity'",
}


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.items())
def test_a_later_release_reports_its_own_problems(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_an_optional_variable_has_a_value_or_none() -> None:
    variables = {"oldSelf": OptionalType(STRING)}
    rule = compile_expression("oldSelf.orValue('none')", variables, STRING, environment(V1_36))
    assert rule.evaluate({"oldSelf": None}, 10)[0] == "none"
    assert rule.evaluate({"oldSelf": "a"}, 10)[0] == "a"


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(9223372036854775807).size() > 0",
        "[lists.range(300), lists.range(300)].flatten(9000000000000000000).size() > 0",
        "sets.contains(self, self)",
        "self.distinct().size() > 0",
        "self.sort()[0] == 0",
    ],
)
def test_work_on_long_lists_ends_with_the_budget(text: str) -> None:
    variables = {"self": ListType(INT, 100_000)}
    rule = compile_expression(text, variables, BOOL, environment(V1_36))
    with pytest.raises(CostExceeded):
        rule.evaluate({"self": list(range(100_000))}, 1_000_000)


@pytest.mark.parametrize(
    "function", ["isIP", "isCIDR", "isQuantity", "isSemver", "format.uri().validate"]
)
@pytest.mark.parametrize("text", ["1" * 100_000, "1." * 50_000, ":" * 100_000, "-" * 100_000])
def test_hostile_text_is_parsed_in_linear_time(function: str, text: str) -> None:
    rule = compile_expression(
        f"dyn({function}(self)) == dyn(true)", {"self": STRING}, BOOL, environment(V1_36)
    )
    rule.evaluate({"self": text}, 10**9)


def test_a_chain_of_optional_maps_is_evaluated_once_and_charged_twice() -> None:
    chain = "optional.of(1)" + ".optMap(x, x + 1)" * 40
    rule = compile_expression(f"{chain}.value() == 41", {}, BOOL, environment(V1_36))
    with pytest.raises(CostExceeded):
        rule.evaluate({}, 1_000_000)
