"""Error messages of invalid expressions, with their position."""

from __future__ import annotations

import pytest
from support.expressions import THING

from fairlead.base.release import V1_36
from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError, SyntaxProblem, TypeProblem
from fairlead.codec.cel.types import DYN, INT, STRING, ListType, MapType, ObjectType

OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT,"
    " STRING, BYTES, IDENTIFIER}"
)


def problem(text: str) -> CompileError:
    with pytest.raises(CompileError) as refused:
        compile_expression(text, {"self": THING, "oldSelf": THING})
    return refused.value


SYNTAX = {
    "": (0, f"Syntax error: mismatched input '<EOF>' expecting {OPERANDS}"),
    "1 +": (3, f"Syntax error: mismatched input '<EOF>' expecting {OPERANDS}"),
    "1 + *": (4, f"Syntax error: mismatched input '*' expecting {OPERANDS}"),
    "1 + * 2": (4, f"Syntax error: extraneous input '*' expecting {OPERANDS}"),
    "1 2": (2, "Syntax error: extraneous input '2' expecting <EOF>"),
    "1 2 3": (2, "Syntax error: mismatched input '2' expecting <EOF>"),
    "self.": (5, "Syntax error: mismatched input '<EOF>' expecting IDENTIFIER"),
    "self.'a'": (5, "Syntax error: mismatched input ''a'' expecting IDENTIFIER"),
    "f(1,)": (4, f"Syntax error: mismatched input ')' expecting {OPERANDS}"),
    "a ? b ? c : d : e": (6, None),
    "(1": (2, None),
    "[1": (2, None),
    "{'a'}": (4, None),
    "{'a': }": (6, f"Syntax error: mismatched input '}}' expecting {OPERANDS}"),
    "a = b": (2, "Syntax error: token recognition error at: '= '"),
    "a & b": (2, "Syntax error: token recognition error at: '& '"),
    "a # b": (2, "Syntax error: token recognition error at: '#'"),
    "'abc": (0, "Syntax error: token recognition error at: ''abc'"),
    "'a\nb'": (0, "Syntax error: token recognition error at: ''a'"),
    "'''abc": (2, "Syntax error: token recognition error at: ''abc'"),
    "9223372036854775808": (0, "invalid int literal"),
    "-9223372036854775809": (0, "invalid int literal"),
    "0xFFFFFFFFFFFFFFFFF": (0, "invalid int literal"),
    "18446744073709551616u": (0, "invalid uint literal"),
    "1e999": (0, "invalid double literal"),
    r"'\q'": (0, r"Syntax error: token recognition error at: ''\q'"),
    r"'\xz1'": (0, r"Syntax error: token recognition error at: ''\xz'"),
    r"'\ud800'": (0, "unable to unescape string"),
    r"'\U00110000'": (0, "unable to unescape string"),
    r"b'\u00e9'": (0, "unable to unescape string"),
    r"'\400'": (0, r"Syntax error: token recognition error at: ''\4'"),
    r"b'\q'": (1, r"Syntax error: token recognition error at: ''\q'"),
    "for": (0, "reserved identifier: for"),
    "1 + while": (4, "reserved identifier: while"),
    "has(self)": (3, "invalid argument to has() macro"),
    "has(self['a'])": (3, "invalid argument to has() macro"),
    "has(1)": (3, "invalid argument to has() macro"),
    "[1].all(1, true)": (8, "argument must be a simple name"),
    "[1].map(a.b, true)": (9, "argument is not an identifier"),
}


@pytest.mark.parametrize(("text", "place", "message"), [(k, *v) for k, v in SYNTAX.items()])
def test_text_that_is_no_expression_is_refused(text: str, place: int, message: str | None) -> None:
    compile_error = problem(text)
    assert isinstance(compile_error, SyntaxProblem)
    first = min(compile_error.problems)
    assert first.place == place
    if message:
        assert first.message == message
    assert str(compile_error).startswith("compilation failed: ERROR: <input>:1:")


