"""Type checker: assigns a type to every node of an expression, or reports problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.codec.cel.constants import constant_problems
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.errors import Problem, TypeProblem
from fairlead.codec.cel.parser import KEYWORDS, MAX_DEPTH, TOO_DEEP
from fairlead.codec.cel.syntax import (
    Call,
    ListOf,
    Literal,
    Logic,
    Loop,
    MapOf,
    Message,
    MessageField,
    Name,
    Node,
    OptionalMap,
    Select,
    SortBy,
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
    STRUCTS,
    TIMESTAMP,
    UINT,
    UNTYPED,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
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


def check(text: str, root: Node, variables: Mapping[str, Type], environment: Environment) -> None:
    """Set the types of all nodes; raises TypeProblem."""
    checker = _Checker(variables, environment)
    checker.check(root)
    if checker.problems:
        raise TypeProblem(text, checker.problems)
    for node in checker.checked:
        node.type = checker.unification.resolved(node.type, open_as=DYN)
    if "constants" in environment.rules:
        problems = constant_problems(root)
        if problems:
            raise TypeProblem(text, problems)


class _TooDeep(Exception):
    pass


class _Checker:
    def __init__(self, variables: Mapping[str, Type], environment: Environment) -> None:
        self._environment = environment
        self._is_revised = environment.is_revised
        self._has_keyword_fields = "keyword_fields" in environment.rules
        self._scopes: list[Mapping[str, Type]] = [variables]
        self.unification = Unification(null_both_ways=environment.is_revised)
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
        environment = self._environment
        identifier = environment.identifiers.get(plain) or environment.message_type(plain)
        return TypeOf(identifier) if identifier is not None else None

    def _select(self, node: Select) -> Type:
        qualified = None if node.test else _qualified(node)
        if qualified and (type_ := self._declared(qualified)) is not None:
            node.name = qualified
            return type_
        operand = self.unification.resolved(self._check(node.operand))
        type_ = self._field(node, operand, node.field)
        return BOOL if node.test and (type_ is not ERROR or self._is_revised) else type_

    def _field(self, node: Node, operand: Type, name: str) -> Type:
        """The type of a field; that of an optional object is optional."""
        if isinstance(operand, OptionalType):
            return OptionalType(self._field(node, operand.of, name))
        if isinstance(operand, ObjectType):
            declared = operand.fields.get(name)
            if declared is None or (name in KEYWORDS and not self._has_keyword_fields):
                return self._report(node, f"undefined field '{name}'")
            return declared
        if isinstance(operand, MapType):
            return operand.value
        if operand in STRUCTS:
            internal = "" if self._is_revised else "[internal] "
            return self._report(node, f"{internal}unexpected failed resolution of '{operand}'")
        if isinstance(operand, Unknown):
            self.unification.assign([DYN], [operand])
        elif operand not in (DYN, ERROR):
            shown = operand if self._is_revised else _describe(operand)
            problem = self._report(node, f"type '{shown}' does not support field selection")
            return DYN if self._is_revised else problem
        return DYN

    def _optional_field(self, node: Call) -> Type:
        operand, name = node.arguments
        assert isinstance(name, Literal)
        name.type = STRING
        type_ = self._field(node, self.unification.resolved(self._check(operand)), name.value)
        return type_ if isinstance(operand.type, OptionalType) else OptionalType(type_)

    def _call(self, node: Call) -> Type:
        name = node.function.removeprefix(".")
        if name == "_?._":
            return self._optional_field(node)
        functions = self._environment.functions
        if node.method:
            qualified = self._namespaced(node)
            if qualified:
                name, node.function = qualified, qualified
                node.method = False
                node.arguments = node.arguments[1:]
        types = [self._check(argument) for argument in node.arguments[node.method :]]
        if node.method:  # the target is checked last
            types.insert(0, self._check(node.arguments[0]))
        exact = self._environment.exact.get((name, node.method, tuple(types)))
        if exact is not None:
            self.unification.skip(self._environment.open_types[name, node.method])
            node.overloads = [exact]
            return exact.result
        if name not in functions:
            self._report(node, _undeclared(name))
            return UNTYPED if node.method and not self._is_revised else ERROR
        return self._overload(node, functions[name], types)

    def _namespaced(self, node: Call) -> str | None:
        prefix = _qualified(node.arguments[0])
        name = f"{prefix}.{node.function}"
        return name if prefix and name in self._environment.functions else None

    def _overload(self, node: Call, overloads: Sequence[Overload], types: list[Type]) -> Type:
        result: Type | None = None
        is_compound = isinstance(types[0], ListType | MapType | ObjectType) if types else False
        for overload in overloads:
            if overload.method != node.method:
                continue
            if is_compound and overload.types and isinstance(overload.types[0], Scalar):
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
        left = self.unification.resolved(types[0]) if types else result
        if node.function == "_+_" and isinstance(result, ListType) and isinstance(left, ListType):
            return ListType(result.element, left.maximum, left.keys)
        return result

    def _no_overload(
        self, position: int, function: str, types: Sequence[Type], method: bool = False
    ) -> Type:
        """Shows types as they were found, and type variables by their numbers."""
        if self._is_revised:
            types = [self.unification.resolved(type_, open_as=DYN) for type_ in types]
        shown = list(map(str, types))
        target = f"{shown.pop(0)}." if method else ""
        signature = f"{target}({', '.join(shown)})"
        function = function.removeprefix(".")
        message = f"found no matching overload for '{function}' applied to '{signature}'"
        self.problems.append(Problem(position, message))
        return ERROR

    def _logic(self, node: Logic) -> Type:
        types = [self._check(argument) for argument in node.arguments]
        if not self._is_revised:
            return self._operands(node, types, 0, len(node.places) - 1)
        pairs = zip(node.arguments, types, strict=True)
        results = [self._boolean(argument, type_) for argument, type_ in pairs]
        return BOOL if all(results) else ERROR

    def _boolean(self, node: Node, type_: Type) -> bool:
        """Whether an operand is a boolean; reports it if not."""
        if self.unification.assign([type_], [BOOL]):
            return True
        self._report(node, f"expected type 'bool' but found '{type_}'")
        return False

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
        for index, item in enumerate(node.items):
            type_ = self._present(item, self._check(item), index in node.optional)
            element = self._joined(item, element, type_)
        return ListType(element or self.unification.fresh())

    def _present(self, node: Node, type_: Type, is_optional: bool) -> Type:
        """The type of an item or entry, without the optional around it."""
        if not is_optional:
            return type_
        if isinstance(type_, OptionalType):
            return type_.of
        if type_ != DYN:
            self._report(node, f"expected type 'optional_type({type_})' but found '{type_}'")
        return type_

    def _map(self, node: MapOf) -> Type:
        key: Type | None = None
        value: Type | None = None
        for index, (name, entry) in enumerate(node.entries):
            key = self._joined(name, key, self._check(name))
            type_ = self._present(entry, self._check(entry), index in node.optional)
            value = self._joined(entry, value, type_)
        fresh = self.unification.fresh
        if key is not None and isinstance(self.unification.binding_of(key), ListType | MapType):
            key = DYN  # fails at evaluation; keeps types from growing on both sides
        return MapType(key or fresh(), value or fresh())

    def _joined(self, node: Node, before: Type | None, inner: Type) -> Type:
        if before is None or before == UNTYPED:
            return inner
        joined = self.unification.join(before, inner)
        if joined is None and "constants" in self._environment.rules:
            return DYN  # the check of the constants reports errors
        if joined is None:
            return self._report(node, f"expected type '{before}' but found '{inner}'")
        return joined

    def _message(self, node: Message) -> Type:
        type_ = self._declared(node.name)
        if isinstance(type_, TypeOf) and isinstance(type_.of, ObjectType):
            for field in node.fields:
                self._message_field(type_.of, field)
            return type_.of
        if isinstance(type_, TypeOf):
            return self._report(node, f"'{type_.of}' is not a message type")
        if type_ is not None:
            shown = f"{type_}" if self._is_revised else f"{type_}({_describe(type_)})"
            return self._report(node, f"'{shown}' is not a type")
        self._report(node, _undeclared(node.name))
        return ERROR if self._is_revised else UNTYPED

    def _message_field(self, message: ObjectType, field: MessageField) -> None:
        value = self._check(field.value)
        if field.is_optional and isinstance(value, OptionalType):
            value = value.of
        declared = message.fields.get(field.name)
        if declared is None:
            self.problems.append(Problem(field.place, f"undefined field '{field.name}'"))
        elif not self.unification.assign([value], [declared]):
            text = (
                f"expected type of field '{field.name}' is '{declared}' but provided type is"
                f" '{self.unification.resolved(value)}'"
            )
            self.problems.append(Problem(field.place, text))

    def _loop(self, node: Loop) -> Type:
        over = self.unification.resolved(self._check(node.range))
        # The type of the list or map that collects the results, initially empty.
        collected = self._collected(node.macro)
        variables = self._elements(node, over)
        self._scopes.append(dict(zip((node.variable, node.second), variables, strict=False)))
        condition = self._check(node.condition) if node.condition is not None else None
        element = self._check(node.transform) if node.transform is not None else variables[0]
        self._scopes.pop()
        result = self._result(node, collected, variables[0], element)
        step = (result, collected) if collected is not None else (INT, INT)
        if condition is not None:
            self._condition(node, condition, step)
        is_filtered = node.transform is not None and condition is not None
        self.unification.skip(_UNKNOWNS.get(node.macro, 0) + is_filtered)
        return result

    def _collected(self, macro: str) -> Type | None:
        fresh = self.unification.fresh
        if macro in ("transformMap", "transformMapEntry"):
            return MapType(fresh(), fresh())
        return ListType(fresh()) if macro in _COLLECTING else None

    def _result(self, node: Loop, collected: Type | None, first: Type, element: Type) -> Type:
        """The type of the result of a loop from the type of its transformation."""
        if isinstance(collected, ListType):
            result = ListType(self.unification.resolved(element))
            if self._is_revised:
                self.unification.assign([result], [collected])
            return result
        if not isinstance(collected, MapType):
            return BOOL
        arguments = [collected, element]
        if node.macro == "transformMap":
            arguments.insert(1, first)
        call = Call(node.place, MAP_INSERT, [])
        result_type = self._overload(call, _MAP_INSERTS, arguments)
        return self.unification.resolved(result_type)

    def _elements(self, node: Loop, over: Type) -> list[Type]:
        """The types of the loop variables: the elements of a list or the keys of a map, or with two
        variables also indexes and values."""
        if isinstance(over, ListType):
            return [INT, over.element] if node.second else [over.element]
        if isinstance(over, MapType):
            return [over.key, over.value] if node.second else [over.key]
        if over in (DYN, ERROR) or isinstance(over, Unknown):
            self.unification.assign([DYN], [over])
            return [DYN, DYN] if node.second else [DYN]
        problem = self._report(
            node.range,
            f"expression of type '{over}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )
        return [problem, problem]

    def _condition(self, node: Loop, type_: Type, step: tuple[Type, Type]) -> None:
        """Report a condition that is not a boolean, by the operator that the macro passes it to."""
        operator = _QUANTIFIERS.get(node.macro)
        if operator is not None and self._is_revised and node.condition is not None:
            self._boolean(node.condition, type_)
        elif self.unification.assign([type_], [BOOL]):
            return
        elif operator is not None:
            self._no_overload(node.place, operator, [BOOL, type_])
        else:
            self._no_overload(node.place, "_?_:_", [type_, *step])

    def _optional_map(self, node: OptionalMap) -> Type:
        """Checks the calls that the macro stands for: `hasValue`, `value`, and a choice."""
        functions = self._environment.functions
        target = self._check(node.target)
        has_value = Call(node.place, "hasValue", [node.target], method=True)
        self._overload(has_value, functions["hasValue"], [target])
        value = Call(node.place, "value", [node.target], method=True)
        self._scopes.append({node.variable: self._overload(value, functions["value"], [target])})
        body = self._check(node.body)
        self._scopes.pop()
        result = body if node.is_flat else OptionalType(self.unification.resolved(body))
        none = OptionalType(self.unification.fresh())
        choice = Call(node.place, "_?_:_", [])
        return self._overload(choice, functions["_?_:_"], [BOOL, result, none])

    def _sort_by(self, node: SortBy) -> Type:
        """Checks `target.map(variable, key)`, and that its items can be ordered."""
        keys = self._check(node.keys)
        target = node.target.type
        call = Call(node.place, SORT_BY, [node.target, node.keys], method=True)
        return self._overload(call, self._environment.functions[SORT_BY], [target, keys])


MAP_INSERT, SORT_BY = "cel.@mapInsert", "@sortByAssociatedKeys"
_K, _V = Unknown("K"), Unknown("V")
_MAP = MapType(_K, _V)
_MAP_INSERTS = (Overload((_MAP, _K, _V), _MAP), Overload((_MAP, _MAP), _MAP))
_QUANTIFIERS = {"all": "_&&_", "exists": "_||_"}
_COLLECTING = ("filter", "map", "transformList")
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
    OptionalMap: _Checker._optional_map,
    SortBy: _Checker._sort_by,
}
