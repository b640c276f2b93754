"""Actual and estimated costs of evaluations, as the reference counts them."""

from __future__ import annotations

from typing import Any

import pytest
from support.expressions import EXAMPLE, THING, evaluate

from fairlead.codec.cel.compile import compile_expression
from fairlead.codec.cel.errors import CostExceeded
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
)

UNBOUND = 2**64 - 1

COSTS = {
    # Literals are free; variables, fields and operators cost 1.
    "1": 0,
    "'abc'": 0,
    "self": 1,
    "self.count": 2,
    "self.count == self.other": 5,
    "self.count + 1 == 2147483647 + 1": 5,
    "self.inner.x == 3": 4,
    "self.labels['k1']": 3,
    "self.numbers[0] in self.numbers": 13,
    "self.words[self.numbers[0] - 1]": 7,
    "has(self.count)": 1,
    "has(self.inner.x)": 2,
    "!has(self.inner.deep)": 3,
    "!(has(self.inner.deep) && has(self.inner.deep.y))": 3,
    "has(self.entries[0].v)": 3,
    # What is made of constants alone was made before.
    "[1, 2, 3]": 0,
    "{'a': 1}": 0,
    "[self.count]": 12,
    "{'a': self.count}": 32,
    "double(5) < 10.0": 1,
    "double(self.count) < 10.0": 4,
    "type(self.count) == int": 4,
    "self.wait == duration('1h2m') + duration('3s4ms')": 4,
    "self.wait.getHours() == 1": 4,
    "self.time.getDate('01:00') == 18": 4,
    "type(self.wait) == google.protobuf.Duration": 4,
    # What depends on sizes costs a tenth a character.
    "self.name == 'Rook takes 👑'": 4,
    "self.name == ''": 2,
    "self.name < 'Rook takes 👑'": 4,
    "self.name.startsWith('Rook')": 4,
    "!self.name.startsWith('knight')": 5,
    "self.name.matches('^[^0-9]*$')": 8,
    "!self.name.matches('^[0-9]*$')": 7,
    "size(self.name) == 12": 4,
    "self.name.charAt(3) == 'k'": 4,
    "self.name.indexOf('o') == 1": 4,
    "self.name.indexOf('o', 2) == 2": 4,
    "self.name.replace(' ', 'x') == 'Rookxtakesx👑'": 7,
    "self.name.replace(' ', 'x', 1) == 'Rookxtakes 👑'": 7,
    "self.name.split(' ') == ['Rook', 'takes', '👑']": 6,
    "self.name.substring(5) == 'takes 👑'": 5,
    "self.name.substring(0, 4) == 'Rook'": 5,
    "self.name.substring(4, 10).trim() == 'takes'": 6,
    "self.name.upperAscii() == 'ROOK TAKES 👑'": 6,
    "self.name + self.name == ''": 7,
    "self.name.contains('takes')": 4,
    "self.data == b'AB'": 3,
    "string(self.data) == 'AB'": 4,
    "string(self.time) == '2011-08-18T19:03:37.01+01:00'": 6,
    "self.name in ['a', 'b']": 2,
    "1 in self.numbers": 10,
    "'k1' in self.labels": 3,
    "self.words + ['c'] == ['b', 'a', 'c']": 4,
    "self.set == ['c', 'b', 'a']": 3,
    "self.set + self.words == ['a', 'b', 'c']": 6,
    "self.labels == {'k1': 'a', 'k2': 'b'}": 3,
    "self.byKey == [self.byKey[0], self.byKey[1]]": 19,
    "size(self.byKey + [self.entries[0]]) == 3": 18,
    # Loops cost what their rounds cost.
    "self.sizes.all(k, self.sizes[k] > 0)": 17,
    "self.sizes.exists_one(k, self.sizes[k] == 2)": 14,
    "!self.sizes.exists_one(k, self.sizes[k] > 0)": 17,
    "size(self.sizes.filter(k, self.sizes[k] > 1)) == 1": 26,
    "self.entries.all(m, m.k.startsWith('a'))": 21,
    "self.entries.all(m, !has(m.v2) || m.v2 == 'z')": 21,
    "self.entries.exists(m, m.k.endsWith('1'))": 13,
    "self.entries.exists_one(m, m.k == 'a3')": 15,
    "!self.entries.all(m, m.k.endsWith('1'))": 18,
    "!self.entries.exists(m, m.v == 'x')": 25,
    "!self.entries.exists_one(m, m.k.startsWith('a'))": 20,
    "size(self.entries.filter(m, m.k == 'a1')) == 1": 27,
    "self.entries.exists(m, m.k == 'a1' && m.v == 'b1')": 16,
    "self.entries.map(m, m.v).exists(v, v == 'b1')": 55,
    "self.entries.exists(m, has(m.v2) && m.v2 == 'z')": 21,
    "!self.entries.all(m, has(m.v2) && m.v2 != 'z')": 10,
    "self.entries.exists_one(m, has(m.v2) && m.v2 == 'z')": 12,
    "self.entries.filter(m, has(m.v2) && m.v2 == 'z').size() == 1": 24,
    "self.entries.map(m, has(m.v2) && m.v2 == 'z', m.v2).size() == 1": 25,
    "self.entries.filter(m, has(m.v2) && m.v2 == 'z').map(m, m.v2).size() == 1": 39,
    "self.entries.exists(m, m.v2 == 'z')": 24,
    "!self.entries.all(m, m.v2 != 'z')": 22,
    "2 in self.numbers": 10,
    "self.numbers.all(e, e > 0)": 43,
    "self.numbers.exists(e, e > 2)": 36,
    "self.numbers.exists_one(e, e > 4)": 22,
    "!self.numbers.all(e, e < 2)": 21,
    "!self.numbers.exists(e, e < 0)": 52,
    "!self.numbers.exists_one(e, e == 2)": 25,
    "size(self.numbers.filter(e, e % 2 == 0)) == 3": 68,
    "self.numbers.map(e, e * 20).filter(e, e > 50).exists(e, e == 60)": 194,
    "size(self.numbers) == 8": 4,
    # Operands that are not reached are free, and so is the choice itself.
    "type(self.any) == int ? self.any == 1 : self.any == '25%'": 7,
    "type(self.any) == string && self.any == '25%'": 7,
    "self.any != 1": 3,
    "self.any == 1 || self.any == '25%'": 6,
    "self.any == '25%' || self.any == 1": 3,
    "self.any != ['anything']": 3,
    "true ? self.count : self.other": 1,
    "(self.count > 2 ? self.numbers : self.numbers).all(y, true)": 29,
    "(1 > 2 ? 5 : 3) > 1": 2,
}  # fmt: skip


