"""Hostile expressions and data are refused or stopped soon."""

from __future__ import annotations

from functools import partial
from time import process_time

import pytest
from support.expressions import evaluate
from support.pace import in_time

from fairlead.base import meter
from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.errors import CompileError, ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.types import (
    BYTES,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
)

MAX_SECONDS = 2.0
TOO_LONG = "expression code point size exceeds limit: size: 1000000, limit 100000"
TOO_DEEP = "expression recursion limit exceeded: 250"
REFUSED = {
    "a megabyte": ("1" * 1_000_000, TOO_LONG),
    "brackets": ("(" * 10_000 + "1" + ")" * 10_000, TOO_DEEP),
    "lists": ("[" * 10_000 + "]" * 10_000, TOO_DEEP),
    "maps": ("{1:" * 10_000 + "1" + "}" * 10_000, TOO_DEEP),
    "calls": ("dyn(" * 10_000 + "1" + ")" * 10_000, TOO_DEEP),
    "indexes": ("self" + "[0]" * 10_000, TOO_DEEP),
    "nested indexes": ("self[" * 10_000 + "0" + "]" * 10_000, TOO_DEEP),
    "fields": ("self" + ".a" * 10_000, TOO_DEEP),
    "methods": ("self" + ".size()" * 10_000, TOO_DEEP),
    "sums": ("1" + "+1" * 40_000, TOO_DEEP),
    "comparisons": ("1" + "==1" * 30_000, TOO_DEEP),
    "choices": ("true?1:" * 10_000 + "1", TOO_DEEP),
    "macros": ("[1].map(x," * 9_000 + "1" + ")" * 9_000, TOO_DEEP),
    "chained macros": ("[1]" + ".map(x,[x,x])" * 7_000, TOO_DEEP),
    "mixed nesting": ("-(1+[" * 300 + "1" + "][0])" * 300, TOO_DEEP),
    "unclosed brackets": ("(" * 90_000, TOO_DEEP),
    "digits": ("9" * 90_000, "invalid int literal"),
    "hexadecimal digits": ("0x" + "f" * 90_000, "invalid int literal"),
    "an exponent": ("1e" + "9" * 90_000, "invalid double literal"),
    "garbage": ("#" * 90_000, "token recognition error"),
    "quotes": ("'" * 90_001, "error"),
    "triple quotes": ('"""' + "\\" * 90_000, "token recognition error"),
    "unknown names": ("||".join(f"u{n}" for n in range(12_000)), "undeclared reference"),
    "a repeated pattern": ("'a'.matches('((a{500}){500}){500}')", "error parsing regexp"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_hostile_expression_is_refused_soon(text: str, message: str) -> None:
    start = process_time()
    with pytest.raises((CompileError, ConstantProblem)) as refused:
        compile_expression(text, {"self": DYN})
    assert in_time(process_time() - start, MAX_SECONDS)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 2_000_000


ACCEPTED = {
    "many operands": "&&".join(["1==1"] * 16_000),
    "a long list": "size([" + "1," * 45_000 + "]) > 0",
    "a long string": "size('" + "a" * 90_000 + "') > 0",
    "many signs": "-" * 90_000 + "1 == 1",
    "many maps": "size({" + ",".join(f"{n}:{n}" for n in range(8_000)) + "}) > 0",
    "doubled types": "[1]" + ".map(x,{x:x})" * 100 + ".size() == 1 || true",
    "much space": " " * 99_000 + "true",
    "one unknown type": "[[]].all(x, " + "x==[]&&" * 3_000 + "true)",
    "sums of unknown types": "&&".join(["+".join(["[]"] * 240) + "==[]"] * 30),
    "sums": "&&".join([f"{'+'.join(['1'] * 240)}==240"] * 40),
    "a long comment": "true //" + "/" * 99_000,
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_long_expression_takes_time_by_its_length(text: str) -> None:
    start = process_time()
    assert evaluate(text, {})[0] is True
    assert in_time(process_time() - start, MAX_SECONDS)


DOUBLED = "[[0]]" + ".map(x, [x, x])" * 60
LIST = (ListType(INT), list(range(1000)))
NAMES = (ListType(STRING), ["x" * 100_000] * 10)
DEEP: list[object] = []
for _ in range(5_000):
    DEEP = [DEEP]
ENDLESS = {
    "nested loops": "l.all(a, l.all(b, l.all(c, true)))",
    "loops that collect": "l.map(a, l.map(b, l.map(c, c)))",
    "lists that double": "[l]" + ".map(x, x + x)" * 60 + "[0].size() == 0",
    "structures that double": f"{DOUBLED} == {DOUBLED}",
    "structures that double, searched": f"{DOUBLED} in [{DOUBLED}]",
    "structures that double, added up": f"dyn({DOUBLED}).indexOf([[0]]) == 0",
    "strings that double": "['x']" + ".map(x, x + x)" * 60 + "[0] == 'y'",
    "strings that replace": "l.map(a, 'abc'.replace('', n[0])).size() == 0",
    "strings that replace themselves": "['ab']" + ".map(x, x.replace('', x))" * 60 + " == []",
    "joined strings": "l.map(a, l.map(b, n.join(n[0]))).size() == 0",
    "equal lists again and again": "l.all(a, l.all(b, d == d))",
    "patterns that grow": "l.all(a, n[0].matches(n[0] + n[0]))",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_evaluation_without_end_is_given_up_soon(text: str) -> None:
    data = (DYN, [[number] for number in range(1000)])
    start = process_time()
    with pytest.raises((CostExceeded, EvaluationError)):
        evaluate(text, {"l": LIST, "n": NAMES, "d": data})
    assert in_time(process_time() - start, MAX_SECONDS)


def test_what_fails_costs_what_it_took() -> None:
    numbers = {"l": (ListType(INT), list(range(1000)))}
    with pytest.raises(EvaluationError) as failed:
        evaluate("l.all(x, l[x + 1000] == 0)", numbers)
    assert failed.value.cost > 1000


def test_a_program_is_made_of_a_type_with_many_fields_without_going_over_them() -> None:
    many = ObjectType("Many", {f"f{number}": INT for number in range(100_000)})
    start = process_time()
    for _ in range(100):
        compile_expression("self == oldSelf", {"self": many, "oldSelf": many})
    assert in_time(process_time() - start, MAX_SECONDS)


def test_data_of_any_depth_is_compared_or_given_up() -> None:
    with pytest.raises(CostExceeded):
        evaluate("a == b", {"a": (DYN, DEEP), "b": (DYN, [DEEP[0]])})


def test_data_that_is_not_of_its_type_is_an_error() -> None:
    inner = ObjectType("O", {"x": INT})
    type_ = ObjectType(
        "Thing",
        {
            "n": INT,
            "l": ListType(INT),
            "o": inner,
            "things": ListType(inner),
            "data": BYTES,
            "at": TIMESTAMP,
            "wait": DURATION,
            "spans": MapType(STRING, DURATION),
        },
    )
    for text, data in (
        ("self.n + 1 > 0", {"n": "a"}),
        ("self.n + 1 > 0", {"n": True}),
        ("self.l.all(x, x > 0)", {"l": {}}),
        ("self.l.all(x, x > 0)", {"l": [None, "a"]}),
        ("self.o.x > 0", {"o": []}),
        ("self.o.x > 0", {"o": 1}),
        ("has(self.o.x)", {"o": "a"}),
        ("self.things.all(t, has(t.x))", {"things": ["a"]}),
        ("self.things.all(t, t.x > 0)", {"things": ["a"]}),
        ("self.data == b''", {"data": "?"}),
        ("self.at == timestamp(0)", {"at": "2020"}),
        ("self.wait == duration('1s')", {"wait": "1y"}),
        ("self.wait == duration('1s')", {"wait": 5}),
        ("self.spans.a == duration('1s')", {"spans": {"a": "1y"}}),
        ("self.spans.a == duration('1s')", {"spans": []}),
        ("self.n > 0", []),
        ("self.n > 0", None),
    ):
        with pytest.raises(EvaluationError):
            evaluate(text, {"self": (type_, data)})


def test_a_variable_without_a_value_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="no such attribute: self"):
        compile_expression("self == 1", {"self": INT}).evaluate({}, 100)


def test_text_that_cannot_be_encoded_is_an_error() -> None:
    for text in ("s.matches('a')", "s.find('a') == ''", "bytes(s) == b''", "s.matches(s)"):
        with pytest.raises(EvaluationError):
            evaluate(text, {"s": (STRING, "\ud800")})


def test_a_time_zone_is_only_looked_for_where_they_are() -> None:
    for name in ("../../etc/passwd", "/etc/passwd", "x" * 100_000, "a\0b", "25:00", "Europe"):
        with pytest.raises(EvaluationError, match="unknown time zone"):
            evaluate("timestamp(0).getHours(z) == 0", {"z": (STRING, name)})


def nested_pairs(depth: int) -> list[object]:
    pairs: list[object] = [1, 1]
    for _ in range(depth):
        pairs = [pairs, pairs]
    return pairs


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        pytest.param("self == self", nested_pairs(18), id="a list that contains itself often"),
        pytest.param("self.findAll('1').size() > 0", "1" * 30_000, id="many matches"),
    ],
)
def test_an_expression_with_little_cost_but_much_work_leaves_the_loop(
    expression: str, value: object
) -> None:
    program = compile_expression(expression, {"self": DYN})
    work = partial(program.evaluate, {"self": value}, 10_000)
    assert meter.try_on_loop(10, work) is meter.NEEDS_THREAD
