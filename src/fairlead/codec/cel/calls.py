"""Compiles calls: picks the implementation for the argument types and adds its cost."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from fairlead.codec.cel.code import FAILURES, Code, Run, charge, constant
from fairlead.codec.cel.conversions import CONVERSIONS
from fairlead.codec.cel.costs import Cost, tenth
from fairlead.codec.cel.data import class_of
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.equality import Equalities, addition, equality
from fairlead.codec.cel.errors import ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.functions import Implementation
from fairlead.codec.cel.lists import total
from fairlead.codec.cel.regexes import REGEXES, PatternError, pattern, with_pattern
from fairlead.codec.cel.syntax import Call
from fairlead.codec.cel.types import DOUBLE, DURATION, DYN, INT, UINT, ListType, MapType, Type
from fairlead.codec.cel.values import (
    BUDGET,
    Duration,
    Frame,
    Optional,
    UInt,
    data_entry,
    data_item,
    equal,
    work,
)

_FOLDED_CONVERSIONS = CONVERSIONS.keys() - {"size"}
_SCALARS = (bool, int, UInt, float, str, bytes)
_EQUALITIES = {"_==_": operator.eq, "_!=_": operator.ne}
# This many characters written, or elements visited, are as much work as one element copied.
_CHARACTERS, _ELEMENTS = 16, 8
_NOTHING: dict[Type, Any] = {INT: 0, UINT: UInt(0), DOUBLE: 0.0, DURATION: Duration(0)}


class Calls:
    """Compiles the calls of an environment."""

    def __init__(self, environment: Environment) -> None:
        self._functions = environment.calls
        self._costs = environment.costs
        self._is_revised = environment.is_revised

    def price(self, function: str) -> Cost:
        """The cost function of a call, whatever its arguments are."""
        price = self._costs.of(function, None)
        assert price is not None
        return price

    def fold(self, node: Call, function: str, arguments: list[Code]) -> Code | None:
        """Fold a conversion of a constant, or `in` with a list of constants, which becomes a set.
        None if neither applies."""
        if function in _FOLDED_CONVERSIONS and all(argument.constant for argument in arguments):
            try:
                values = [argument.value for argument in arguments]
                return constant(self._functions.dispatch(function, values, []))
            except EvaluationError as error:
                raise ConstantProblem(str(error)) from None
        if function == "@in" and isinstance(node.arguments[1].type, ListType):
            value, items = arguments
            if items.constant and not items.value:
                return constant(False)
            if items.constant and all(type(item) in _SCALARS for item in items.value):
                failures = () if self._is_revised else FAILURES
                return Code(_member(value.run, items.value, failures), value.cost)
        return None

    def call(
        self, function: str, node: Call, arguments: list[Code], equalities: Equalities
    ) -> Code:
        """The code of a call that `fold` does not handle."""
        types = [argument.type for argument in node.arguments]
        runs = [argument.run for argument in arguments]
        cost = 1 + sum(argument.cost for argument in arguments)
        if function in _EQUALITIES:
            return Code(self._equality(function, types, runs, equalities), cost)
        classes = tuple(class_of(type_) for type_ in types)
        target = self._functions.implementation(function, classes)
        if function == "_[_]" and _is_data(types[0]):
            target = data_item if classes[0] is list else data_entry
        if function in REGEXES and arguments[1].constant and type(arguments[1].value) is str:
            target = _with_pattern(function, arguments[1].value)
        if function == "@in" and isinstance(types[1], ListType):
            return Code(_in_list(types[1], runs, equalities), cost)
        if function == "_+_" and (target is None or list in classes):
            return Code(self._addition(types[0], runs), cost)
        price = self._costs.of(function, classes[0] if classes else None)
        if target is None:
            return Code(self._dispatched(function, runs, price), cost)
        return Code(self._direct(function, target, runs, price), cost)

    def _direct(
        self, function: str, implementation: Implementation, runs: list[Run], price: Cost | None
    ) -> Run:
        """A call with a known implementation. Data may still be null, whatever its declared
        type."""
        if price is not None:
            return self._priced(function, implementation, runs, price)
        if len(runs) != 2:
            return self._direct_of_many(function, implementation, runs)
        left_of, right_of = runs

        def call_directly(frame: Frame) -> Any:
            left, right = left_of(frame), right_of(frame)
            try:
                return implementation(left, right)
            except (AttributeError, TypeError):
                raise self._functions.refusal(function, [left, right]) from None

        return call_directly

    def _direct_of_many(
        self, function: str, implementation: Implementation, runs: list[Run]
    ) -> Run:
        def call_directly(frame: Frame) -> Any:
            values = [run(frame) for run in runs]
            try:
                return implementation(*values)
            except (AttributeError, TypeError):
                raise self._functions.refusal(function, values) from None

        return call_directly

    def _priced(
        self, function: str, implementation: Implementation, runs: list[Run], price: Cost
    ) -> Run:
        def call_and_charge(frame: Frame) -> Any:
            values = [run(frame) for run in runs]
            try:
                result = implementation(*values)
            except (AttributeError, TypeError):
                raise self._functions.refusal(function, values) from None
            charge(frame, price(*values, result) - 1)
            _count_work(frame, values[0], result)
            return result

        return call_and_charge

    def _dispatched(self, function: str, runs: list[Run], price: Cost | None) -> Run:
        def find_and_call(frame: Frame) -> Any:
            values = [run(frame) for run in runs]
            result = self._functions.dispatch(function, values, frame)
            if price is not None:
                charge(frame, price(*values, result) - 1)
            _count_work(frame, values[0], result)
            return result

        return find_and_call

    def _addition(self, type_: Type, runs: list[Run]) -> Run:
        """`+` that may concatenate lists, which costs little however long they are."""
        price = self.price("_+_")
        merge: Callable[[Any, Any, Frame], Any] | None = None
        if isinstance(type_, ListType) and type_.keys is not None:
            merge = addition(type_.keys)
        left_of, right_of = runs

        def add(frame: Frame) -> Any:
            left, right = left_of(frame), right_of(frame)
            if merge:
                result = merge(left, right, frame)
            else:
                result = self._functions.dispatch("_+_", [left, right], frame)
            if type(result) is list:
                work(frame, len(result))
            else:
                charge(frame, price(left, right, result) - 1)
            return result

        return add

    def _equality(
        self, function: str, types: list[Type], runs: list[Run], equalities: Equalities
    ) -> Run:
        left, right = runs
        kind, other = map(class_of, types)
        if kind is other and kind not in (None, list, dict, str, bytes, Optional):
            compare = _EQUALITIES[function]
            return lambda frame: compare(left(frame), right(frame))
        expected = function == "_==_"
        if kind is str and other is str:
            return _string_equality(left, right, expected)
        type_ = types[1] if types[0] == DYN else types[0]
        same = equality(type_, equalities)
        price = self.price(function)

        def compare_any(frame: Frame) -> bool:
            left_value, two = left(frame), right(frame)
            check = same if type(left_value) is type(two) else equal
            charge(frame, price(left_value, two, None) - 1)
            return check(left_value, two, frame) is expected

        return compare_any

    def list_sum(self, node: Call, arguments: list[Code]) -> Code:
        """The sum of a list. The type of the call determines the sum of an empty list."""
        nothing = _NOTHING.get(node.type, 0)
        price = self.price("sum")

        def add(items: Any) -> Any:
            if type(items) is list:
                return total(items, nothing)
            return self._functions.dispatch("sum", [items], [])

        return Code(self._priced("sum", add, [arguments[0].run], price), 1 + arguments[0].cost)


def _member(run: Run, items: list[Any], failures: tuple[type[Exception], ...]) -> Run:
    """Membership in a set of constants. False if evaluating the value fails with one of the
    failures: the reference looked up the error in the set."""
    members = {key for item in items for key in _equivalents(item)}

    def among(frame: Frame) -> bool:
        try:
            value = run(frame)
        except failures:
            return False
        return type(value) in _SCALARS and (type(value), value) in members

    return among


def _equivalents(item: Any) -> Iterable[tuple[type, Any]]:
    """A constant and, if it is a number, the same number in the other numeric types."""
    yield type(item), item
    if type(item) in (int, UInt):
        yield from ((kind, item) for kind in (int, UInt))
        yield float, float(item)
    elif type(item) is float and item.is_integer():
        yield from ((kind, int(item)) for kind in (int, UInt))


def _is_data(type_: Type) -> bool:
    """Whether values of a type come from the data rather than from the expression."""
    return isinstance(type_, ListType | MapType) and type_.maximum is not None


def _count_work(frame: Frame, first: Any, result: Any) -> None:
    """Count the work of long results and long lists, which may have no cost."""
    if type(result) is str:
        work(frame, len(result) // _CHARACTERS)
    if type(first) is list:
        work(frame, len(first) // _ELEMENTS)


def _string_equality(left: Run, right: Run, expected: bool) -> Run:
    def compare(frame: Frame) -> bool:
        left_value, two = left(frame), right(frame)
        if left_value is None or two is None:
            return (left_value is two) is expected
        shorter = min(len(left_value), len(two))
        if not 0 < shorter <= 10:
            frame[BUDGET] -= tenth(shorter) - 1
            if frame[BUDGET] < 0:
                raise CostExceeded
        return (left_value == two) is expected

    return compare


def _in_list(type_: ListType, runs: list[Run], equalities: Equalities) -> Run:
    same = equality(type_.element, equalities)
    value_of, items_of = runs

    def among(frame: Frame) -> bool:
        value, items = value_of(frame), items_of(frame)
        charge(frame, len(items) - 1)
        return any(same(item, value, frame) for item in items)

    return among


def _with_pattern(function: str, text: str) -> Implementation:
    try:
        return with_pattern(function, pattern(text))
    except PatternError as error:
        raise ConstantProblem(str(error)) from None