@pytest.mark.parametrize(("text", "cost"), COSTS.items())
def test_an_evaluation_costs_what_the_reference_counts(text: str, cost: int) -> None:
    assert evaluate(text)[1] == cost


def test_an_evaluation_may_cost_its_budget() -> None:
    text = "self.numbers.all(e, e > 0)"
    assert evaluate(text, budget=43) == (True, 43)
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        evaluate(text, budget=42)


def test_a_budget_is_not_an_error_that_other_operands_absorb() -> None:
    with pytest.raises(CostExceeded):
        evaluate("self.numbers.all(e, e > 0) || true", budget=20)
    with pytest.raises(CostExceeded):
        evaluate("self.words.exists(w, self.numbers.all(e, e > 0))", budget=20)


def test_the_cost_lies_within_the_estimate() -> None:
    program = compile_expression("self.numbers.all(n, n > 0)", {"self": THING})
    minimum, maximum = program.estimate()
    assert minimum <= program.evaluate({"self": EXAMPLE}, 1000)[1] <= maximum == UNBOUND


def text(maximum: int) -> Type:
    return STRING.sized(maximum)


def estimated(rule: str, self: Type) -> int:
    return compile_expression(rule, {"self": self, "oldSelf": self}).estimate().maximum


ENTRY = ObjectType("Entry", {"required": text(3145726)})
NAMES = MapType(text(0), text(40), 10)
PAIR = ObjectType("Pair", {"str": text(40), "separator": text(40)})
REPLACED = ObjectType("Replaced", {"str": text(16), "before": text(8), "after": text(16)})
ESTIMATES: list[tuple[str, Type, int]] = [
    ("self.all(x, true)", ListType(DOUBLE, 10), 32),
    ("self.all(x, true)", ListType(DOUBLE, 1572863), 4718591),
    ("self.all(x, true)", ListType(text(0), 20), 62),
    ("self.all(x, true)", MapType(text(0), DOUBLE, 10), 32),
    ("self.contains('test')", text(40), 5),
    ("self.contains('test')", text(3145726), 314574),
    ("self.startsWith('test')", text(60), 2),
    ("self.endsWith('test')", text(3145726), 2),
    ("size(self + 'hello') > size('hello')", text(16), 7),
    ("size(self + 'hello') > size('hello')", text(3145726), 314578),
    ("self[1] == 0.0", ListType(DOUBLE, 5000), 2),
    ("self[1] == self[1]", ListType(text(3145726), 8), 314577),
    ("self.all(x, self.all(y, true))", ListType(DOUBLE, 10), 352),
    ("self.all(x, self.all(y, self.all(z, true)))", ListType(DOUBLE, 10), 3552),
    ("self.matches('x')", text(200), 22),
    ("self.matches('x')", text(3145726), 314574),
    ("''.matches('(((((((((())))))))))[0-9]')", text(0), 7),
    ("self.matches('')", text(100), 1),
    ("self.all(x, x.contains(self[x]))", NAMES, 72),
    ("self['x'] == 0.0", MapType(text(0), DOUBLE, 0), 2),
    ("self == 'x'", text(0), 1),
    ("self == 'x'", text(40), 2),
    ("self == b'x'", BYTES.sized(0), 1),
    ("self.all(x, x == 0.0)", ListType(DOUBLE, 6291456), 25165826),
    ("self.all(x, x['y'].required == 'z')", ListType(MapType(text(0), ENTRY, 10), 10), 72),
    ("self[0] == 5", ListType(DYN.sized(3145726), 10), 3),
    ("self[0] == false", ListType(BOOL, 25), 2),
    ("self[0] == null", ListType(ENTRY, 422), 2),
    ("self[0][0] == -1.0", ListType(ListType(DOUBLE, 5), 51), 3),
    ("self.all(x, x.y == 25.2)", ListType(MapType(text(0), DOUBLE, 5), 12), 74),
    ("self[0].x > 2.0", ListType(MapType(text(0), DOUBLE, 5), 3000), 4),
    ("self[0].getHours() == 2", ListType(DURATION.sized(32), 525), 4),
    ("self[2].getMinutes() == 45", ListType(TIMESTAMP.sized(32), 99), 4),
    ("self.find('[0-9]+') == ''", text(40), 11),
    ("self.find('[0-9]+') == ''", text(3145726), 629147),
    ("self.join(' ') == 'aa bb'", ListType(text(40), 10), 43),
    ("self.isSorted() == true", ListType(text(40), 10), 52),
    ("self.str.replace(self.before, self.after) == 'does not matter'", REPLACED, 12),
    ("self.str.split(self.separator) == []", PAIR, 22),
    ("self.lowerAscii() == 'lower!'", text(40), 6),
    ("oldSelf.size() == self.size()", MapType(text(0), INT, 10), 5),
    ("self['a'] == self['b']", MapType(text(0), TIMESTAMP.sized(32), 7), 8),
    ("self['c'] == self['d']", MapType(text(0), DURATION.sized(32), 42), 8),
    ("self.contains('A')", text(9), 2),
    ("self.contains('A')", text(4000), 401),
    ("self.all(x, x > 0)", ListType(INT), UNBOUND),
    ("has(self.str)", PAIR, 0),
    ("self.size() > 0 ? self[0] == 'a' : true", ListType(text(40), 5), 6),
    ("self.map(x, x + 1).all(x, x > 0)", ListType(INT, 10), UNBOUND),
    ("self in [1, 2, 3]", INT, 14),
    ("self == 1 || self == 2 || self == 3", INT, 3),
]


@pytest.mark.parametrize(("rule", "self", "maximum"), ESTIMATES)
def test_the_most_a_rule_can_cost_follows_from_its_type(rule: str, self: Any, maximum: int) -> None:
    assert estimated(rule, self) == maximum


def test_the_least_a_rule_can_cost_is_that_of_what_is_always_reached() -> None:
    program = compile_expression("self == 'abc' || self.contains('x')", {"self": text(40)})
    assert program.estimate() == (2, 7)