_IN_REVISED = {
    "[": (1, "mismatched input '<EOF>' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', "),
    "self.words[": (11, "mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', "),
    "f(": (2, "mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', "),
    "f(1": (3, "missing ')' at '<EOF>'"),
    "f(1 2)": (4, "extraneous input '2' expecting ')'"),
    "[1,": (3, "missing ']' at '<EOF>'"),
    "[1,,2]": (3, "mismatched input ',' expecting ']'"),
    "{1 2}": (3, "missing ':' at '2'"),
    "Object{": (7, "mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENT"),
    "self.?": (6, "mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}"),
    "self ? : 1": (7, "extraneous input ':' expecting {'[', "),
    "self.`": (5, "token recognition error at: '`'"),
}


@pytest.mark.parametrize(("text", "place", "message"), [(k, *v) for k, v in _IN_REVISED.items()])
def test_release_1_36_says_what_it_expected(text: str, place: int, message: str) -> None:
    with pytest.raises(SyntaxProblem) as refused:
        compile_expression(text, {"self": THING}, environment=environment(V1_36))
    first = min(refused.value.problems)
    assert first.place == place
    assert first.message.startswith(f"Syntax error: {message}")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("self == ", [8]),
        ("++self", [0, 1]),
        ("true && && && false", [8, 11]),
        ("== && ==", [0, 3, 6, 8]),
        ("self ? == : 1", [7, 10, 13]),
        ("size(,)", [5]),
        ("self.matches(,)", [13]),
    ],
)
def test_release_1_36_goes_on_after_a_missing_operand(text: str, places: list[int]) -> None:
    with pytest.raises(SyntaxProblem) as refused:
        compile_expression(text, {"self": THING}, environment=environment(V1_36))
    assert sorted(problem.place for problem in refused.value.problems) == places


def test_keywords_name_fields_since_1_31() -> None:
    holder = ObjectType(
        "Holder",
        {"__namespace__": STRING, "namespace": STRING},
        {"__namespace__": "namespace"},
    )
    later = environment(V1_36)
    for text in ("self.namespace == 'x'", "self.__namespace__ == 'x'", "has(self.namespace)"):
        expression = compile_expression(text, {"self": holder}, environment=later)
        assert expression.evaluate({"self": {"namespace": "x"}}, 1_000)[0] is True
    with pytest.raises(TypeProblem):
        compile_expression("self.namespace == 'x'", {"self": holder})


def _no_overload(function: str, types: str) -> str:
    return f"found no matching overload for '{function}' applied to '{types}'"


