"""Laws that hold of all expressions of a kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.expressions import evaluate

from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.errors import CompileError, ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.types import DYN, INT, STRING, TIMESTAMP, ListType
from fairlead.codec.cel.values import INT_MAX, INT_MIN

INTEGERS = st.integers(INT_MIN, INT_MAX)
NEAR = st.one_of(INTEGERS, st.sampled_from((INT_MIN, INT_MIN + 1, -1, 0, 1, INT_MAX - 1, INT_MAX)))
OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}


def of_two(text: str, left: Any, right: Any, type_: Any = INT) -> Any:
    return evaluate(text, {"a": (type_, left), "b": (type_, right)})[0]


@given(NEAR, NEAR, st.sampled_from(sorted(OPERATIONS)))
def test_whole_numbers_are_exact_or_an_error(left: int, right: int, operation: str) -> None:
    exact = OPERATIONS[operation](left, right)
    if INT_MIN <= exact <= INT_MAX:
        assert of_two(f"a {operation} b", left, right) == exact
    else:
        with pytest.raises(EvaluationError, match="integer overflow"):
            of_two(f"a {operation} b", left, right)


@given(NEAR, NEAR.filter(bool))
def test_quotient_and_remainder_make_up_the_dividend(left: int, right: int) -> None:
    if (left, right) == (INT_MIN, -1):
        return
    quotient, remainder = of_two("a / b", left, right), of_two("a % b", left, right)
    assert quotient * right + remainder == left
    assert abs(remainder) < abs(right)
    assert remainder == 0 or (remainder < 0) == (left < 0)


@given(NEAR, NEAR)
def test_literals_mean_the_numbers_they_show(left: int, right: int) -> None:
    assert evaluate(f"{left} < {right}", {})[0] is (left < right)
    assert evaluate(f"[{left}, {right}]", {})[0] == [left, right]


@given(st.text("aé👑\n\r\t'\"\\\0\x7f\uffff", max_size=20))
def test_a_string_survives_its_escapes(text: str) -> None:
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in text)
    assert evaluate(f"'{escaped}'", {})[0] == text


OPERANDS = ("true", "false", "(1 / 0 == 1)", "dyn(1)")


@given(st.lists(st.sampled_from(OPERANDS), min_size=2, max_size=6), st.randoms())
def test_what_decides_does_so_wherever_it_stands(operands: list[str], random: Any) -> None:
    shuffled = list(operands)
    random.shuffle(shuffled)
    for operator, decisive in (("&&", "false"), ("||", "true")):
        outcomes = [_outcome(f" {operator} ".join(some)) for some in (operands, shuffled)]
        assert outcomes[0] == outcomes[1]
        assert (outcomes[0] is (decisive == "true")) == (decisive in operands)


def _outcome(text: str) -> Any:
    try:
        return evaluate(text, {})[0]
    except EvaluationError:
        return "error"


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from((1.0, 0.5, "a"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_equality_is_symmetric_and_the_opposite_of_inequality(left: Any, right: Any) -> None:
    same = of_two("a == b", left, right, DYN)
    assert same is of_two("b == a", left, right, DYN)
    assert same is not of_two("a != b", left, right, DYN)
    assert of_two("a == a", left, right, DYN) is True


@given(st.lists(st.text("abc", max_size=2), max_size=6))
def test_macros_agree_with_each_other(words: list[str]) -> None:
    variables = {"l": (ListType(STRING), words)}
    for text in (
        "l.all(x, x != 'a') == !l.exists(x, x == 'a')",
        "l.exists_one(x, x == 'a') == (l.filter(x, x == 'a').size() == 1)",
        "l.map(x, x) == l",
        "l.map(x, x == 'a', x) == l.filter(x, x == 'a')",
        "l.exists(x, x == 'a') == ('a' in l)",
        "l.join('').size() == l.map(x, x.size()).sum()",
        "(l.indexOf('a') >= 0) == ('a' in l)",
    ):
        assert evaluate(text, variables)[0] is True


@given(st.datetimes())
def test_a_timestamp_is_written_as_it_was_read(moment: Any) -> None:
    text = moment.isoformat(timespec="seconds") + "Z"
    assert evaluate("string(t)", {"t": (TIMESTAMP, text)})[0] == text


ALPHABET = st.sampled_from(
    (
        *"()[]{}.,?:+-*/%!<>='\" \n1ax_\\",
        *("&&", "||", "==", "in", "true", "has(", ".all(x,", "1u", "self", ".map(x, ", "0x1"),
        *("'a'", "b''", "dyn(", "size(", "1.5", "r'", '"""', "//", "é"),
    )
)


@given(st.lists(ALPHABET, max_size=25).map("".join))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        program = compile_expression(text, {"self": ListType(INT, 3), "a": DYN, "x": INT})
        assert program.estimate().maximum >= 0
        program.evaluate({"self": [1, 2, 3], "a": {"a": "x"}, "x": 1}, 1000)
    except (CompileError, ConstantProblem, EvaluationError, CostExceeded):
        pass
