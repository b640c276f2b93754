"""Compiles a checked tree to closures: picks implementations, folds constants, sums up costs."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from fairlead.codec.cel import loops
from fairlead.codec.cel.calls import Calls
from fairlead.codec.cel.code import (
    Code,
    Run,
    charged,
    conditional,
    constant,
    field_of,
    logic,
    read_as,
)
from fairlead.codec.cel.costs import LIST, MAP, MESSAGE
from fairlead.codec.cel.data import reader
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.equality import Equalities
from fairlead.codec.cel.errors import EvaluationError, no_such_overload
from fairlead.codec.cel.optionals import (
    alternative,
    charged_if_present,
    not_optional,
    optional_field,
    optional_map,
    present_items,
)
from fairlead.codec.cel.sequences import SORT_BY, sort_by
from fairlead.codec.cel.syntax import (
    Call,
    ListOf,
    Literal,
    Logic,
    Loop,
    MapOf,
    Message,
    Name,
    Node,
    OptionalMap,
    Select,
    SortBy,
)
from fairlead.codec.cel.types import LazyType, ListType, MapType, ObjectType, OptionalType
from fairlead.codec.cel.values import FIRST_SLOT, NONE, Frame, Optional, TypeName, UInt, item


class Builder:
    def __init__(self, variables: list[str], environment: Environment) -> None:
        self._calls = Calls(environment)
        self._identifiers = environment.identifiers
        self._messages = environment.messages
        self._is_revised = environment.is_revised
        self._scopes = [(name, FIRST_SLOT + index) for index, name in enumerate(variables)]
        self._variables = len(variables)
        self.slots = len(variables)
        self.used: set[str] = set()
        self._read: set[int] = set()
        self._equalities: Equalities = {}

    def build(self, node: Node) -> Code:
        build: Any = _BUILDS[type(node)]
        code: Code = build(self, node)
        return code

    def _slot(self, name: str) -> int | None:
        plain = name.removeprefix(".")
        for variable, slot in reversed(self._scopes):
            if variable == plain:
                self.used.add(plain)
                self._read.add(slot)
                return slot
        return None

    def _literal(self, node: Literal) -> Code:
        return constant(node.value)

    def _name(self, node: Name) -> Code:
        slot = self._slot(node.name)
        if slot is None:
            return constant(TypeName(node.name.removeprefix(".")))
        return Code(lambda frame: frame[slot], 1)

    def _select(self, node: Select) -> Code:
        if node.name:
            variable = self._slot(node.name)
            if variable is not None:
                return Code(itemgetter(variable), 1)
            return constant(TypeName(node.name.removeprefix(".")))
        operand = self.build(node.operand)
        if isinstance(node.operand.type, LazyType):
            return Code(_lazy_field(operand.run, node), operand.cost + (not node.test))
        if node.test:
            is_optional = isinstance(node.operand.type, OptionalType)
            test = _test(operand.run, node, is_revised=self._is_revised)
            return Code(test, operand.cost - is_optional)
        cost = operand.cost + (1 if attribute(node.operand) else 2)
        type_ = node.operand.type
        if isinstance(type_, OptionalType):
            return Code(optional_field(type_, operand.run, node.field), cost - 1)
        if not isinstance(type_, ObjectType):
            return Code(_entry(operand.run, node.field), cost)
        slot = self._slot(node.operand.name) if isinstance(node.operand, Name) else None
        declared = type_.fields[node.field]
        key = type_.properties.get(node.field, node.field)
        get = field_of(slot, operand.run, key, node.field)
        kind, read = reader(declared)
        many = isinstance(declared, ListType | MapType)
        return Code(read_as(get, kind, read, many and kind not in (list, dict)), cost)

    def _optional_field(self, node: Call) -> Code:
        """`operand.?field`"""
        operand_node, name = node.arguments
        assert isinstance(name, Literal)
        operand = self.build(operand_node)
        cost = operand.cost + (0 if attribute(operand_node) else 1)
        return Code(optional_field(operand_node.type, operand.run, name.value), cost)

    def _call(self, node: Call) -> Code:
        function = node.function.removeprefix(".")
        if function == "_?._":
            return self._optional_field(node)
        arguments = list(map(self.build, node.arguments))
        if function == "_?_:_":
            condition, chosen, other = arguments
            runs = [
                charged(code, self._own_cost(argument))
                for code, argument in zip((chosen, other), node.arguments[1:], strict=True)
            ]
            return Code(conditional(condition.run, *runs), condition.cost)
        if function in ("or", "orValue") and node.method and len(arguments) == 2:
            optional, other = arguments
            return Code(alternative(function, optional.run, charged(other)), optional.cost)
        folded = self._calls.fold(node, function, arguments)
        if folded is not None:
            return folded
        if function == "sum":
            return self._calls.list_sum(node, arguments)
        code = self._calls.call(function, node, arguments, self._equalities)
        if function in ("_[_]", "_[?_]"):
            container, index = node.arguments
            extra = (0 if attribute(container) else 1) - self._own_cost(index)
            if function == "_[?_]" or isinstance(container.type, OptionalType):
                return Code(charged_if_present(code.run), code.cost + extra - 1)
            return code._replace(cost=code.cost + extra)
        return code

    def _logic(self, node: Logic) -> Code:
        parts = list(map(self.build, node.arguments))
        runs = [parts[0].run, *(charged(part) for part in parts[1:])]
        return Code(logic(runs, node.function == "_||_"), parts[0].cost)

    def _list(self, node: ListOf) -> Code:
        items = list(map(self.build, node.items))
        if all(item.constant for item in items) and not node.optional:
            return constant([item.value for item in items])
        runs = [item.run for item in items]
        cost = LIST + sum(item.cost for item in items)
        if node.optional:
            return Code(present_items(runs, node.optional), cost)
        return Code(lambda frame: [run(frame) for run in runs], cost)

    def _map(self, node: MapOf) -> Code:
        entries = [(self.build(key), self.build(value)) for key, value in node.entries]
        runs = [(key.run, value.run) for key, value in entries]
        make = _mapping(runs, node.optional)
        if all(key.constant and value.constant for key, value in entries):
            try:
                return constant(make([]))
            except EvaluationError:
                pass  # raises when it is evaluated, if it is evaluated at all
        return Code(make, MAP + sum(key.cost + value.cost for key, value in entries))

    def _message(self, node: Message) -> Code:
        fields = [(field, self.build(field.value)) for field in node.fields]
        runs = [(field.name, code.run, field.is_optional) for field, code in fields]
        assert self._messages is not None
        assert isinstance(node.type, ObjectType)
        construct, name = self._messages.construct, node.type.name

        def make(frame: Frame) -> Any:
            values: dict[str, Any] = {}
            for field, run, is_optional in runs:
                value = run(frame)
                if not is_optional:
                    values[field] = value
                elif type(value) is not Optional:
                    raise no_such_overload()
                elif value is not NONE:
                    values[field] = value.value
            return construct(name, values)

        return Code(make, MESSAGE + sum(code.cost for _, code in fields))

    def _loop(self, node: Loop) -> Code:
        return self._loop_over(node, self.build(node.range))

    def _loop_over(self, node: Loop, over: Code) -> Code:
        slot = self._variable(node.variable)
        second = self._variable(node.second) if node.second else None
        condition = self.build(node.condition) if node.condition else None
        transform = self.build(node.transform) if node.transform else None
        del self._scopes[-1 if second is None else -2 :]
        cost = over.cost + loops.FIXED[node.macro]
        if second is not None:
            return Code(loops.pair_loop(node, over.run, slot, condition, transform), cost)
        return Code(_loop_run(node.macro, over.run, slot, condition, transform), cost)

    def _variable(self, name: str) -> int:
        """The slot of a new variable."""
        slot = FIRST_SLOT + self.slots
        self.slots += 1
        self._scopes.append((name, slot))
        return slot

    def _optional_map(self, node: OptionalMap) -> Code:
        target = self.build(node.target)
        slot = self._variable(node.variable)
        body = self.build(node.body)
        self._scopes.pop()
        is_read = slot in self._read
        run = optional_map(target, slot, body, is_flat=node.is_flat, is_read=is_read)
        return Code(run, target.cost + 1)

    def _sort_by(self, node: SortBy) -> Code:
        target = self.build(node.target)
        slot = self._variable("")
        keys = self._loop_over(node.keys, Code(lambda frame: frame[slot], 1))
        self._scopes.pop()
        price = self._calls.price(SORT_BY)
        return Code(sort_by(target.run, slot, keys.run, price), target.cost + keys.cost + 2)

    def _own_cost(self, node: Node) -> int:
        """The cost of a path besides its steps, which a conditional or an index does not
        charge."""
        choice = isinstance(node, Call) and node.function == "_?_:_"
        named = isinstance(node, Name) and node.name.removeprefix(".") in self._identifiers
        return 1 if attribute(node) and not choice and not named else 0


def _loop_run(
    macro: str, over: Run, slot: int, condition: Code | None, transform: Code | None
) -> Run:
    if condition is not None and macro in ("all", "exists"):
        return loops.quantifier(macro, over, slot, condition.run, condition.cost)
    if condition is not None and macro == "exists_one":
        return loops.exists_one(over, slot, condition.run, condition.cost)
    test, cost = (condition.run, condition.cost) if condition else (None, 0)
    if transform is None:  # filter
        transform = Code(lambda frame: frame[slot], 1)
    item_cost = loops.append_cost(transform.cost, transform.constant)
    return loops.collect(over, slot, test, cost, transform.run, item_cost)


def attribute(node: Node) -> bool:
    """Whether a node is a path through variables and fields, whose cost is counted by steps."""
    if isinstance(node, Select):
        return not node.test and not node.name
    if isinstance(node, Call):
        return node.function in ("_[_]", "_?_:_", "_?._", "_[?_]")
    return isinstance(node, Name)


def _test(operand: Run, node: Select, *, is_revised: bool) -> Run:
    type_ = node.operand.type
    if isinstance(type_, OptionalType):
        present = optional_field(type_, operand, node.field)
        return lambda frame: present(frame) is not NONE
    if isinstance(type_, ObjectType):
        key = type_.properties.get(node.field, node.field)

        def test_field(frame: Frame) -> bool:
            value = operand(frame)
            if type(value) is not dict:
                raise no_such_overload()
            return value.get(key) is not None

        return test_field
    field = node.field

    def test_entry(frame: Frame) -> bool:
        value = operand(frame)
        if type(value) is list:
            return False
        if type(value) is not dict:
            if is_revised:
                return False
            raise EvaluationError("invalid type for field selection.")
        return field in value

    return test_entry


def _lazy_field(operand: Run, node: Select) -> Run:
    field = node.field

    def get(frame: Frame) -> Any:
        return operand(frame).read(field)

    def test(frame: Frame) -> bool:
        operand(frame).read(field)
        return True

    return test if node.test else get


def _entry(operand: Run, field: str) -> Run:
    def get(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is list:
            return item(value, field)
        if type(value) is not dict or field not in value:
            raise EvaluationError(f"no such key: {field}")
        return value[field]

    return get


def _mapping(runs: list[tuple[Run, Run]], optional: frozenset[int]) -> Run:
    def make(frame: Frame) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for index, (key_of, value_of) in enumerate(runs):
            key = key_of(frame)
            if type(key) not in _KEYS:
                raise EvaluationError("unsupported key type")
            if key in entries and type(key) is not _class_in(entries, key):
                raise EvaluationError("unsupported key type")  # 1 and true, or 1 and 1u
            value = value_of(frame)
            if index in optional:
                if type(value) is not Optional:
                    raise not_optional("entry", key)
                if value is NONE:
                    entries.pop(key, None)
                    continue
                value = value.value
            entries[key] = value  # the last value of a repeated key wins
        return entries

    return make


def _class_in(entries: dict[Any, Any], key: Any) -> type:
    """The class of the present key that equals this one."""
    return (
        str
        if type(key) is str
        else next(type(entry_key) for entry_key in entries if entry_key == key)
    )


_KEYS = frozenset((bool, int, UInt, str, float, type(None)))
_BUILDS = {
    Literal: Builder._literal,
    Name: Builder._name,
    Select: Builder._select,
    Call: Builder._call,
    Logic: Builder._logic,
    ListOf: Builder._list,
    MapOf: Builder._map,
    Message: Builder._message,
    Loop: Builder._loop,
    OptionalMap: Builder._optional_map,
    SortBy: Builder._sort_by,
}
