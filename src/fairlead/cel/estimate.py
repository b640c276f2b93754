"""The least and the most that evaluating an expression can cost, from the sizes of its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.cel.costs import LIST, MAP
from fairlead.cel.ranges import NOTHING, UNKNOWN, Estimate, call_cost, fixed
from fairlead.cel.syntax import (
    Call,
    ListOf,
    Literal,
    Logic,
    Loop,
    MapOf,
    Name,
    Node,
    Select,
)
from fairlead.cel.types import (
    BOOL,
    DOUBLE,
    DURATION,
    INT,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    ObjectType,
    Type,
    TypeOf,
    most_of,
)

__all__ = ["Estimate", "estimate"]
_SCALARS = (BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION)
# A round of each macro: what it costs beside its condition and transformation, at least and most.
_ROUNDS = {
    "all": Estimate(3, 3),
    "exists": Estimate(4, 4),
    "exists_one": Estimate(1, 2),
    "filter": Estimate(1, 13),
    "map": Estimate(12, 12),
}
_RESULTS = {"all": 1, "exists": 1, "exists_one": 2, "filter": 11, "map": 11}


def estimate(root: Node, variables: Mapping[str, Type]) -> Estimate:
    return _Estimator(variables).cost(root)


class _Estimator:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._scopes: list[tuple[str, Type | None]] = list(variables.items())
        # The reference takes what a computed list holds to be as large as the first variable.
        self._first = next(iter(variables.values()), None)
        self._sizes: dict[int, Estimate] = {}
        self._declared: dict[int, Type | None] = {}

    def cost(self, node: Node) -> Estimate:
        cost: Any = _COSTS[type(node)]
        found: Estimate = cost(self, node)
        return found

    def size(self, node: Node) -> Estimate:
        """How large the value of a part is, once its cost is known."""
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        declared = self._declared.get(id(node))
        if declared is not None:
            most = most_of(declared)
            return UNKNOWN if most is None else Estimate(0, most)
        scalar = node.type in _SCALARS or isinstance(node.type, TypeOf)
        return fixed(1) if scalar else UNKNOWN

    def element_size(self, node: Node) -> Estimate | None:
        """How large the elements of a list are; None of what is no list."""
        if not isinstance(node.type, ListType):
            return None
        declared = self._declared.get(id(node))
        if isinstance(declared, ListType):
            most = most_of(declared.element)
            return UNKNOWN if most is None else Estimate(0, most)
        return UNKNOWN

    def _literal(self, node: Literal) -> Estimate:
        sized = isinstance(node.value, str | bytes)
        self._sizes[id(node)] = fixed(len(node.value) if sized else 1)
        return NOTHING

    def _name(self, node: Name) -> Estimate:
        plain = node.name.removeprefix(".")
        for name, declared in reversed(self._scopes):
            if name == plain:
                self._declared[id(node)] = declared
                return fixed(1)
        return fixed(1)

    def _select(self, node: Select) -> Estimate:
        if node.name:
            return fixed(1)
        cost = self.cost(node.operand)
        if node.test:
            return cost
        declared = self._declared.get(id(node.operand))
        if isinstance(declared, ObjectType):
            self._declared[id(node)] = declared.fields.get(node.field)
        if isinstance(node.operand.type, ObjectType | MapType):
            cost = cost.plus(fixed(1))
        return cost

    def _call(self, node: Call) -> Estimate:
        costs = list(map(self.cost, node.arguments))
        if node.function == "_?_:_":
            return self._choice(node, costs)
        sizes = [self.size(argument) for argument in node.arguments]
        first = node.arguments[0]
        found, size = call_cost(
            node.function, [argument.type for argument in node.arguments], sizes,
            self.element_size(first),
        )  # fmt: skip
        if size is not None:
            self._sizes[id(node)] = size
        if node.function == "_[_]":
            declared = self._declared.get(id(first))
            if isinstance(declared, ListType):
                self._declared[id(node)] = declared.element
            elif isinstance(declared, MapType):
                self._declared[id(node)] = declared.value
        return _sum([found, *costs])

    def _choice(self, node: Call, costs: list[Estimate]) -> Estimate:
        condition, chosen, other = costs
        _, left, right = node.arguments
        self._sizes[id(node)] = self.size(left).union(self.size(right))
        return condition.plus(chosen.union(other))

    def _logic(self, node: Logic) -> Estimate:
        costs = list(map(self.cost, node.arguments))
        return Estimate(costs[0].least, _sum(costs).most)

    def _list(self, node: ListOf) -> Estimate:
        costs = list(map(self.cost, node.items))
        self._sizes[id(node)] = fixed(len(node.items))
        return _sum([fixed(LIST), *costs])

    def _map(self, node: MapOf) -> Estimate:
        costs = [self.cost(part) for entry in node.entries for part in entry]
        self._sizes[id(node)] = fixed(len(node.entries))
        return _sum([fixed(MAP), *costs])

    def _loop(self, node: Loop) -> Estimate:
        over = self.cost(node.range)
        rounds = self.size(node.range)
        declared = self._declared.get(id(node.range))
        variable = self._first
        if isinstance(declared, ListType):
            variable = declared.element
        elif isinstance(declared, MapType):
            variable = declared.key
        self._scopes.append((node.variable, variable))
        each = self._round(node)
        self._scopes.pop()
        self._sizes[id(node)] = rounds
        return _sum([over, fixed(_RESULTS[node.macro]), rounds.times(each)])

    def _round(self, node: Loop) -> Estimate:
        condition = self.cost(node.condition) if node.condition else NOTHING
        if node.transform is None:
            return condition.plus(_ROUNDS[node.macro])
        added = self.cost(node.transform).plus(fixed(12))
        if node.condition is not None:
            added = added.union(fixed(1))
        return condition.plus(added)


def _sum(parts: Sequence[Estimate]) -> Estimate:
    found = NOTHING
    for part in parts:
        found = found.plus(part)
    return found


_COSTS = {
    Literal: _Estimator._literal,
    Name: _Estimator._name,
    Select: _Estimator._select,
    Call: _Estimator._call,
    Logic: _Estimator._logic,
    ListOf: _Estimator._list,
    MapOf: _Estimator._map,
    Loop: _Estimator._loop,
}
