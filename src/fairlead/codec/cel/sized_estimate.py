"""Estimates costs as the later releases do: with the sizes of results and of their entries.

In `estimate` only declared values have sizes. Here the result of a call, the variables of loops and
the entries of lists and maps have them too, as far as they are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.codec.cel.costs import LIST, MAP, MESSAGE
from fairlead.codec.cel.environment import Environment
from fairlead.codec.cel.ranges import (
    MAX_COST,
    NOTHING,
    UNKNOWN,
    Estimate,
    call_cost,
    fixed,
    result_size,
    sum_of,
)
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
from fairlead.codec.cel.types import (
    CIDR,
    IP,
    NAMED_FORMAT,
    QUANTITY,
    SCALARS,
    SEMVER,
    STRUCTS,
    URL,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
    Type,
    maximum_of,
)

_ITEMS, _KEYS, _VALUES, _INDICES = "@items", "@keys", "@values", "@indices"
_EMPTY = Estimate(MAX_COST, 0)  # the union of no sizes
_MAX_FORMAT = 64
# The cost of one iteration of each macro besides its condition and its transformation, and that of
# its initial value and its result.
_ROUNDS = {"all": 3, "exists": 4, "map": 12, "filter": 13}
_ROUNDS |= {"transformList": 12, "transformMap": 3, "transformMapEntry": 2}
_RESULTS = {"all": 1, "exists": 1, "exists_one": 2, "filter": LIST + 1, "map": LIST + 1}
_RESULTS |= {"transformList": LIST + 1, "transformMap": MAP + 1, "transformMapEntry": MAP + 1}
_COLLECTED = ("filter", "map", "transformList")


class _Entry(NamedTuple):
    """The sizes of the keys or indexes, and of the values or items."""

    is_list: bool
    key: Estimate
    value: Estimate

    def union(self, other: _Entry | None) -> _Entry | None:
        if other is None:
            return None
        return _Entry(self.is_list, self.key.union(other.key), self.value.union(other.value))


class _Place(NamedTuple):
    """A path from the root into its declared type; the type is None if there is none."""

    type: Type | None


class _Part(NamedTuple):
    """The estimate of one node: `size` is None if it is not known."""

    cost: Estimate
    type: Type
    place: _Place | None = None
    size: Estimate | None = None
    entry: _Entry | None = None

    @property
    def bounds(self) -> Estimate:
        return UNKNOWN if self.size is None else self.size


class _Variable(NamedTuple):
    place: _Place | None
    size: Estimate | None
    entry: _Entry | None = None


def estimate_sized(root: Node, variables: Mapping[str, Type], environment: Environment) -> Estimate:
    return _Estimator(variables, environment).part(root).cost


class _Estimator:
    def __init__(self, variables: Mapping[str, Type], environment: Environment) -> None:
        self._rules = environment.estimates
        self._root = next(iter(variables.values()), None)
        self._declared = variables
        self._variables: list[tuple[str, _Variable]] = []

    def part(self, node: Node) -> _Part:
        estimate: Any = _ESTIMATES[type(node)]
        result: _Part = estimate(self, node)
        return result

    def _sized(
        self,
        cost: Estimate,
        node: Node,
        place: _Place | None = None,
        variable: _Variable | None = None,
    ) -> _Part:
        """A part whose size follows from its declared type, or from the type of the node."""
        size = _declared_size(place)
        if size is None and _is_scalar(node.type):
            size = fixed(1)
        if size is None and variable is not None:
            size = variable.size
        entry = variable.entry if variable is not None else None
        return _Part(cost, node.type, place, size, entry)

    def _extended(self, place: _Place | None, step: str) -> _Place:
        """A path of one step starts at the root, whatever its name is."""
        return _Place(_inside(place.type, step) if place is not None else self._root)

    def _literal(self, node: Literal) -> _Part:
        value = node.value
        size = fixed(len(value) if isinstance(value, str | bytes) else 1)
        return _Part(NOTHING, node.type, None, size)

    def _name(self, node: Name) -> _Part:
        return self._variable(node, node.name.removeprefix("."))

    def _variable(self, node: Node, name: str) -> _Part:
        for variable_name, variable in reversed(self._variables):
            if variable_name == name:
                return self._sized(fixed(1), node, variable.place, variable)
        return self._sized(fixed(1), node, _Place(self._declared.get(name, self._root)))

    def _select(self, node: Select) -> _Part:
        if node.name:
            return self._variable(node, node.name.removeprefix("."))
        operand = self.part(node.operand)
        if node.test:
            return self._sized(operand.cost, node)
        cost = operand.cost
        if isinstance(operand.type, ObjectType | MapType) or operand.type in STRUCTS:
            cost = cost.plus(fixed(1))
        return self._sized(cost, node, self._extended(operand.place, node.field))

    def _call(self, node: Call) -> _Part:
        parts = list(map(self.part, node.arguments))
        function = node.function.removeprefix(".")
        if function == "_?_:_":
            return self._choice(node, parts)
        costs = [part.cost for part in parts]
        if function == "dyn":
            (part,) = parts
            return part._replace(cost=sum_of([fixed(1), *costs]), type=node.type, place=None)
        cost, size = self._call_cost(function, node, parts)
        cost = sum_of([cost, *costs])
        if function == "_[_]" and not isinstance(parts[0].type, OptionalType):
            return self._item(node, parts[0], cost)
        entry = None
        if function == "_+_" and parts[0].entry is not None:
            entry = parts[0].entry.union(parts[1].entry)
        part = self._sized(cost, node)
        return part if size is None else part._replace(size=size, entry=entry)

    def _call_cost(
        self, function: str, node: Call, parts: list[_Part]
    ) -> tuple[Estimate, Estimate | None]:
        sizes = [part.bounds for part in parts]
        if function == "_?._":
            return fixed(1), None
        rule = self._rules.get(function)
        if rule is not None:
            return rule(node, sizes)
        if function == "_==_" and parts[0].type == parts[1].type:
            cost = _equality_cost(parts)
            if cost is not None:
                return cost, None
        elements = self._element_size(parts[0]) if parts else None
        cost, size = call_cost(node, sizes, elements)
        return cost, result_size(function, node, sizes, elements) if size is None else size

    def _element_size(self, part: _Part) -> Estimate | None:
        """The size of the elements of a list; None if the part is not a list."""
        if not isinstance(part.type, ListType):
            return None
        if part.place is None:
            return UNKNOWN
        size = _declared_size(self._extended(part.place, _ITEMS))
        return UNKNOWN if size is None else size

    def _item(self, node: Call, holder: _Part, cost: Estimate) -> _Part:
        step = _VALUES if isinstance(holder.type, MapType) else _ITEMS
        part = self._sized(cost, node, self._extended(holder.place, step))
        if holder.entry is not None:
            return part._replace(size=holder.entry.value)
        return part

    def _choice(self, node: Call, parts: list[_Part]) -> _Part:
        condition, chosen, other = parts
        entry = chosen.entry.union(other.entry) if chosen.entry is not None else None
        cost = condition.cost.plus(chosen.cost.union(other.cost))
        return _Part(cost, node.type, None, chosen.bounds.union(other.bounds), entry)

    def _logic(self, node: Logic) -> _Part:
        costs = [self.part(argument).cost for argument in node.arguments]
        return _Part(Estimate(costs[0].minimum, sum_of(costs).maximum), node.type, None, fixed(1))

    def _list(self, node: ListOf) -> _Part:
        items = list(map(self.part, node.items))
        cost = sum_of([fixed(LIST), *(item.cost for item in items)])
        entry = _Entry(True, fixed(1), _union([item.bounds for item in items]))
        return _Part(cost, node.type, None, fixed(len(items)), entry)

    def _map(self, node: MapOf) -> _Part:
        pairs = [(self.part(key), self.part(value)) for key, value in node.entries]
        cost = sum_of([fixed(MAP), *(part.cost for pair in pairs for part in pair)])
        keys = _union([key.bounds for key, _ in pairs])
        entry = _Entry(False, keys, _union([value.bounds for _, value in pairs]))
        return _Part(cost, node.type, None, fixed(len(pairs)), entry)

    def _message(self, node: Message) -> _Part:
        costs = [self.part(field.value).cost for field in node.fields]
        return _Part(sum_of([fixed(MESSAGE), *costs]), node.type, None, fixed(1))

    def _loop(self, node: Loop) -> _Part:
        return self._loop_over(node, self.part(node.range))

    def _loop_over(self, node: Loop, over: _Part) -> _Part:
        names = self._loop_variables(node, over)
        self._variables += names
        condition = self.part(node.condition).cost if node.condition else NOTHING
        element = self.part(node.transform) if node.transform else None
        if node.macro == "filter":
            element = self._variable(node, node.variable)
        round_cost = _round(node, condition, element)
        del self._variables[-len(names) :]
        rounds = over.bounds.times(round_cost)
        cost = sum_of([over.cost, fixed(_RESULTS[node.macro]), rounds])
        if node.macro not in _COLLECTED:
            is_map = node.macro.startswith("transform")
            return _Part(cost, node.type, None, over.bounds if is_map else fixed(1))
        empty = _Entry(True, fixed(1), NOTHING)
        entry = empty.union(_Entry(True, fixed(1), element.bounds)) if element else None
        return _Part(cost, node.type, None, over.bounds, entry)

    def _loop_variables(self, node: Loop, over: _Part) -> list[tuple[str, _Variable]]:
        entry = over.entry
        is_list = entry.is_list if entry is not None else isinstance(over.type, ListType)
        value = _Variable(
            self._extended(over.place, _ITEMS if is_list else _VALUES),
            entry.value if entry is not None else None,
        )
        if is_list and not node.second:
            return [(node.variable, value)]
        step = _INDICES if is_list else _KEYS
        key = _Variable(self._extended(over.place, step), entry.key if entry is not None else None)
        pair = [(node.variable, key), (node.second, value)]
        return pair if node.second else pair[:1]

    def _optional_map(self, node: OptionalMap) -> _Part:
        """The choice between `optional.of(body)` and `optional.none()`, with the target evaluated
        for `hasValue` and for `value`."""
        target = self.part(node.target)
        bound = _Variable(None, None)
        self._variables.append((node.variable, bound))
        body = self.part(node.body)
        self._variables.pop()
        value = target.cost.plus(fixed(1))
        made = sum_of([fixed(LIST), value, body.cost, fixed(0 if node.is_flat else 1)])
        cost = value.plus(made.union(fixed(1)))
        return _Part(cost, node.type, None, UNKNOWN)

    def _sort_by(self, node: SortBy) -> _Part:
        target = self.part(node.target)
        name = f"@sorted{len(self._variables)}"
        self._variables.append((name, _Variable(target.place, target.size, target.entry)))
        over = self._variable(node.target, name)
        keys = self._loop_over(node.keys, over)
        self._variables.pop()
        call = Call(node.place, "@sortByAssociatedKeys", [node.target, node.keys], method=True)
        cost, size = self._rules[call.function](call, [over.bounds, keys.bounds])
        total = sum_of([fixed(LIST), target.cost, fixed(1), keys.cost, cost])
        return _Part(total, node.type, None, size)


def _round(node: Loop, condition: Estimate, element: _Part | None) -> Estimate:
    """The cost of one iteration."""
    if element is None:
        most = condition.plus(fixed(_ROUNDS.get(node.macro, 0)))
        if node.macro == "exists_one":
            return condition.plus(Estimate(1, 2))
        return most
    if node.macro == "filter":
        return condition.plus(fixed(13).union(fixed(1)))
    added = element.cost.plus(fixed(_ROUNDS[node.macro]))
    return condition.plus(added.union(fixed(1)) if node.condition is not None else added)


def _equality_cost(parts: list[_Part]) -> Estimate | None:
    """The cost of `==` for types with a cost of their own."""
    type_ = parts[0].type
    if type_ in (IP, CIDR, QUANTITY, SEMVER):
        return fixed(1)
    if type_ == NAMED_FORMAT:
        return Estimate(1, _MAX_FORMAT).scaled(0.1)
    if type_ == URL:
        size = parts[1].size
        return Estimate(1, size.maximum if size is not None else 1).scaled(0.1)
    return None


def _declared_size(place: _Place | None) -> Estimate | None:
    if place is None or place.type is None:
        return None
    most = maximum_of(place.type)
    return UNKNOWN if most is None else Estimate(0, most)


def _is_scalar(type_: Type) -> bool:
    return type_ in SCALARS or (isinstance(type_, OptionalType) and _is_scalar(type_.of))


def _inside(declared: Type | None, step: str) -> Type | None:
    """The type one step into a declared type; None if there is none."""
    if isinstance(declared, OptionalType):
        declared = declared.of
    if isinstance(declared, ObjectType):
        return declared.fields.get(step)
    if isinstance(declared, MapType):
        if step == _KEYS:
            return declared.key
        return declared.value if step in (_ITEMS, _VALUES) else None
    is_item = isinstance(declared, ListType) and step in (_ITEMS, _VALUES)
    return declared.element if is_item and isinstance(declared, ListType) else None


def _union(sizes: Sequence[Estimate]) -> Estimate:
    if not sizes:
        return NOTHING
    total = _EMPTY
    for size in sizes:
        total = total.union(size)
    return total


_ESTIMATES = {
    Literal: _Estimator._literal,
    Name: _Estimator._name,
    Select: _Estimator._select,
    Call: _Estimator._call,
    Logic: _Estimator._logic,
    ListOf: _Estimator._list,
    MapOf: _Estimator._map,
    Message: _Estimator._message,
    Loop: _Estimator._loop,
    OptionalMap: _Estimator._optional_map,
    SortBy: _Estimator._sort_by,
}