TYPES = {
    "foo": (0, "undeclared reference to 'foo' (in container '')"),
    "foo.bar": (0, "undeclared reference to 'foo' (in container '')"),
    "foo(1)": (3, "undeclared reference to 'foo' (in container '')"),
    "self.foo(1)": (8, "undeclared reference to 'foo' (in container '')"),
    "[self.foo(), 1]": (9, "undeclared reference to 'foo' (in container '')"),
    "Foo{a: 1}": (3, "undeclared reference to 'Foo' (in container '')"),
    "self.foo": (4, "undefined field 'foo'"),
    "has(self.foo)": (3, "undefined field 'foo'"),
    "self.entries[0].foo": (15, "undefined field 'foo'"),
    "self.entries.all(e, e.foo == 1)": (21, "undefined field 'foo'"),
    # Types as protocol buffers have them, in this message alone.
    "self.count.x": (10, "type 'primitive:INT64' does not support field selection"),
    "self.time.x": (9, "type 'well_known:TIMESTAMP' does not support field selection"),
    "self.words.x": (
        10,
        "type 'list_type:{elem_type:{primitive:STRING}}' does not support field selection",
    ),
    "[self.labels].x": (
        13,
        "type 'list_type:{elem_type:{map_type:{key_type:{primitive:STRING}"
        " value_type:{primitive:STRING}}}}' does not support field selection",
    ),
    "[self.inner].x": (
        12,
        "type 'list_type:{elem_type:{message_type:\"Inner\"}}' does not support field selection",
    ),
    "type(1).x": (7, "type 'type:{primitive:INT64}' does not support field selection"),
    "int{}": (3, "'int' is not a message type"),
    "self{}": (4, "'Thing(message_type:\"Thing\")' is not a type"),
    # Null is taken for an object only where the object comes first.
    "null == self.inner": (5, _no_overload("_==_", "(null, Inner)")),
    "[self.inner, null]": (13, "expected type 'Inner' but found 'null'"),
    "true ? null : self.inner": (5, _no_overload("_?_:_", "(bool, null, Inner)")),
    # A chain of conditions is a balanced tree, of which the operands of one operator are told.
    "true && true && 1": (13, _no_overload("_&&_", "(bool, int)")),
    "1 && true && true": (2, _no_overload("_&&_", "(int, bool)")),
    "true || false || true || 'a' || true": (29, _no_overload("_||_", "(string, bool)")),
    "matches('a', 'b')": (7, _no_overload("matches", "(string, string)")),
    "dyn == 1": (0, "undeclared reference to 'dyn' (in container '')"),
    "!-1": (0, _no_overload("!_", "(int)")),
    "self['count']": (4, _no_overload("_[_]", "(Thing, string)")),
    "self.words['a']": (10, _no_overload("_[_]", "(list(string), string)")),
    "self.labels[1]": (11, _no_overload("_[_]", "(map(string, string), int)")),
    "1 + 'a'": (2, _no_overload("_+_", "(int, string)")),
    "1 + 1u": (2, _no_overload("_+_", "(int, uint)")),
    "1 + 1.0": (2, _no_overload("_+_", "(int, double)")),
    "1 == 1.0": (2, _no_overload("_==_", "(int, double)")),
    "1 == '1'": (2, _no_overload("_==_", "(int, string)")),
    "1 < 1.0": (2, _no_overload("_<_", "(int, double)")),
    "self.count < self.ratio": (11, _no_overload("_<_", "(int, double)")),
    "self.count == null": (11, _no_overload("_==_", "(int, null)")),
    "self.inner == {'x': 1}": (11, _no_overload("_==_", "(Inner, map(string, int))")),
    "[1] < [2]": (4, _no_overload("_<_", "(list(int), list(int))")),
    "1 in [['a']]": (2, _no_overload("@in", "(int, list(list(string)))")),
    "'a' in self.sizes && 1 in self.sizes": (23, _no_overload("@in", "(int, map(string, int))")),
    "!1": (0, _no_overload("!_", "(int)")),
    "-'a'": (0, _no_overload("-_", "(string)")),
    "-1u": (0, _no_overload("-_", "(uint)")),
    "1 && true": (2, _no_overload("_&&_", "(int, bool)")),
    "true || 'a'": (5, _no_overload("_||_", "(bool, string)")),
    "1 ? 2 : 3": (2, _no_overload("_?_:_", "(int, int, int)")),
    "true ? 1 : 'a'": (5, _no_overload("_?_:_", "(bool, int, string)")),
    "size(1)": (4, _no_overload("size", "(int)")),
    "self.count.size()": (15, _no_overload("size", "int.()")),
    "'a'.contains(1)": (12, _no_overload("contains", "string.(int)")),
    "contains('a', 'b')": (8, _no_overload("contains", "(string, string)")),
    "[1].sum().size()": (14, _no_overload("size", "int.()")),
    "['a'].sum()": (9, _no_overload("sum", "list(string).()")),
    "[1].join()": (8, _no_overload("join", "list(int).()")),
    # Types that are not known have numbers.
    "int([])": (3, _no_overload("int", "(list(_var0))")),
    "{} == 1": (3, _no_overload("_==_", "(map(_var0, _var1), int)")),
    "[] + [] == 1": (8, _no_overload("_==_", "(list(_var1), int)")),
    "[1].filter(x, x) == []": (10, _no_overload("_?_:_", "(int, list(int), list(_var0))")),
    "[1].map(x, [], 'a') == []": (
        7,
        _no_overload("_?_:_", "(list(_var1), list(string), list(_var0))"),
    ),
    "[1, 'a']": (4, "expected type 'int' but found 'string'"),
    "{'a': 1, 'b': 'c'}": (14, "expected type 'int' but found 'string'"),
    "{'a': 1, 2: 3}": (9, "expected type 'string' but found 'int'"),
    "1.all(x, true)": (
        0,
        "expression of type 'int' cannot be range of a comprehension (must be list, map, or"
        " dynamic)",
    ),
    "self.all(x, true)": (
        0,
        "expression of type 'Thing' cannot be range of a comprehension (must be list, map, or"
        " dynamic)",
    ),
    "[1].all(x, x)": (7, _no_overload("_&&_", "(bool, int)")),
    "[1].exists(x, 'a')": (10, _no_overload("_||_", "(bool, string)")),
    "[1].exists_one(x, x)": (14, _no_overload("_?_:_", "(int, int, int)")),
    "[1].map(x, x)[0] + 'a'": (17, _no_overload("_+_", "(int, string)")),
    "[1].all(x, true) && x": (20, "undeclared reference to 'x' (in container '')"),
    "url('/a').getFoo()": (16, "undeclared reference to 'getFoo' (in container '')"),
    "self.name.getHost()": (17, _no_overload("getHost", "string.()")),
    "self.time > 1": (10, _no_overload("_>_", "(timestamp, int)")),
    "self.wait + self.count": (10, _no_overload("_+_", "(duration, int)")),
    "type(1) == 1": (8, _no_overload("_==_", "(type(int), int)")),
}


