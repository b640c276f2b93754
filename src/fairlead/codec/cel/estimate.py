"""Estimates the minimum and maximum cost of an expression from the sizes of its types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.codec.cel.costs import LIST, MAP
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.ranges import NOTHING, UNKNOWN, Estimate, call_cost, fixed, sum_of
from fairlead.codec.cel.syntax import Call, ListOf, Literal, Logic, Loop, MapOf, Name, Node, Select
from fairlead.codec.cel.types import (
    SCALARS,
    ListType,
    MapType,
    ObjectType,
    Type,
    maximum_of,
)

__all__ = ["Estimate", "estimate"]
_ITEMS, _KEYS = "@items", "@keys"
# The cost of one iteration of each macro besides its condition and its transformation.
_ROUNDS = {
    "all": Estimate(3, 3),
    "exists": Estimate(4, 4),
    "exists_one": Estimate(1, 2),
    "filter": Estimate(1, 13),
    "map": Estimate(12, 12),
}
_RESULTS = {"all": 1, "exists": 1, "exists_one": 2, "filter": 11, "map": 11}


def estimate(root: Node, variables: Mapping[str, Type], _: Environment) -> Estimate:
    return _Estimator(variables).part(root).cost


class _Steps:
    """The steps of a path from a variable into its declared type, in an array with spare capacity.

    Paths extended from one path share its array, as in the reference: the array grows by doubling,
    and two extensions of one path that fit into it write the same slot, so the later one replaces
    the step of the earlier one. `x.a == x.b` can therefore be estimated by the size of `x.b` alone,
    and our estimates have to match that.
    """

    __slots__ = ("names", "room", "types")

    def __init__(self, names: list[str], types: list[Type | None], room: int) -> None:
        self.names = names
        self.types = types  # of the first steps, resolved lazily
        self.room = room

    def write(self, slot: int, step: str) -> None:
        if slot == len(self.names):
            self.names.append(step)
        elif self.names[slot] != step:
            self.names[slot] = step
            del self.types[slot:]


class _Path(NamedTuple):
    steps: _Steps
    length: int


class _Part(NamedTuple):
    """The estimate for one node of the expression."""

    cost: Estimate
    type: Type
    path: _Path | None = None  # to its declared type
    size: Estimate | None = None  # if the expression itself determines it


def _extended(path: _Path | None, step: str) -> _Path:
    if path is None:
        return _Path(_Steps([step], [], 1), 1)
    steps, length = path
    if length == steps.room:
        steps = _Steps(steps.names[:length], steps.types[:length], 2 * length)
    steps.write(length, step)
    return _Path(steps, length + 1)


class _Estimator:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._variables = variables
        # A path that starts at a computed value is resolved from the first variable.
        self._root = next(iter(variables.values()), None)
        self._ranges: list[tuple[str, _Part]] = []  # of the enclosing loops, by their variables

    def part(self, node: Node) -> _Part:
        estimate: Any = _ESTIMATES[type(node)]
        result: _Part = estimate(self, node)
        return result

    def _size(self, part: _Part) -> Estimate:
        if part.size is not None:
            return part.size
        declared = self._declared(part.path) if part.path is not None else None
        if declared is not None:
            return _size_of(declared)
        return fixed(1) if part.type in SCALARS else UNKNOWN

    def _element_size(self, part: _Part) -> Estimate | None:
        """The size of the elements of a list; None if the part is not a list."""
        if not isinstance(part.type, ListType):
            return None
        declared = self._declared(part.path) if part.path is not None else None
        element = _inside(declared, _ITEMS)
        return UNKNOWN if element is None else _size_of(element)

    def _declared(self, path: _Path) -> Type | None:
        """The declared type at a path; None if there is none."""
        names, types = path.steps.names, path.steps.types
        if not types:
            types.append(self._variables.get(names[0], self._root))
        while len(types) < path.length:
            types.append(_inside(types[-1], names[len(types)]))
        return types[path.length - 1]

    def _literal(self, node: Literal) -> _Part:
        value = node.value
        if isinstance(value, str):
            value = value.encode(errors="surrogatepass")
        size = fixed(len(value) if isinstance(value, bytes) else 1)
        return _Part(NOTHING, node.type, None, size)

    def _name(self, node: Name) -> _Part:
        return self._variable(node, node.name.removeprefix("."))

    def _variable(self, node: Node, name: str) -> _Part:
        for variable, over in reversed(self._ranges):
            if variable == name:
                return _Part(fixed(1), node.type, _variable_path(over))
        return _Part(fixed(1), node.type, _extended(None, name))

    def _select(self, node: Select) -> _Part:
        if node.name:
            return self._variable(node, node.name.removeprefix("."))
        if node.test:
            return _Part(NOTHING, node.type)
        operand = self.part(node.operand)
        cost = operand.cost
        if isinstance(operand.type, ObjectType | MapType):
            cost = cost.plus(fixed(1))
        return _Part(cost, node.type, _extended(operand.path, node.field))

    def _call(self, node: Call) -> _Part:
        parts = self._arguments(node)
        if node.function == "_?_:_":
            return self._choice(node, parts)
        sizes = [self._size(part) for part in parts]
        cost, size = call_cost(node, sizes, self._element_size(parts[0]))
        path = _extended(parts[0].path, _ITEMS) if node.function == "_[_]" else None
        return _Part(sum_of([cost, *(part.cost for part in parts)]), node.type, path, size)

    def _arguments(self, node: Call) -> list[_Part]:
        """Visits the arguments before the target, which matters for paths that share steps."""
        if not node.method:
            return list(map(self.part, node.arguments))
        others = list(map(self.part, node.arguments[1:]))
        return [self.part(node.arguments[0]), *others]

    def _choice(self, node: Call, parts: list[_Part]) -> _Part:
        condition, chosen, other = parts
        size = self._size(chosen).union(self._size(other))
        cost = condition.cost.plus(chosen.cost.union(other.cost))
        return _Part(cost, node.type, None, size)

    def _logic(self, node: Logic) -> _Part:
        costs = [self.part(argument).cost for argument in node.arguments]
        return _Part(Estimate(costs[0].minimum, sum_of(costs).maximum), node.type)

    def _list(self, node: ListOf) -> _Part:
        costs = [self.part(item).cost for item in node.items]
        return _Part(sum_of([fixed(LIST), *costs]), node.type, None, fixed(len(costs)))

    def _map(self, node: MapOf) -> _Part:
        costs = [self.part(part).cost for entry in node.entries for part in entry]
        return _Part(sum_of([fixed(MAP), *costs]), node.type, None, fixed(len(node.entries)))

    def _loop(self, node: Loop) -> _Part:
        over = self.part(node.range)
        self._ranges.append((node.variable, over))
        round_cost = self._round(node, over)
        self._ranges.pop()
        rounds = self._size(over).times(round_cost)
        return _Part(sum_of([over.cost, fixed(_RESULTS[node.macro]), rounds]), node.type)

    def _round(self, node: Loop, over: _Part) -> Estimate:
        condition = self.part(node.condition).cost if node.condition else NOTHING
        if node.transform is None:
            if node.macro == "filter":
                _variable_path(over)  # the variable is collected as if written: extends its path
            return condition.plus(_ROUNDS[node.macro])
        added = self.part(node.transform).cost.plus(fixed(12))
        if node.condition is not None:
            added = added.union(fixed(1))
        return condition.plus(added)


def _variable_path(over: _Part) -> _Path | None:
    """The path of a loop variable: an item of a list or a key of a map."""
    if isinstance(over.type, ListType):
        return _extended(over.path, _ITEMS)
    return _extended(over.path, _KEYS) if isinstance(over.type, MapType) else None


def _inside(declared: Type | None, step: str) -> Type | None:
    """The type one step into a declared type; None if there is none."""
    if isinstance(declared, ObjectType):
        return declared.fields.get(step)
    if isinstance(declared, MapType):
        if step == _KEYS:
            return declared.key
        return declared.value if step == _ITEMS else None
    return declared.element if isinstance(declared, ListType) and step == _ITEMS else None


def _size_of(declared: Type) -> Estimate:
    maximum = maximum_of(declared)
    return UNKNOWN if maximum is None else Estimate(0, maximum)


_ESTIMATES = {
    Literal: _Estimator._literal,
    Name: _Estimator._name,
    Select: _Estimator._select,
    Call: _Estimator._call,
    Logic: _Estimator._logic,
    ListOf: _Estimator._list,
    MapOf: _Estimator._map,
    Loop: _Estimator._loop,
}
