"""Type checks: every part of an expression gets its type, or a problem is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.cel.declarations import FUNCTIONS, TYPE_IDENTIFIERS
from fairlead.cel.errors import Problem, TypeProblem
from fairlead.cel.parser import DEEPEST, TOO_DEEP
from fairlead.cel.syntax import (
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
from fairlead.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    ListType,
    MapType,
    ObjectType,
    Overload,
    Type,
    TypeOf,
    Unknown,
)
from fairlead.cel.unification import Unification
from fairlead.cel.values import UInt

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
    """Sets the types of all parts; raises TypeProblem."""
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
        if self._depth > DEEPEST:
            raise _TooDeep
        check: Any = _CHECKS[type(node)]
        found: Type = check(self, node)
        node.type = found
        self.checked.append(node)
        self._depth -= 1
        return found

    def _report(self, node: Node, message: str) -> Type:
        self.problems.append(Problem(node.place, message))
        return ERROR

    def _shown(self, type_: Type) -> str:
        return str(self.unification.resolved(type_, open_as=DYN))

    def _literal(self, node: Literal) -> Type:
        return _LITERALS[type(node.value)]

    def _name(self, node: Name) -> Type:
        found = self._declared(node.name)
        if found is None:
            return self._report(node, _undeclared(node.name))
        return found

    def _declared(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        scopes = self._scopes if plain == name else self._scopes[:1]
        for scope in reversed(scopes):
            if plain in scope:
                return scope[plain]
        identifier = TYPE_IDENTIFIERS.get(plain)
        return TypeOf(identifier) if identifier is not None else None

    def _select(self, node: Select) -> Type:
        qualified = None if node.test else _qualified(node)
        if qualified and (found := self._declared(qualified)) is not None:
            node.name = qualified
            return found
        operand = self.unification.resolved(self._check(node.operand))
        found = self._field(node, operand)
        return BOOL if node.test and found is not ERROR else found

    def _field(self, node: Select, operand: Type) -> Type:
        if isinstance(operand, ObjectType):
            declared = operand.fields.get(node.field)
            if declared is None:
                return self._report(node, f"undefined field '{node.field}'")
            return declared
        if isinstance(operand, MapType):
            return operand.value
        if operand in (DYN, ERROR):
            return operand
        if not isinstance(operand, Unknown):
            shown = self._shown(operand)
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
        types: list[Type] = []
        for argument in node.arguments:
            types.append(self._check(argument))
        if name not in FUNCTIONS:
            return self._report(node, _undeclared(name))
        return self._overload(node, FUNCTIONS[name], types)

    def _namespaced(self, node: Call) -> str | None:
        prefix = _qualified(node.arguments[0])
        name = f"{prefix}.{node.function}"
        return name if prefix and name in FUNCTIONS else None

    def _overload(self, node: Call, overloads: Sequence[Overload], types: list[Type]) -> Type:
        result: Type | None = None
        for overload in overloads:
            if overload.method != node.method or len(overload.types) != len(types):
                continue
            wanted = self.unification.instantiate((*overload.types, overload.result))
            if not self.unification.accepts(wanted[:-1], types):
                continue
            node.overloads.append(overload)
            found = self.unification.resolved(wanted[-1])
            if isinstance(overload.result, TypeOf):
                found = TypeOf(types[0])
            result = found if result is None or result == found else DYN
        if result is None:
            shown = _signature([self._shown(type_) for type_ in types], node.method)
            function = node.function.removeprefix(".")
            return self._report(
                node, f"found no matching overload for '{function}' applied to '{shown}'"
            )
        left = self.unification.resolved(types[0])
        if node.function == "_+_" and isinstance(result, ListType) and isinstance(left, ListType):
            return ListType(result.element, None, left.keys)
        return result

    def _logic(self, node: Logic) -> Type:
        types: list[Type] = []
        for argument in node.arguments:
            types.append(self._check(argument))
        if not all(self.unification.accepts([BOOL], [type_]) for type_ in types):
            shown = _signature([self._shown(type_) for type_ in types], False)
            return self._report(
                node, f"found no matching overload for '{node.function}' applied to '{shown}'"
            )
        return BOOL

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
        if isinstance(key, ListType | MapType):
            key = DYN  # which fails when it is evaluated; types do not grow on two sides
        return MapType(key or fresh(), value or fresh())

    def _joined(self, node: Node, before: Type | None, found: Type) -> Type:
        if before is None:
            return found
        joined = self.unification.join(before, found)
        if joined is None:
            wanted, given = self._shown(before), self._shown(found)
            return self._report(node, f"expected type '{wanted}' but found '{given}'")
        return joined

    def _message(self, node: Message) -> Type:
        return self._report(node, _undeclared(node.name))

    def _loop(self, node: Loop) -> Type:
        over = self.unification.resolved(self._check(node.range))
        if isinstance(over, ListType):
            variable = over.element
        elif isinstance(over, MapType):
            variable = over.key
        elif over in (DYN, ERROR) or isinstance(over, Unknown):
            variable = DYN
        else:
            variable = self._report(
                node.range,
                f"expression of type '{self._shown(over)}' cannot be range of a comprehension"
                " (must be list, map, or dynamic)",
            )
        self._scopes.append({node.variable: variable})
        if node.condition is not None:
            self._condition(node)
        result: Type = BOOL
        if node.transform is not None:
            result = ListType(self._check(node.transform))
        elif node.macro == "filter":
            result = ListType(variable)
        self._scopes.pop()
        return result

    def _condition(self, node: Loop) -> None:
        assert node.condition is not None
        found = self._check(node.condition)
        if self.unification.accepts([BOOL], [found]):
            return
        function, others = _STEPS[node.macro]
        types = [self._shown(found)]
        types = ["bool", *types] if others is None else [*types, *others]
        if node.macro in ("filter", "map"):
            types[1:] = ["list(dyn)", "list(dyn)"]
        self._report(
            node,
            f"found no matching overload for '{function}' applied to '{_signature(types, False)}'",
        )


# What a macro's condition is an operand of.
_STEPS: dict[str, tuple[str, list[str] | None]] = {
    "all": ("_&&_", None),
    "exists": ("_||_", None),
    "exists_one": ("_?_:_", ["int", "int"]),
    "filter": ("_?_:_", []),
    "map": ("_?_:_", []),
}


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name.removeprefix('.')}' (in container '')"


def _signature(types: list[str], method: bool) -> str:
    if method:
        return f"{types[0]}.({', '.join(types[1:])})"
    return f"({', '.join(types)})"


def _qualified(node: Node) -> str | None:
    """`a.b.c` of names and fields alone."""
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