@pytest.mark.parametrize(("text", "place", "message"), [(k, *v) for k, v in TYPES.items()])
def test_types_that_do_not_go_together_are_refused(text: str, place: int, message: str) -> None:
    compile_error = problem(text)
    assert isinstance(compile_error, TypeProblem)
    assert compile_error.problems == ((place, message),)


def test_a_problem_is_shown_with_its_line() -> None:
    assert str(problem("self.count == 1 &&\n  self.foo == 2")) == (
        "compilation failed: ERROR: <input>:2:7: undefined field 'foo'\n"
        " |   self.foo == 2\n"
        " | ......^"
    )


def test_all_problems_are_told_at_once_in_their_order() -> None:
    compile_error = problem("self.foo == bar && self.count == 'a'")
    assert [place for place, _ in compile_error.problems] == [4, 12, 30]
    assert str(compile_error).count("ERROR: <input>:1:") == 3


def test_what_an_undeclared_method_gives_goes_together_with_nothing() -> None:
    undeclared = (14, "undeclared reference to 'isIP' (in container '')")
    assert problem("self.name.isIP() && true").problems == (
        undeclared,
        (17, _no_overload("_&&_", "(<nil>, bool)")),
    )
    assert problem("self.name.isIP().x").problems == (
        undeclared,
        (16, "type '<nil>' does not support field selection"),
    )
    assert problem("isIP(self.name) && true").problems == (
        (4, "undeclared reference to 'isIP' (in container '')"),
    )


def test_wide_characters_are_marked_widely() -> None:
    assert str(problem("'é' + 1")).endswith("\n | 'é' + 1\n | .\uff0e..^")


def result_type(text: str) -> str:
    variables = {
        "i": INT,
        "d": DYN,
        "l": ListType(STRING),
        "m": MapType(STRING, INT),
        "o": ObjectType("O", {"x": INT}),
    }
    return str(compile_expression(text, variables).result_type)


RESULT_TYPES = {
    "i": "int",
    "o.x": "int",
    "d.x": "dyn",
    "d + 1": "int",
    "d + d": "dyn",
    "d == 1": "bool",
    "l[0]": "string",
    "m.a": "int",
    "[]": "list(dyn)",
    "[] + l": "list(string)",
    "[1, d]": "list(dyn)",
    "true ? i : d": "dyn",
    "true ? d : i": "dyn",
    "true ? [] : l": "list(string)",
    "true ? o : null": "O",
    "l.map(x, x.size())": "list(int)",
    "l.filter(x, x != '')": "list(string)",
    "m.map(k, k)": "list(string)",
    "{'a': [1]}": "map(string, list(int))",
    "type(i)": "type(int)",
    "dyn(i)": "dyn",
    "l.max()": "string",
    "o == null": "bool",
    "url('/a').getQuery()": "map(string, list(string))",
}


@pytest.mark.parametrize(("text", "expected"), RESULT_TYPES.items())
def test_an_expression_has_a_type(text: str, expected: str) -> None:
    assert result_type(text) == expected


def test_a_program_knows_the_variables_it_uses() -> None:
    variables = {"self": INT, "oldSelf": INT}
    assert compile_expression("self > oldSelf", variables).uses("oldSelf")
    assert not compile_expression("self > 1", variables).uses("oldSelf")
    # A loop's variable of that name counts too: the reference looks for the name alone.
    assert compile_expression("[1].all(oldSelf, oldSelf > self)", variables).uses("oldSelf")
