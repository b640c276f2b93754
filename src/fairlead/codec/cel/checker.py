"""Type checker: assigns a type to every node of an expression, or reports problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.codec.cel.declarations import EXACT, FUNCTIONS, OPEN_TYPES, TYPE_IDENTIFIERS
from fairlead.codec.cel.errors import Problem, TypeProblem
from fairlead.codec.cel.parser import MAX_DEPTH, TOO_DEEP
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
    Select,
)
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    UNTYPED,
    URL,
    ListType,
    MapType,
    ObjectType,
    Overload,
    Scalar,
    Type,
    TypeOf,
    Unknown,
)
from fairlead.codec.cel.unification import Unification
from fairlead.codec.cel.values import UInt

_LITERALS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


def check(text: str, root: Node, variables: Mapping[str, Type]) -> None:
    """Set the types of all nodes; raises TypeProblem."""
    checker = _Checker(variables)
    checker.check(root)
    if checker.problems:
        raise TypeProblem(text, checker.problems)
    for node in checker.checked:
        node.type = checker.unification.resolved(node.type, open_as=DYN)


class _TooDeep(Exception):
    pass


class _Checker:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._scopes: list[Mapping[str, Type]] = [variables]
        self.unification = Unification()
        self.problems: list[Problem] = []
        self.checked: list[Node] = []
        self._depth = 0

    def check(self, root: Node) -> None:
        try:
            self._check(root)
        except _TooDeep:
            self.problems[:] = [Problem(-1, TOO_DEEP)]

    def _check(self, node: Node) -> Type:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep
        check: Any = _CHECKS[type(node)]
        type_: Type = check(self, node)
        node.type = type_
        self.checked.append(node)
        self._depth -= 1
        return type_

    def _report(self, node: Node, message: str) -> Type:
        self.problems.append(Problem(node.place, message))
        return ERROR

    def _literal(self, node: Literal) -> Type:
        return _LITERALS[type(node.value)]

    def _name(self, node: Name) -> Type:
        type_ = self._declared(node.name)
        if type_ is None:
            return self._report(node, _undeclared(node.name))
        return type_

    def _declared(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if plain in scope:
                return scope[plain]
        identifier = TYPE_IDENTIFIERS.get(plain)
        return TypeOf(identifier) if identifier is not None else None

    def _select(self, node: Select) -> Type:
        qualified = None if node.test else _qualified(node)
        if qualified and (type_ := self._declared(qualified)) is not None:
            node.name = qualified
            return type_
        operand = self.unification.resolved(self._check(node.operand))
        type_ = self._field(node, operand)
        return BOOL if node.test and type_ is not ERROR else type_

    def _field(self, node: Select, operand: Type) -> Type:
        if isinstance(operand, ObjectType):
            declared = operand.fields.get(node.field)
            if declared is None:
                return self._report(node, f"undefined field '{node.field}'")
            return declared
        if isinstance(operand, MapType):
            return operand.value
        if operand == URL:
            return self._report(node, f"[internal] unexpected failed resolution of '{URL}'")
        if isinstance(operand, Unknown):
            self.unification.assign([DYN], [operand])
        elif operand not in (DYN, ERROR):
            shown = _describe(operand)
            return self._report(node, f"type '{shown}' does not support field selection")
        return DYN

    def _call(self, node: Call) -> Type:
        name = node.function.removeprefix(".")
        if node.method:
            qualified = self._namespaced(node)
            if qualified:
                name, node.function = qualified, qualified
                node.method = False
                node.arguments = node.arguments[1:]
        types = [self._check(argument) for argument in node.arguments[node.method :]]
        if node.method:  # the target is checked last
            types.insert(0, self._check(node.arguments[0]))
        exact = EXACT.get((name, node.method, tuple(types)))
        if exact is not None:
            self.unification.skip(OPEN_TYPES[name, node.method])
            node.overloads = [exact]
            return exact.result
        if name not in FUNCTIONS:
            self._report(node, _undeclared(name))
            return UNTYPED if node.method else ERROR
        return self._overload(node, FUNCTIONS[name], types)

    def _namespaced(self, node: Call) -> str | None:
        prefix = _qualified(node.arguments[0])
        name = f"{prefix}.{node.function}"
        return name if prefix and name in FUNCTIONS else None

    def _overload(self, node: Call, overloads: Sequence[Overload], types: list[Type]) -> Type:
        result: Type | None = None
        is_compound = isinstance(types[0], ListType | MapType | ObjectType) if types else False
        for overload in overloads:
            if overload.method != node.method:
                continue
            if is_compound and isinstance(overload.types[0], Scalar):
                continue  # cannot match; skips most overloads
            instance = self.unification.instantiate((*overload.types, overload.result))
            if not self.unification.assign(types, instance[:-1]):
                continue
            node.overloads.append(overload)
            overload_result = self.unification.resolved(instance[-1])
            if isinstance(overload.result, TypeOf):
                overload_result = TypeOf(types[0])
            result = overload_result if result is None or result == overload_result else DYN
        if result is None:
            return self._no_overload(node.place, node.function, types, node.method)
        left = self.unification.resolved(types[0])
        if node.function == "_+_" and isinstance(result, ListType) and isinstance(left, ListType):
            return ListType(result.element, left.maximum, left.keys)
        return result

    def _no_overload(
        self, position: int, function: str, types: Sequence[Type], method: bool = False
    ) -> Type:
        """Shows types as they were found, and type variables by their numbers."""
        shown = list(map(str, types))
        target = f"{shown.pop(0)}." if method else ""
        signature = f"{target}({', '.join(shown)})"
        function = function.removeprefix(".")
        message = f"found no matching overload for '{function}' applied to '{signature}'"
        self.problems.append(Problem(position, message))
        return ERROR

    def _logic(self, node: Logic) -> Type:
        types = [self._check(argument) for argument in node.arguments]
        return self._operands(node, types, 0, len(node.places) - 1)

    def _operands(self, node: Logic, types: list[Type], first: int, last: int) -> Type:
        """The reference builds a balanced tree from a chain of operators, and its message names the
        two operands of an operator that are not both booleans."""
        middle = (first + last + 1) // 2
        left, right = types[middle], types[middle + 1]
        if middle > first:
            left = self._operands(node, types, first, middle - 1)
        if middle < last:
            right = self._operands(node, types, middle + 1, last)
        if self.unification.assign([left, right], [BOOL, BOOL]):
            return BOOL
        return self._no_overload(node.places[middle], node.function, [left, right])

    def _list(self, node: ListOf) -> Type:
        element: Type | None = None
        for item in node.items:
            element = self._joined(item, element, self._check(item))
        return ListType(element or self.unification.fresh())

    def _map(self, node: MapOf) -> Type:
        key: Type | None = None
        value: Type | None = None
        for name, entry in node.entries:
            key = self._joined(name, key, self._check(name))
            value = self._joined(entry, value, self._check(entry))
        fresh = self.unification.fresh
        if key is not None and isinstance(self.unification.binding_of(key), ListType | MapType):
            key = DYN  # fails at evaluation; keeps types from growing on both sides
        return MapType(key or fresh(), value or fresh())

    def _joined(self, node: Node, before: Type | None, inner: Type) -> Type:
        if before is None or before == UNTYPED:
            return inner
        joined = self.unification.join(before, inner)
        if joined is None:
            return self._report(node, f"expected type '{before}' but found '{inner}'")
        return joined

    def _message(self, node: Message) -> Type:
        type_ = self._declared(node.name)
        if isinstance(type_, TypeOf):
            return self._report(node, f"'{type_.of}' is not a message type")
        if type_ is not None:
            return self._report(node, f"'{type_}({_describe(type_)})' is not a type")
        self._report(node, _undeclared(node.name))
        return UNTYPED

    def _loop(self, node: Loop) -> Type:
        over = self.unification.resolved(self._check(node.range))
        # The type of the list that collects the results, initially empty.
        collected = ListType(self.unification.fresh()) if node.macro in _COLLECTING else None
        variable = self._element(node, over)
        self._scopes.append({node.variable: variable})
        condition = self._check(node.condition) if node.condition is not None else None
        element = self._check(node.transform) if node.transform is not None else variable
        self._scopes.pop()
        result = ListType(self.unification.resolved(element)) if collected is not None else BOOL
        step = (result, collected) if collected is not None else (INT, INT)
        if condition is not None:
            self._condition(node, condition, step)
        is_filtered = node.transform is not None and condition is not None
        self.unification.skip(_UNKNOWNS[node.macro] + is_filtered)
        return result

    def _element(self, node: Loop, over: Type) -> Type:
        """The type of the loop variable: the elements of a list or the keys of a map."""
        if isinstance(over, ListType):
            return over.element
        if isinstance(over, MapType):
            return over.key
        if over in (DYN, ERROR) or isinstance(over, Unknown):
            self.unification.assign([DYN], [over])
            return DYN
        return self._report(
            node.range,
            f"expression of type '{over}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )

    def _condition(self, node: Loop, type_: Type, step: tuple[Type, Type]) -> None:
        """Report a condition that is not a boolean, by the operator that the macro passes it to."""
        if self.unification.assign([type_], [BOOL]):
            return
        operator = _QUANTIFIERS.get(node.macro)
        if operator is not None:
            self._no_overload(node.place, operator, [BOOL, type_])
        else:
            self._no_overload(node.place, "_?_:_", [type_, *step])


_QUANTIFIERS = {"all": "_&&_", "exists": "_||_"}
_COLLECTING = ("filter", "map")
# How many type variables the operators of a macro leave open; each takes a number.
_UNKNOWNS = {"all": 0, "exists": 0, "exists_one": 3, "filter": 2, "map": 1}


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


_DESCRIPTIONS: dict[Type, str] = {
    BOOL: "primitive:BOOL",
    INT: "primitive:INT64",
    UINT: "primitive:UINT64",
    DOUBLE: "primitive:DOUBLE",
    STRING: "primitive:STRING",
    BYTES: "primitive:BYTES",
    TIMESTAMP: "well_known:TIMESTAMP",
    DURATION: "well_known:DURATION",
    NULL: "null:NULL_VALUE",
    DYN: "dyn:{}",
    ERROR: "error:{}",
    UNTYPED: "<nil>",
}


def _describe(type_: Type) -> str:
    """A type as some messages show it: as the fields of a protobuf message."""
    if isinstance(type_, ListType):
        return f"list_type:{{elem_type:{{{_describe(type_.element)}}}}}"
    if isinstance(type_, MapType):
        key, value = _describe(type_.key), _describe(type_.value)
        return f"map_type:{{key_type:{{{key}}} value_type:{{{value}}}}}"
    if isinstance(type_, TypeOf):
        return f"type:{{{_describe(type_.of)}}}"
    if isinstance(type_, Unknown):
        return f'type_param:"{type_}"'
    return _DESCRIPTIONS.get(type_) or f'message_type:"{type_}"'


def _qualified(node: Node) -> str | None:
    """The dotted name `a.b.c` if a node consists of names and fields only, else None."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Name):
        return None
    return ".".join((node.name, *reversed(parts)))


_CHECKS = {
    Literal: _Checker._literal,
    Name: _Checker._name,
    Select: _Checker._select,
    Call: _Checker._call,
    Logic: _Checker._logic,
    ListOf: _Checker._list,
    MapOf: _Checker._map,
    Message: _Checker._message,
    Loop: _Checker._loop,
}
